"""The module that adds a trained vector for each position."""

import torch
from torch import Tensor, nn

from transformer_course import model
from transformer_course.checker.cases import Case, vectors
from transformer_course.checker.exercise import exercise
from transformer_course.exercises.positional_encoding.inputs import (
    CASES,
    GRADIENT,
    PROPERTIES,
    TRAINING,
)
from transformer_course.exercises.positional_encoding.sinusoidal_positional_encoding import (
    SinusoidalPositionalEncoding,
)


def _table_gradient(module: nn.Module, x: Tensor) -> Tensor:
    """Return the gradient of the position table for a loss that adds everything up."""
    table = dict(module.named_parameters()).get("encoding.weight")
    output = module(x)
    if table is None or not output.requires_grad:
        return torch.zeros(0)
    (gradient,) = torch.autograd.grad(output.sum(), table, allow_unused=True)
    return torch.zeros(0) if gradient is None else gradient


@exercise(
    reference=model.LearnedPositionalEncoding,
    cases=[
        *CASES,
        Case(
            (vectors(2, 3, 4),),
            construct=(4, 6, 0.1),
            observe=_table_gradient,
            looks_at="the gradient of `encoding.weight`",
        ),
        GRADIENT,
        TRAINING,
    ],
    properties=PROPERTIES,
    hints=[
        "A learned encoding is a table like that of the words: `nn.Embedding`. How many rows does "
        "it have, and how long is each?",
        "`nn.Embedding(max_len, d_model)` looks up ids. Which ids do the positions of a sequence "
        "have?",
        "`self.encoding(torch.arange(x.shape[1]))` gives one row for each position; add it to "
        "`x`, then apply the dropout.",
    ],
)
class LearnedPositionalEncoding(nn.Module):
    """Add a trained vector for each position to x, then apply dropout."""

    def __init__(self, d_model: int, max_len: int, dropout: float) -> None:
        super().__init__()
        self.encoding = nn.Embedding(max_len, d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor) -> Tensor:
        """Return a tensor of the shape of x."""
        position = torch.arange(x.shape[1], device=x.device)
        rows = self.encoding(position)
        return self.dropout(x + rows)


LearnedPositionalEncoding.mistake(
    "the table does not learn",
    edits=[("self.encoding(position)", "self.encoding(position).detach()")],
    observed="No gradient reaches `encoding.weight`: its vectors would stay for ever as they are "
    "at the start.",
    change="Leave out `.data`, `.detach()`, `torch.no_grad()` and `requires_grad = False`.",
)
LearnedPositionalEncoding.mistake(
    "position 0 is treated as padding",
    edits=[("(max_len, d_model)", "(max_len, d_model, padding_idx=0)")],
    observed="The row of position 0 gets no gradient.",
    change="Leave `padding_idx` out: position 0 is the first word.",
)
LearnedPositionalEncoding.mistake(
    "the table is an `nn.Parameter` and not an `nn.Embedding`",
    edits=[
        ("nn.Embedding(max_len, d_model)", "nn.Parameter(torch.randn(max_len, d_model))"),
        ("self.encoding(position)", "self.encoding[position]"),
    ],
    observed="Your parameter is named `encoding`, that of an embedding `encoding.weight`.",
    change="Make the table with `nn.Embedding(max_len, d_model)`.",
)
LearnedPositionalEncoding.mistake(
    "a new table is made in every call",
    edits=[
        ("self.encoding = nn.Embedding(max_len, d_model)", "self.sizes = max_len, d_model"),
        ("self.encoding(position)", "nn.Embedding(*self.sizes)(position)"),
    ],
    observed="A new module has no parameter: what a call makes is random, and never trained.",
    change="Make the table once, in `__init__`.",
)
LearnedPositionalEncoding.mistake(
    "every position gets the row of position 0",
    edits=[("torch.arange(", "torch.zeros("), ("x.shape[1],", "x.shape[1], dtype=torch.long,")],
    observed="The same vector is added everywhere, so the order still does not matter.",
    change="Look up 0, 1, 2, ...: `torch.arange(x.shape[1])`.",
)
LearnedPositionalEncoding.shares(
    SinusoidalPositionalEncoding,
    "positions run along the batch axis",
    edits=[("x.shape[1]", "x.shape[0]"), ("device=x.device)", "device=x.device)[:, None]")],
)
LearnedPositionalEncoding.shares(
    SinusoidalPositionalEncoding,
    "the first row is skipped",
    edits=[("torch.arange(", "1 + torch.arange(")],
)
LearnedPositionalEncoding.shares(
    SinusoidalPositionalEncoding,
    "there is no dropout",
    "dropout acts on the encoding only",
    "dropout acts on x only",
    "dropout acts on both before they are added",
    "x itself is missing",
    "the rows of the table are returned, without x",
    "x is multiplied by sqrt(d_model)",
    "x is changed in place",
    "dropout stays on in eval mode",
    "the probability of dropout is not used",
    "the encoding is appended instead of added",
    "the encoding is multiplied instead of added",
    "no gradient passes",
    "dropout acts twice, on x and on the sum",
    "the probability of keeping is used as that of dropping",
    "the number of rows is the width",
)
LearnedPositionalEncoding.shares(
    SinusoidalPositionalEncoding,
    "dropout acts twice, on the encoding and on the sum",
    edits=[("self.encoding(position)", "self.dropout(self.encoding(position))")],
)

LearnedPositionalEncoding.mistake(
    "the rows are multiplied by sqrt(d_model)",
    edits=[("self.encoding(position)", "self.encoding(position) * x.shape[-1] ** 0.5")],
    observed="What you add is sqrt(d_model) times what the table holds.",
    change="Leave the factor out: it belongs to the embeddings of the words.",
)

# What mostly stops with an exception

LearnedPositionalEncoding.mistake(
    "the sizes of the table are swapped",
    edits=[("nn.Embedding(max_len, d_model", "nn.Embedding(d_model, max_len")],
    observed="`encoding.weight` has shape (d_model, max_len).",
    change="Rows are positions: `nn.Embedding(max_len, d_model)`.",
)
LearnedPositionalEncoding.mistake(
    "x is looked up instead of the positions",
    edits=[("self.encoding(position)", "self.encoding(x)")],
    observed="`nn.Embedding` wants whole numbers, and x holds vectors.",
    change="Look up positions: `self.encoding(torch.arange(x.shape[1]))`.",
)
LearnedPositionalEncoding.shares(
    SinusoidalPositionalEncoding,
    "the number of rows is the batch size",
    "the arguments `max_len` and `dropout` are swapped",
    "`self.dropout` is a number and not a module",
)
LearnedPositionalEncoding.shares(
    SinusoidalPositionalEncoding,
    "the whole table is added",
    edits=[("self.encoding(position)", "self.encoding.weight")],
)
LearnedPositionalEncoding.shares(
    SinusoidalPositionalEncoding,
    "one row is picked instead of a slice",
    edits=[("torch.arange(", "torch.tensor(")],
)
LearnedPositionalEncoding.shares(
    SinusoidalPositionalEncoding,
    "one row too few",
    edits=[("x.shape[1],", "x.shape[1] - 1,")],
)
LearnedPositionalEncoding.shares(
    SinusoidalPositionalEncoding,
    "one row too many",
    edits=[("x.shape[1],", "x.shape[1] + 1,")],
)
LearnedPositionalEncoding.shares(
    SinusoidalPositionalEncoding,
    "the rows are lined up with the sentences",
    edits=[("device=x.device)", "device=x.device)[:, None]")],
)
LearnedPositionalEncoding.mistake(
    "the positions are counted from 1, and the table has a row more",
    edits=[
        ("nn.Embedding(max_len,", "nn.Embedding(max_len + 1,"),
        ("torch.arange(x.shape[1],", "torch.arange(1, x.shape[1] + 1,"),
    ],
    observed="`encoding.weight` has `max_len + 1` rows, of which the first is never used.",
    change="Count from 0: `nn.Embedding(max_len, d_model)` and `torch.arange(x.shape[1])`.",
)
LearnedPositionalEncoding.shares(
    SinusoidalPositionalEncoding,
    "every position gets the row of the last one",
    edits=[("torch.arange(x.shape[1],", "torch.full((x.shape[1],), x.shape[1] - 1,")],
)
LearnedPositionalEncoding.shares(
    SinusoidalPositionalEncoding,
    "the last rows of the table are taken instead of the first",
    edits=[("torch.arange(", "self.encoding.num_embeddings - x.shape[1] + torch.arange(")],
)
LearnedPositionalEncoding.shares(
    SinusoidalPositionalEncoding,
    "the rows are in reverse order",
    edits=[("device=x.device)", "device=x.device).flip(0)")],
)
LearnedPositionalEncoding.mistake(
    "the positions are counted from 2, and the table has two rows more",
    edits=[
        ("nn.Embedding(max_len,", "nn.Embedding(max_len + 2,"),
        ("torch.arange(x.shape[1],", "torch.arange(2, x.shape[1] + 2,"),
    ],
    observed="`encoding.weight` has `max_len + 2` rows, of which the first two are never used.",
    change="Count from 0: `nn.Embedding(max_len, d_model)` and `torch.arange(x.shape[1])`.",
)
LearnedPositionalEncoding.mistake(
    "the table has a row too many",
    edits=[("nn.Embedding(max_len,", "nn.Embedding(max_len + 1,")],
    observed="`encoding.weight` has `max_len + 1` rows; the last one is never used.",
    change="`max_len` positions, 0 to max_len - 1, have `max_len` rows.",
)
LearnedPositionalEncoding.shares(
    SinusoidalPositionalEncoding,
    "the probability of dropout is always 0.1",
    "the sum is multiplied by sqrt(d_model)",
)
