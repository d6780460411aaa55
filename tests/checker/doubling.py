"""Two small exercises, to test the engine with: double a tensor, and scale it by a module."""

import torch
from torch import Tensor, nn

from transformer_course.checker.cases import Case, Property
from transformer_course.checker.exercise import Exercise, exercise
from transformer_course.checker.task import Task


def _numbers(*shape: int) -> Tensor:
    return torch.arange(1.0, 1.0 + torch.Size(shape).numel()).reshape(shape)


def without_known_mistakes(cases, reference=None):
    """Turn a decorated answer into an exercise that knows no mistake."""
    return lambda answer: Exercise(
        Task(answer, reference or answer, tuple(cases), ("mild", "stronger", "strong"), ()), {}, ()
    )


@exercise(
    reference=lambda x, times: x * 2**times,
    cases=[Case((_numbers(2, 3), 1)), Case((_numbers(5), 3)), Case((_numbers(2, 9, 12), 2))],
    properties=[
        Property("no result is smaller", lambda value, case: bool((value >= case.inputs[0]).all())),
        Property("nothing is zero", lambda value, case: bool((value != 0).all())),
    ],
    hints=["mild", "stronger", "`x * 2`"],
)
def double(x: Tensor, times: int) -> Tensor:
    """Double x so many times."""
    return x * 2**times


class _Scale(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(width))

    def forward(self, x: Tensor) -> Tensor:
        return x * self.weight


@without_known_mistakes(
    reference=_Scale,
    cases=[
        Case((_numbers(2, 3),), construct=(3,)),
        Case((_numbers(3, 2),), construct=(2,)),
        Case((_numbers(2, 3),), construct=(3,), observe=lambda m, x: m(x).sum(), looks_at="a sum"),
    ],
)
class Scale(nn.Module):
    """Multiply by a weight."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x: Tensor) -> Tensor:
        """Return x * weight."""
        return x * self.weight
