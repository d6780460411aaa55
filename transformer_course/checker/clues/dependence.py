"""Whether a result depends on each argument, and on each weight of a module."""

import itertools
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn

from transformer_course.checker.cases import Case
from transformer_course.checker.diagnosis import Evidence
from transformer_course.checker.observation import Observation
from transformer_course.checker.outcomes import same_behaviour
from transformer_course.checker.task import Task

WEIGHTS = 4  # of a module that are tried
CASES = 4  # that are tried; half as many of a module, whose weights are tried too


def independence(observed: Observation, evidence: Evidence) -> str | None:
    """Say in a sentence which arguments or weights make no difference, though they should."""
    task = observed.task
    # What both did in the cases that did not crash.
    known = {n: (evidence.wanted[n], observed.seen[n]) for n in evidence.running}
    if all(seen.value is None for _, seen in known.values()):  # a missing return is said already
        return None
    shaken: dict[str, list[bool]] = {}
    tried = CASES // 2 if task.wants_module else CASES
    for number, before in itertools.islice(known.items(), tried):
        here: dict[str, bool] = {}
        for name, other in _variations(task, task.cases[number], list(before[0].parameters)):
            after = observed.beside(other)
            if after[0].error or same_behaviour(before[0], after[0]):
                continue
            makes_none = not after[1].error and same_behaviour(before[1], after[1])
            here[name] = here.get(name, True) and makes_none
        for name, makes_none in here.items():
            shaken.setdefault(name, []).append(makes_none)
    # One case may hide it, such as where the smallest of several lengths counts.
    ignored = [name for name, found in shaken.items() if len(found) > 1 and all(found)]
    if not ignored:
        return None
    if len(ignored) == len(shaken) > 1:
        return "Your result is the same whatever the arguments are."
    return f"Your result does not depend on {' or '.join(f'`{name}`' for name in ignored)}."


def _variations(task: Task, case: Case, weights: Sequence[str]) -> list[tuple[str, Case]]:
    """Return a case for each argument, and for a few weights, in which only that is different."""
    names = task.input_names(case)
    found = []
    for place, value in enumerate(case.inputs):
        for other in _others(value):
            inputs = (*case.inputs[:place], other, *case.inputs[place + 1 :])
            found.append((names[place], replace(case, inputs=inputs)))
    if case.inject and not case.looks_at:
        found += [(name, replace(case, observe=_with_other(name))) for name in weights[:WEIGHTS]]
    return found


def _others(value: Any) -> list[Any]:
    """Return other values that could take the place of one: three masks, or one of all else.

    A wrong answer may treat two masks alike, such as all that hide anything.
    """
    if isinstance(value, Tensor) and value.dtype == torch.bool and value.dim():
        others = [value.flip(-1), _one_turned(value), torch.ones_like(value)]
        return [other for other in others if not other.equal(value)]
    other = _other(value)
    return [] if other is None else [other]


def _other(value: Any) -> Any:
    """Return another value; None if none is known."""
    if isinstance(value, Tensor):
        if value.is_floating_point():
            return value + torch.arange(value.numel()).cos().view_as(value).to(value)
        return value.flip(-1) if value.dim() else value
    if isinstance(value, bool):
        return not value
    if isinstance(value, float):
        return value * 0.75 + 0.1
    if isinstance(value, int):
        return value + 1
    if isinstance(value, list | tuple):
        return value[:-1] or None
    return None


def _one_turned(mask: Tensor) -> Tensor:
    other = mask.clone()
    other.view(-1)[-1] ^= True
    return other


def _with_other(name: str) -> Callable:
    """Observe a module's result with another value of one weight, where it has that."""

    def observe(module: nn.Module, *inputs: Any) -> Any:
        for own, parameter in module.named_parameters():
            if own == name:
                parameter.data = _other(parameter.data)
        return module(*inputs)

    return observe
