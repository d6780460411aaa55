"""The mask that hides the future."""

import torch
from torch import Tensor

from transformer_course import model
from transformer_course.checker.cases import Case, Property
from transformer_course.checker.exercise import exercise


@exercise(
    reference=model.causal_mask,
    cases=[Case((3,)), Case((4,)), Case((7,)), Case((70,))],
    properties=[
        Property(
            "a position may attend to itself", lambda value, case: bool(value.diagonal().all())
        ),
        Property(
            "no position may attend to a later one",
            lambda value, case: not value.bool().triu(1).any(),
        ),
        Property(
            "position i may attend to i + 1 positions",
            lambda value, case: torch.equal(
                value.bool().sum(dim=1), torch.arange(1, case.inputs[0] + 1)
            ),
        ),
    ],
    hints=[
        "Draw the square for three positions: a row for each query, a column for each key. Which "
        "places are True?",
        "Row i is True in columns 0 to i. That is a lower triangle, the diagonal included.",
        "`torch.ones(length, length, dtype=torch.bool)` is all True; `.tril()` keeps the lower "
        "triangle.",
    ],
)
def causal_mask(length: int) -> Tensor:
    """Return True where a query (row) may attend to a key (column), shape (length, length)."""
    return torch.ones(length, length, dtype=torch.bool).tril()
