"""The module that adds sines and cosines to a sequence of vectors."""

import torch  # noqa: F401 (a mistake concatenates with it)
from torch import Tensor, nn

from transformer_course import model
from transformer_course.checker.cases import Case, vectors
from transformer_course.checker.exercise import exercise
from transformer_course.exercises import own
from transformer_course.exercises.positional_encoding.inputs import (
    CASES,
    GRADIENT,
    PROPERTIES,
    TRAINING,
)


def _buffer(module: nn.Module, x: Tensor) -> str:
    module(x)  # one that stops is not judged by its buffers
    names = dict(module.named_buffers())
    return "encoding" if "encoding" in names else f"{len(names)} others"


@exercise(
    reference=model.SinusoidalPositionalEncoding,
    cases=[
        *CASES,
        Case(
            (vectors(2, 3, 4),),
            construct=(4, 6, 0.1),
            observe=_buffer,
            looks_at="whether the module has a buffer named `encoding`",
        ),
        GRADIENT,
        TRAINING,
    ],
    properties=PROPERTIES,
    hints=[
        "The table does not depend on the input: compute it once in `__init__`, for `max_len` "
        "positions. Which rows does a sequence of `x.shape[1]` positions need?",
        'Keep the table with `self.register_buffer("encoding", ...)`: it then moves with the '
        "module, but is not trained.",
        "The output is `self.dropout(x + self.encoding[: x.shape[1]])`; broadcasting adds the "
        "same rows to each sentence.",
    ],
)
class SinusoidalPositionalEncoding(nn.Module):
    """Add the sinusoidal encoding to x of shape (batch, length, d_model), then apply dropout."""

    def __init__(self, d_model: int, max_len: int, dropout: float) -> None:
        super().__init__()
        encoding = own.sinusoidal_encoding(max_len, d_model)
        self.register_buffer("encoding", encoding)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor) -> Tensor:
        """Return a tensor of the shape of x."""
        rows = self.encoding[: x.shape[1]]
        return self.dropout(x + rows)


SinusoidalPositionalEncoding.mistake(
    "the table is a parameter",
    edits=[
        ('self.register_buffer("encoding", encoding)', "self.encoding = nn.Parameter(encoding)")
    ],
    observed="`encoding` is among your module's parameters, which training changes unless they are "
    "frozen.",
    change='Keep it as a buffer: `self.register_buffer("encoding", ...)`.',
)
SinusoidalPositionalEncoding.mistake(
    "the table is not a buffer",
    edits=[('self.register_buffer("encoding", encoding)', "self.encoding = encoding")],
    observed="Your module has no buffer named `encoding`, so `.to(device)` would leave the table "
    "behind.",
    change='Keep it in `__init__`: `self.register_buffer("encoding", ...)`.',
)
SinusoidalPositionalEncoding.mistake(
    "the buffer has another name",
    edits=[('"encoding", encoding', '"pe", encoding'), ("self.encoding[", "self.pe[")],
    observed="Your module has a buffer, but none named `encoding`.",
    change='Call it `encoding`: `self.register_buffer("encoding", ...)`.',
)
SinusoidalPositionalEncoding.mistake(
    "there is no dropout",
    edits=[("return self.dropout(x", "return (x")],
    observed="In training mode nothing is ever dropped.",
    change="Return `self.dropout(x + ...)`.",
)
SinusoidalPositionalEncoding.mistake(
    "dropout stays on in eval mode",
    edits=[("return self.dropout(x", "return nn.Dropout(self.dropout.p)(x")],
    observed="After `.eval()` two calls with the same x differ.",
    change="Use `nn.Dropout`, or `F.dropout(..., training=self.training)`.",
)
SinusoidalPositionalEncoding.mistake(
    "the probability of dropout is not used",
    edits=[("nn.Dropout(dropout)", "nn.Dropout()")],
    observed="In training mode what is kept is multiplied by 2: `nn.Dropout()` drops one half.",
    change="Pass the argument on: `nn.Dropout(dropout)`.",
)
SinusoidalPositionalEncoding.mistake(
    "positions run along the batch axis",
    edits=[("[: x.shape[1]]", "[: x.shape[0], None]")],
    observed="All words of a sentence get the same vector; the sentences get different ones.",
    change="The batch comes first here: the length is `x.shape[1]`, and rows add to the last two "
    "axes without `unsqueeze(1)`.",
)
SinusoidalPositionalEncoding.mistake(
    "the number of rows is the width",
    edits=[("x.shape[1]", "x.shape[-1]")],
    observed="The shapes fit only when d_model is the length or max_len.",
    change="Take `x.shape[1]` rows, the length; the last axis is d_model.",
)
SinusoidalPositionalEncoding.mistake(
    "the first row is skipped",
    edits=[("[: x.shape[1]]", "[1 : x.shape[1] + 1]")],
    observed="The first word gets the vector of position 1.",
    change="Begin with row 0.",
)
SinusoidalPositionalEncoding.mistake(
    "x itself is missing",
    edits=[("x + rows", "rows.expand_as(x)")],
    observed="The output does not depend on the words.",
    change="Return the sum `x + ...`, not the rows alone.",
)
SinusoidalPositionalEncoding.mistake(
    "the rows of the table are returned, without x",
    edits=[("x + rows", "rows")],
    observed="Your output has shape (length, d_model), without the batch.",
    change="Return the sum `x + ...`, not the rows alone.",
)
SinusoidalPositionalEncoding.mistake(
    "x is changed in place",
    edits=[("x + rows", "x.add_(rows)")],
    observed="Whoever calls your module finds the positions added to the `x` that they passed.",
    change="Make a new tensor, `x = x + ...`, instead of `x += ...` or `x.add_(...)`.",
)
SinusoidalPositionalEncoding.mistake(
    "no gradient passes",
    edits=[("x + rows", "(x + rows).detach()")],
    observed="The numbers are right, but no gradient flows back to x: the embeddings would never "
    "learn.",
    change="Leave out `torch.no_grad()`, `.detach()` and `.data`; a buffer needs none of them.",
)
SinusoidalPositionalEncoding.mistake(
    "x is multiplied by sqrt(d_model)",
    edits=[("x + rows", "x * x.shape[-1] ** 0.5 + rows")],
    observed="Your output is sqrt(d_model) * x plus the encoding.",
    change="Leave the factor out: it belongs to the embeddings, and must act once.",
)
SinusoidalPositionalEncoding.mistake(
    "dropout acts on x only",
    edits=[("return self.dropout(x", "x = self.dropout(x)\n        return (x")],
    observed="In training mode the encoding always stays; only the words are dropped.",
    change="Apply it to the sum: `self.dropout(x + ...)`.",
)
SinusoidalPositionalEncoding.mistake(
    "dropout acts on the encoding only",
    edits=[("return self.dropout(x", "rows = self.dropout(rows.expand_as(x))\n        return (x")],
    observed="In training mode the words always stay; only the encoding is dropped.",
    change="Apply it to the sum: `self.dropout(x + ...)`.",
)
SinusoidalPositionalEncoding.mistake(
    "dropout acts on both before they are added",
    edits=[
        (
            "return self.dropout(x",
            "x, rows = self.dropout(x), self.dropout(rows.expand_as(x))\n        return (x",
        )
    ],
    observed="In training mode an element can lose its word and keep its position.",
    change="Apply it once, to the sum: `self.dropout(x + ...)`.",
)
SinusoidalPositionalEncoding.mistake(
    "dropout acts twice, on the encoding and on the sum",
    edits=[("= self.encoding", "= self.dropout(self.encoding"), ("1]]", "1]])")],
    observed="In training mode an element can lose its position and keep its word.",
    change="Apply it once, to the sum: `self.dropout(x + ...)`.",
)
SinusoidalPositionalEncoding.mistake(
    "the encoding is appended instead of added",
    edits=[("x + rows", "torch.cat([x, rows.expand_as(x)], dim=-1)")],
    observed="The last axis of your output is 2 * d_model wide.",
    change="Add the rows to x; that keeps the width.",
)
SinusoidalPositionalEncoding.mistake(
    "the encoding is multiplied instead of added",
    edits=[("x + rows", "x * rows")],
    observed="An x of zeros stays zero at every position.",
    change="Add the rows to x.",
)
SinusoidalPositionalEncoding.mistake(
    "the probability of keeping is used as that of dropping",
    edits=[("nn.Dropout(dropout)", "nn.Dropout(1 - dropout)")],
    observed="With dropout 0.25, three quarters of the numbers are dropped in training mode.",
    change="Pass the argument on as it is: `nn.Dropout(dropout)`.",
)
SinusoidalPositionalEncoding.mistake(
    "dropout acts twice, on x and on the sum",
    edits=[("(x + rows", "(self.dropout(x) + rows")],
    observed="In training mode an element can lose its word and keep its position.",
    change="Apply it once, to the sum: `self.dropout(x + ...)`.",
)

# Other rows and factors

SinusoidalPositionalEncoding.mistake(
    "the probability of dropout is always 0.1",
    edits=[("nn.Dropout(dropout)", "nn.Dropout(0.1)")],
    observed="With dropout 0.25, what is kept in training mode is multiplied by 1.111 and not by "
    "1.333: a tenth is dropped.",
    change="Pass the argument on: `nn.Dropout(dropout)`.",
)
SinusoidalPositionalEncoding.mistake(
    "every position gets the row of position 0",
    edits=[("[: x.shape[1]]", "[0]")],
    observed="The same vector is added everywhere, so the order still does not matter.",
    change="Take a row for each position: `self.encoding[: x.shape[1]]`.",
)
SinusoidalPositionalEncoding.mistake(
    "every position gets the row of the last one",
    edits=[("[: x.shape[1]]", "[x.shape[1] - 1]")],
    observed="The same vector is added everywhere, so the order still does not matter.",
    change="Take the rows of all positions, 0 up to x.shape[1] - 1.",
)
SinusoidalPositionalEncoding.mistake(
    "the last rows of the table are taken instead of the first",
    edits=[("[: x.shape[1]]", "[-x.shape[1] :]")],
    observed="Only a sequence of `max_len` positions is right. With 3 of 6, position 0 gets the "
    "row of position 3.",
    change="Begin with row 0: `self.encoding[: x.shape[1]]`.",
)
SinusoidalPositionalEncoding.mistake(
    "the rows are in reverse order",
    edits=[("x.shape[1]]", "x.shape[1]].flip(0)")],
    observed="The first word gets the vector of the last position.",
    change="Add row 0 to position 0: leave out `flip`.",
)
SinusoidalPositionalEncoding.mistake(
    "the rows are multiplied by sqrt(d_model)",
    edits=[("x + rows", "x + rows * x.shape[-1] ** 0.5")],
    observed="What you add is sqrt(d_model) times what the table holds.",
    change="Leave the factor out: it belongs to the embeddings of the words.",
)
SinusoidalPositionalEncoding.mistake(
    "the sum is multiplied by sqrt(d_model)",
    edits=[("x + rows", "(x + rows) * x.shape[-1] ** 0.5")],
    observed="Your output is sqrt(d_model) times too large.",
    change="Leave the factor out: it belongs to the embeddings, and must act once.",
)

# What mostly stops with an exception

SinusoidalPositionalEncoding.mistake(
    "the arguments `max_len` and `dropout` are swapped",
    edits=[
        ("max_len: int, dropout: float", "dropout: float, max_len: int"),
        ("super().__init__()", "super().__init__()\n        nn.Dropout(dropout)"),
    ],
    observed="`max_len` arrives as the probability of dropout. Your module stops there, before "
    "anything else can be checked.",
    change="Keep the order of the exercise: `def __init__(self, d_model, max_len, dropout)`.",
)
SinusoidalPositionalEncoding.mistake(
    "`max_len` and `d_model` are swapped where the table is made",
    edits=[("(max_len, d_model)", "(d_model, max_len)")],
    observed="You ask for d_model positions of width max_len.",
    change="The number of positions comes first: `own.sinusoidal_encoding(max_len, d_model)`.",
)
SinusoidalPositionalEncoding.mistake(
    "the number of rows is the batch size",
    edits=[("x.shape[1]", "x.shape[0]")],
    observed="The shapes fit only when there are as many sentences as positions.",
    change="Take `x.shape[1]` rows, the length; `x.shape[0]` is the batch size.",
)
SinusoidalPositionalEncoding.mistake(
    "the whole table is added",
    edits=[("self.encoding[: x.shape[1]]", "self.encoding")],
    observed="The shapes fit only for a sequence of exactly `max_len` positions.",
    change="Take the first `x.shape[1]` rows.",
)
SinusoidalPositionalEncoding.mistake(
    "one row is picked instead of a slice",
    edits=[("[: x.shape[1]]", "[x.shape[1]]")],
    observed="The same vector is added to all positions, and a full sequence is out of range.",
    change="Mind the colon: `[: x.shape[1]]` takes the first rows, `[x.shape[1]]` a single one.",
)
SinusoidalPositionalEncoding.mistake(
    "the columns are cut instead of the rows",
    edits=[("[: x.shape[1]]", "[:, : x.shape[1]]")],
    observed="You take all `max_len` rows and the first `x.shape[1]` columns.",
    change="Rows are positions, and they come first: `[: x.shape[1]]`.",
)
SinusoidalPositionalEncoding.mistake(
    "the rows are lined up with the sentences",
    edits=[("[: x.shape[1]]", "[: x.shape[1], None]")],
    observed="What you add has shape (length, 1, d_model): its first axis meets the batch.",
    change="Leave out `unsqueeze(1)`: rows of shape (length, d_model) are added to each sentence.",
)
SinusoidalPositionalEncoding.mistake(
    "one row too few",
    edits=[("x.shape[1]]", "x.shape[1] - 1]")],
    observed="`x.shape[1]` positions need as many rows; you take one less.",
    change="Leave out the `- 1`: the end of a slice or of `arange` is not included.",
)
SinusoidalPositionalEncoding.mistake(
    "one row too many",
    edits=[("x.shape[1]]", "x.shape[1] + 1]")],
    observed="`x.shape[1]` positions need as many rows; you take one more.",
    change="Leave out the `+ 1`.",
)
SinusoidalPositionalEncoding.mistake(
    "`self.dropout` is a number and not a module",
    edits=[("nn.Dropout(dropout)", "dropout")],
    observed="Where it is called, it is still the probability.",
    change="Make the module in `__init__`: `self.dropout = nn.Dropout(dropout)`.",
)
