"""A call as it is shown to the learner."""

import pytest
import torch

from transformer_course.checker.cases import Case

IDS = torch.tensor([[1, 5, 3], [4, 1, 1]])


@pytest.mark.parametrize(
    ("case", "shown"),
    [
        (Case((1, 512)), "f(1, 512)"),
        (Case((IDS,), construct=(7, 4)), "f(7, 4)(tensor of shape [2, 3], int64)"),
        (Case((torch.nn.Linear(2, 3),), written="(a layer)"), "f(a layer)"),
    ],
)
def test_call_is_written_as_code_or_as_the_case_says(case: Case, shown: str) -> None:
    assert case.call("f") == shown
