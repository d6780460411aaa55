"""Whether a system learns a single batch, which any system must, and in how many steps."""

import math
from collections.abc import Callable

import torch
from torch import Tensor

from transformer_course.checker.cases import Case
from transformer_course.checker.exercise import exercise
from transformer_course.exercises.when_it_does_not_work.systems import Batch, batch_of

_BATCH = batch_of([([4, 5, 6], [7, 8]), ([5, 6], [8])])
_FAR_TOO_MANY = 200
"""Steps after which a training ends by itself: an answer that never stops would hang the check."""


class _Training:
    """The step of a training whose losses are known beforehand; the last of them stays.

    It learns from the batch alone: in another order, the same tensors teach it nothing.
    """

    def __init__(self, losses: list[float], most: int) -> None:
        self.losses = losses
        self.most = most
        self.steps = 0

    def __call__(self, source: Tensor, target_in: Tensor, target_out: Tensor) -> float:
        self.steps += 1
        if self.steps > self.most + _FAR_TOO_MANY:
            raise RuntimeError(f"the training was to end after {self.most} steps, and goes on")
        given = (source, target_in, target_out)
        if not all(map(torch.equal, given, _BATCH)):
            return 4.0
        return self.losses[min(self.steps, len(self.losses)) - 1]


def _steps_taken(code: Callable, step: _Training, batch: Batch, most: int) -> dict:
    """Look at how often a step is taken."""
    code(step, batch, most)
    return {"steps taken": step.steps}


def _trained(words: str, losses: list[float], most: int) -> Case:
    written = f"(step, batch, most={most})  # {words}: {_listed(losses)}"
    return Case((_Training(losses, most), _BATCH, most), written=written)


def _counted(words: str, losses: list[float], most: int) -> Case:
    return Case(
        (_Training(losses, most), _BATCH, most),
        observe=_steps_taken,
        looks_at="how many steps are taken",
        written=f"(step, batch, most={most})  # {words}: {_listed(losses)}",
    )


def _listed(losses: list[float]) -> str:
    return ", ".join(f"{loss:g}" for loss in losses)


_SMOOTHLY = [3.2, 1.4, 0.6, 0.2, 0.08, 0.03, 0.02, 0.004]
_AT_THE_SIXTH = [2.9, 1.9, 1.2, 0.7, 0.3, 0.07]


@exercise(
    cases=[
        _trained("it learns smoothly", _SMOOTHLY, most=10),
        _trained(
            "its loss bounces",
            [3, 2, 1.5, 0.5, 0.3, 0.12, 0.09, 0.4, 0.2, 0.08, 0.15, 0.05, 0.2],
            most=20,
        ),
        _trained("it does not learn, and stays at the last loss", [2.6, 2.4, 2.5], most=6),
        _trained("it ends in NaN", [3.1, 8.5, math.nan], most=8),
        _trained("it learns with the last step", _AT_THE_SIXTH, most=6),
        _trained("it would learn a step later", _AT_THE_SIXTH, most=5),
        _trained("it has learnt before", [0.06, 0.05, 0.04], most=3),
        _trained("it is at 0.1 for a while", [0.9, 0.3, 0.1, 0.1, 0.099, 0.05], most=9),
        _trained("it gets worse first", [2.2, 4.7, 6.3, 3.1, 0.8, 0.05], most=9),
        _trained("it stands still for a while", [2.2] * 7 + [1.1, 0.04], most=12),
        _counted("it learns smoothly", _SMOOTHLY, most=10),
        _counted("it does not learn, and stays at the last loss", [2.6, 2.4, 2.5], most=6),
        _counted("it learns with the last step", _AT_THE_SIXTH, most=6),
    ],
    hints=[
        "A loop over the steps, counted from 1. When may it end early, and what is left to say "
        "when it has come to its end?",
        "`step(*batch)` takes one step and returns its loss: call it once in each round. The loop "
        "is `for n in range(1, most + 1)`.",
        "In the loop `if step(*batch) < 0.1: return n`; after the loop, no longer indented, "
        "`return None`.",
    ],
)
def steps_to_learn(step: Callable, batch: tuple, most: int) -> int | None:
    """Return how many steps it takes until the loss is below 0.1; None if `most` are too few."""
    for n in range(1, most + 1):
        loss = step(*batch)
        if loss < 0.1:
            return n
    return None
