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
