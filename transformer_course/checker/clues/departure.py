"""Where a module goes another way than it should: what enters each of its parts."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from torch import Tensor, nn

from transformer_course.checker.comparison import difference, snapshot
from transformer_course.checker.diagnosis import Evidence
from transformer_course.checker.observation import Observation


def departure(observed: Observation, evidence: Evidence) -> str | None:
    """Say in a sentence which part gets something wrong first; None where parts do not compare."""
    cases = [observed.task.cases[n] for n in evidence.wrong]
    case = next((case for case in cases if case.inject and not case.looks_at), None)
    if case is None or case.construct is None:
        return None
    right, mine = (outcome.value for outcome in observed.beside(replace(case, observe=_traced)))
    if not (right and mine) or right["parts"] != mine["parts"]:
        return None
    met: list[str] = []
    for name, inputs in right["calls"]:
        theirs = [each for other, each in mine["calls"] if other == name]
        if not theirs:
            return f"`{name}` is never called."
        if difference(inputs, theirs[min(met.count(name), len(theirs) - 1)]) is not None:
            return f"What goes into `{name}` is not what it should be{_so_far(met)}."
        met.append(name)
    return f"What goes into {_listed(met)} is right; what is done afterwards is not."


def _so_far(met: list[str]) -> str:
    return f"; what goes into {_listed(met)} is right" if met else ""


def _listed(names: list[str]) -> str:
    return ", ".join(f"`{name}`" for name in dict.fromkeys(names))


def _traced(module: nn.Module, *inputs: Any) -> dict[str, Any]:
    """Observe what goes into each part of a module."""
    calls: list[tuple[str, Any]] = []

    def note(name: str) -> Callable:
        return lambda _, given: calls.append(
            (name, snapshot([x for x in given if isinstance(x, Tensor)]))
        )

    parts = dict(module.named_children())
    hooks = [part.register_forward_pre_hook(note(name)) for name, part in parts.items()]
    try:
        module(*inputs)
    finally:
        for hook in hooks:
            hook.remove()
    return {"parts": sorted(parts), "calls": calls}
