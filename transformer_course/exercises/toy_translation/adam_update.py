"""One update of a weight by Adam."""

from collections.abc import Callable

import torch
from torch import Tensor

from transformer_course.checker.cases import Case, Property, vectors
from transformer_course.checker.exercise import exercise

_NO_MEAN, _NO_SQUARE = (torch.zeros(2, 3, dtype=torch.float64) for _ in range(2))
_WEIGHT, _GRADIENT, _MEAN = (vectors(2, 3, seed=seed).double() for seed in range(3))
_SQUARE = vectors(2, 3, seed=3).double() ** 2
_SOME_ZERO = torch.tensor([0.0, 1e-3, -20.0], dtype=torch.float64)


def _ten_steps(code: Callable, weight: Tensor, rate: float) -> Tensor:
    """Go down into a valley, which is steeper for one weight than for another."""
    steepness = torch.arange(1, len(weight) + 1)
    mean, square = torch.zeros_like(weight), torch.zeros_like(weight)
    for step in range(1, 11):
        gradient = steepness * (weight - 1)
        weight, mean, square = code(weight, gradient, mean, square, step, rate)
    return weight


@exercise(
    cases=[
        Case((_WEIGHT, _GRADIENT, _NO_MEAN, _NO_SQUARE, 1, 0.1)),
        Case((_SOME_ZERO, _SOME_ZERO, _NO_MEAN[0], _NO_SQUARE[0], 1, 0.5)),
        Case((_WEIGHT, _GRADIENT, _MEAN, _SQUARE, 2, 0.1)),
        Case((_WEIGHT, _GRADIENT, _MEAN, _SQUARE, 7, 0.01, 0.8, 0.95, 0.1)),
        Case(
            (vectors(4).double(), 0.1),
            observe=_ten_steps,
            looks_at="the weights after ten steps, each with the means of the step before",
            written="(weight, gradient, mean, square, step, rate=0.1)",
        ),
    ],
    properties=[
        Property(
            "each weight moves against its running mean",
            lambda value, case: torch.equal((case.inputs[0] - value[0]).sign(), value[1].sign()),
        ),
        Property(
            "a mean of squares is not negative", lambda value, case: bool((value[2] >= 0).all())
        ),
    ],
    hints=[
        "Three steps: move both running means a little towards the newest gradient and its "
        "square, correct them, change the weight. Which of these are returned?",
        "A running mean keeps a share of itself: `beta1 * mean + (1 - beta1) * gradient`. The "
        "other is made in the same way from `gradient**2`. Corrected means are "
        "`mean / (1 - beta1**step)` and the same with `beta2`; they are used once and not kept.",
        "`weight - rate * corrected_mean / (corrected_square.sqrt() + eps)`, together with the two "
        "means as they were before the correction.",
    ],
)
def adam_update(
    weight: Tensor, gradient, mean, square, step: int, rate: float, beta1=0.9, beta2=0.98, eps=1e-9
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the new weight and the new running means of the gradient and of its square."""
    mean = beta1 * mean + (1 - beta1) * gradient
    square = beta2 * square + (1 - beta2) * gradient**2
    corrected_mean = mean / (1 - beta1**step)
    corrected_square = square / (1 - beta2**step)
    weight = weight - rate * corrected_mean / (corrected_square.sqrt() + eps)
    return weight, mean, square
