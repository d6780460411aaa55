"""What is wrong with an answer apart from its values."""

from collections.abc import Sequence
from typing import Any

import torch

from transformer_course.checker.cases import Case, Property
from transformer_course.checker.comparison import difference, technical_difference
from transformer_course.checker.formats import other_dtype
from transformer_course.checker.outcomes import Outcome
from transformer_course.checker.task import Task

CHANGES_ARGUMENTS = (
    "Your code changes its arguments in place: work on a copy, `x = x + 1` instead of "
    "`x += 1` or `x.add_(1)`, `[*x, y]` instead of `x.append(y)`."
)


def faults(task: Task, seen: Sequence[Outcome], wanted: Sequence[Outcome]) -> list[str]:
    """Say in a sentence each what is wrong though all values are right, the most serious first."""
    found = [unsteady(task, seen)]
    found += [technical_difference(w.value, s.value) for w, s in zip(wanted, seen, strict=True)]
    said = [sentence for sentence in dict.fromkeys(found) if sentence]  # each one once
    # What holds for numbers of one dtype need not hold for the same ones in another.
    return said or [
        f"This should hold, but does not: {p.statement}." for p in broken_properties(task, seen)
    ]


def tried_properties(
    task: Task, seen: Sequence[Outcome], wanted: Sequence[Outcome]
) -> list[tuple[Property, bool]]:
    """Say of each property whether it holds; they mean nothing for a wrong type, shape or dtype."""
    found = [difference(w.value, s.value) for w, s in zip(wanted, seen, strict=True)]
    if any(each and each.kind != "values" for each in found) or other_dtype(seen, wanted):
        return []
    broken = broken_properties(task, seen)
    return [(each, each not in broken) for each in task.properties]


def broken_properties(task: Task, seen: Sequence[Outcome]) -> list[Property]:
    """Return the properties that fail for a result; some cases look at something else."""
    results = [
        (outcome.value, case)
        for case, outcome in zip(task.cases, seen, strict=True)
        if not case.looks_at
    ]
    return [p for p in task.properties if not all(_holds(p, *result) for result in results)]


def _holds(each: Property, value: Any, case: Case) -> bool:
    try:
        return bool(each.holds(value, case))
    except Exception:  # such as arithmetic that the result's dtype does not know
        return False


def unsteady(task: Task, seen: Sequence[Outcome]) -> str | None:
    """Say why calls with equal arguments need not give equal results."""
    if any(outcome.changed_input for outcome in seen):
        return CHANGES_ARGUMENTS
    if any(outcome.repeated == "remembered" for outcome in seen):
        return (
            "A second call with equal arguments gives another result: something is remembered "
            "between calls, such as a global variable, a default argument or a changed weight."
        )
    drawn = [(c, o.value) for c, o in zip(task.cases, seen, strict=True) if o.repeated == "random"]
    if not drawn:
        return None
    if all(_is_true_or_false(value) for _, value in drawn):
        return (
            "Your result differs from call to call, and it should not: you may try changes drawn "
            "at random, as long as what you find does not depend on them."
        )
    if all(case.construct is not None and not case.training for case, _ in drawn):
        return (
            "Two calls with equal arguments give different results in evaluation mode: something "
            "is drawn at random that should not be, such as by an `F.dropout` without "
            "`training=self.training`, or by a layer that `forward` makes anew."
        )
    return (
        "Two calls with equal arguments give different results: something is drawn at random "
        "that should not be."
    )


def _is_true_or_false(value: Any) -> bool:
    return getattr(value, "dtype", type(value)) in (bool, torch.bool)
