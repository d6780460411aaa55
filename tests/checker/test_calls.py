"""A case as code that a learner can copy."""

import pytest
import torch
from torch import Tensor, nn

from transformer_course.checker.calls import as_code
from transformer_course.checker.cases import Case

from .doubling import Scale, double

SMALL = torch.tensor([[1.0, 0.25]])


def looked_at(code: nn.Module, number: int, x: Tensor) -> Tensor:
    return code(x) * number


@pytest.mark.parametrize(
    ("task", "case", "shown"),
    [
        (double, Case((SMALL, 2)), "x = torch.tensor([[1., 0.25]])\ndouble(x, times=2)"),
        (
            double,
            Case((SMALL.double(), 2)),
            "x = torch.tensor([[1., 0.25]], dtype=torch.float64)\ndouble(x, times=2)",
        ),
        (
            double,
            Case((torch.ones(2, 9), 2)),
            "# x: tensor of shape [2, 9], float32\ndouble(x, times=2)",
        ),
        (
            Scale,
            Case((SMALL,), construct=(2,)),
            "x = torch.tensor([[1., 0.25]])\nScale(width=2)(x)",
        ),
        (
            Scale,
            Case((3, SMALL), construct=(2,), observe=looked_at, looks_at="a multiple"),
            "x = torch.tensor([[1., 0.25]])\nScale(width=2)(number=3, x)  # looked at: a multiple",
        ),
        (double, Case((nn.Linear(2, 3),), written="(a layer)"), "double(a layer)"),
    ],
)
def test_call_is_written_as_code_or_as_the_case_says(task, case: Case, shown: str) -> None:
    assert as_code(task.task, case) == shown
