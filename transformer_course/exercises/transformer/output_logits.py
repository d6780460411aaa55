"""Scoring every token of the vocabulary."""

import torch.nn.functional as F
from torch import Tensor

from transformer_course.checker.cases import Case, gradients, vectors
from transformer_course.checker.exercise import exercise


@exercise(
    reference=F.linear,
    cases=[
        Case((vectors(1, 2, 4), vectors(3, 4, seed=1))),
        Case((vectors(2, 3, 4), vectors(4, 4, seed=1))),
        Case((vectors(2, 5, 9), vectors(7, 9, seed=1))),
        Case((vectors(3, 2, 6), vectors(5, 6, seed=1))),
        Case(
            (vectors(1, 2, 3), vectors(4, 3, seed=1)),
            observe=gradients,
            looks_at="the gradients of the vectors and of the table",
        ),
    ],
    hints=[
        "The score of a token is the dot product of the vector with the token's row. Which two "
        "axes must meet so that all dot products are taken at once?",
        "The rows of the table must become columns: `table.T` has shape (d_model, vocab).",
        "`vectors @ table.T`. Nothing else: no factor and no softmax.",
    ],
)
def output_logits(vectors: Tensor, table: Tensor) -> Tensor:
    """Score each token after each position: the dot product with the token's row."""
    return vectors @ table.T
