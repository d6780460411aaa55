"""Softmax along the last axis, safe from overflow."""

from collections.abc import Callable

import torch

from transformer_course.checker.cases import Case, Property, calls, gradients, vectors
from transformer_course.checker.exercise import exercise
from transformer_course.checker.originals import original_functions


def left_to_torch(code: Callable, scores: torch.Tensor) -> bool:
    """Observe whether right shares come from torch's own softmax; wrong ones have another fault."""
    shares, from_torch = calls(("softmax", "log_softmax"), code, scores)
    if not from_torch or not isinstance(shares, torch.Tensor):
        return False
    with original_functions(), torch.device("cpu"):  # whatever the code has set or replaced
        right = scores.softmax(dim=-1)
        return shares.shape == right.shape and torch.allclose(shares, right)


@exercise(
    cases=[
        Case((torch.tensor([1.0, 3.0, 0.0]),)),
        Case((torch.tensor([[1.0, 2.0, 3.0], [0.0, -1.0, 0.0]]),)),
        Case((torch.tensor([[1.0, 2.0, 3.0], [0.0, -1.0, 0.0], [2.0, 4.0, 0.0]]),)),
        Case((torch.tensor([[0.0, 1.0, 90.0], [0.0, 1.0, 100.0], [0.0, 1.0, 200.0]]),)),
        Case((torch.tensor([1000.0, 0.0, 1001.0]),)),
        Case((torch.tensor([-1000.0, -1001.0, -999.0]),)),
        Case((torch.tensor([1000.0, -1000.0, -1000.0]),)),
        Case((torch.tensor([[1000.0, 1001.0, 999.0], [-1000.0, -1001.0, -999.0]]),)),
        Case((vectors(2, 3, 4).double(),)),
        Case((vectors(3, 2, 5, 4),)),
        Case((vectors(2, 3),), observe=gradients, looks_at="the gradient of the scores"),
        Case((vectors(2, 3),), observe=left_to_torch, looks_at="who computes the softmax"),
    ],
    properties=[
        Property(
            "every number lies between 0 and 1",
            lambda value, case: bool(((value >= 0) & (value <= 1)).all()),
        ),
        Property(
            "the numbers along the last axis sum to 1",
            lambda value, case: torch.allclose(
                value.sum(dim=-1), torch.ones((), dtype=value.dtype), atol=1e-3
            ),
        ),
        Property(
            "along the last axis the largest score gets the largest share",
            lambda value, case: torch.equal(value.argmax(dim=-1), case.inputs[0].argmax(dim=-1)),
        ),
    ],
    hints=[
        "Shares are positive and sum to 1. Which function makes every number positive, and what "
        "do you divide by afterwards?",
        "`scores.exp()`, divided by its sum along the last axis: `sum(dim=-1, keepdim=True)`. And "
        "what is `exp` of 1000?",
        "The same number subtracted from a whole row changes no share. Subtract the largest: "
        "`scores - scores.amax(dim=-1, keepdim=True)`.",
    ],
)
def softmax(scores: torch.Tensor) -> torch.Tensor:
    """Turn scores of any shape into shares that sum to 1 along the last axis."""
    largest = scores.amax(dim=-1, keepdim=True)
    growth = (scores - largest).exp()
    total = growth.sum(dim=-1, keepdim=True)
    return growth / total
