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
