"""What wrong cases have in common and right ones have not."""

from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch import Tensor

from transformer_course.checker.cases import Case
from transformer_course.checker.diagnosis import Evidence
from transformer_course.checker.observation import Observation
from transformer_course.checker.task import Task


def separation(observed: Observation, evidence: Evidence) -> str | None:
    """Say in a sentence what separates the wrong cases from the right ones, if one thing does."""
    task, right, wrong = observed.task, evidence.right, evidence.wrong or evidence.crashed
    if not (right and wrong) or len(right) + len(wrong) < 3:
        return None
    features = {n: list(_features(task, task.cases[n])) for n in (*right, *wrong)}
    for feature in dict.fromkeys(f for n in features for f in features[n]):
        holders = {n for n in features if feature in features[n]}
        if holders == set(wrong):
            return f"{_cases(wrong)} {feature} {_are(wrong)} wrong, {_others(right)} right."
        if holders == set(right):
            return f"{_cases(right)} {feature} {_are(right)} right, {_others(wrong)} wrong."
    return None


def _cases(numbers: Sequence[int]) -> str:
    return {1: "The only case", 2: "Both cases"}.get(len(numbers), f"All {len(numbers)} cases")


def _are(numbers: Sequence[int]) -> str:
    return "is" if len(numbers) == 1 else "are"


def _others(numbers: Sequence[int]) -> str:
    return "the other one is" if len(numbers) == 1 else f"the other {len(numbers)} are"


def _features(task: Task, case: Case) -> Iterator[str]:
    """Yield what can be said of a case, the most telling first."""
    arguments = task.arguments(case)
    for name, value in arguments.items():
        if value is None or isinstance(value, bool):
            yield f"with `{name}={value}`"
    if case.looks_at:
        yield f"in which the check looks at {case.looks_at}"
    if case.training:
        yield "in training mode"
    for name, value in arguments.items():
        yield from (f"where `{name}` {words}" for words in _of_values(value))


def _of_values(value: Any) -> Iterator[str]:
    if isinstance(value, Tensor):
        if value.dtype == torch.bool:
            if not value.all():
                yield "hides something (holds a False)"
        elif not value.is_floating_point():
            if (value == 0).any():
                yield "holds a 0"
        elif value.dtype == torch.float64:
            yield "is float64"
        yield f"has {value.dim()} {'axis' if value.dim() == 1 else 'axes'}"
        if value.dim() and value.shape[0] == 1:
            yield "has a first axis of length 1"
    elif isinstance(value, int | float):
        for special in (0, 1):
            if value == special:
                yield f"is {special}"
    elif isinstance(value, list | tuple | dict | str):
        yield ("is empty", "holds one", "holds several")[min(len(value), 2)]
