"""How wrong numbers are related to the right ones."""

import itertools
import math
from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch import Tensor

from transformer_course.checker.comparison import wrong_elements
from transformer_course.checker.diagnosis import Evidence
from transformer_course.checker.observation import Observation
from transformer_course.checker.outcomes import Outcome
from transformer_course.checker.task import Task

FUNCTIONS = {
    "the logarithm of what is wanted": torch.log,
    "`exp` of what is wanted": torch.exp,
    "the square of what is wanted": torch.square,
    "the square root of what is wanted": torch.sqrt,
    "1 divided by what is wanted": torch.reciprocal,
    "1 minus what is wanted": lambda x: 1 - x,
}


def relation(observed: Observation, evidence: Evidence) -> str | None:
    """Say in a sentence what relates all wrong results to the right ones, if something does."""
    pairs = [(n, evidence.wanted[n], evidence.seen[n]) for n in evidence.wrong]
    if not pairs:
        return None
    if all(_is_count(o.value) for _, *both in pairs for o in both) and len(pairs) > 1:
        return _counted(observed.task, pairs)
    values = [(right.value, mine.value) for _, right, mine in pairs]
    if all(type(value) in (int, float) for both in values for value in both):
        values = [tuple(torch.tensor(each).double() for each in zip(*values, strict=True))]
    found = [dict(_relations(*both)) for both in values]
    kinds = [kind for kind in found[0] if all(kind in each for each in found)]
    if not kinds:
        return None
    same = len({each[kinds[0]] for each in found}) == 1
    return f"{found[0][kinds[0]]}{'' if same else ' These are the numbers of the first such case.'}"


def _relations(wanted: Any, seen: Any) -> Iterator[tuple[str, str]]:
    """Yield each relation that holds: what kind it is, and the sentence with its numbers."""
    if not (isinstance(wanted, Tensor) and isinstance(seen, Tensor)):
        return
    if any(x.is_complex() or x.is_meta for x in (wanted, seen)):
        return
    wanted, seen = wanted.detach(), seen.detach()
    if wanted.is_floating_point() and seen.is_floating_point():
        wanted, seen = wanted.double(), seen.double()
    yield from _of_places(wanted, seen)
    if wanted.shape == seen.shape and wanted.is_floating_point() and seen.is_floating_point():
        yield from _of_numbers(wanted, seen)
    elif wanted.dtype == seen.dtype == torch.bool and seen.equal(~wanted):
        yield "not", "Yours is True where False is wanted, and the other way round."


def _of_numbers(wanted: Tensor, seen: Tensor) -> Iterator[tuple[str, str]]:
    if not seen.isfinite().all() or not wanted.isfinite().all() or wanted.numel() < 2:
        return
    if not seen.any() and wanted.any():
        yield "zero", "Yours is 0 everywhere."
        return
    top = wanted.abs().argmax()
    ratio = (seen.flatten()[top] / wanted.flatten()[top]).item()
    if wanted.any() and _equal(wanted * ratio, seen):
        yield "times", f"Yours is {ratio:.4g} times what is wanted."
    shift = (seen - wanted).mean().item()
    if _equal(wanted + shift, seen):
        yield "plus", f"Yours is what is wanted plus {shift:.4g}."
    for words, function in FUNCTIONS.items():
        if _equal(function(wanted), seen):
            yield words, f"Yours is {words}."
    for axis in range(wanted.dim()):
        sums, ours = (x.sum(axis) for x in (seen, wanted))
        if wanted.shape[axis] > 1 and _ones(sums) and not _ones(ours):
            right = next((a for a in range(wanted.dim()) if _ones(wanted.sum(a))), None)
            if right is not None:
                yield (
                    "sums",
                    f"Yours sums to 1 along axis {axis}; it should along axis {right}.",
                )


def _of_places(wanted: Tensor, seen: Tensor) -> Iterator[tuple[str, str]]:
    """Yield where the right numbers are, if they are in wrong places."""
    if wanted.numel() != seen.numel() or wanted.numel() < 2 or wanted.dim() < 1:
        return
    if wanted.dim() >= 2 and seen.shape == wanted.mT.shape and _equal(wanted.mT, seen):
        yield "transposed", "Yours is what is wanted with its last two axes swapped."
    if wanted.shape == seen.shape:
        for axis, length in enumerate(wanted.shape):
            if length > 1 and _equal(wanted.flip(axis), seen):
                yield "flipped", f"Yours is what is wanted in reverse order along axis {axis}."
            for step in (1, -1):
                moved = wanted.roll(step, axis)
                if length > 2 and _equal(_inner(moved, axis, step), _inner(seen, axis, step)):
                    yield "shifted", f"Yours is what is wanted, moved by one along axis {axis}."
    if _equal(wanted.flatten().sort()[0], seen.flatten().sort()[0]):
        yield "permuted", "The numbers are the right ones, in other places."


def _inner(x: Tensor, axis: int, step: int) -> Tensor:
    """Leave out what has come round from the other end."""
    return x.narrow(axis, max(step, 0), x.shape[axis] - 1)


def _ones(x: Tensor) -> bool:
    return bool((x - 1).abs().max() < 1e-4) if x.numel() else False


def _equal(wanted: Tensor, seen: Tensor) -> bool:
    return wanted.shape == seen.shape and not wrong_elements(wanted, seen).any()


# Counts


def _is_count(value: Any) -> bool:
    return type(value) is int or (type(value) is float and value.is_integer())


def _counted(task: Task, pairs: Sequence[tuple[int, Outcome, Outcome]]) -> str | None:
    """Say what was counted too often or left out, as products of the arguments."""
    terms = _terms([_numbers(task, number) for number, *_ in pairs])
    surplus = [mine.value - right.value for _, right, mine in pairs]
    # Two terms and their factors fit two or three results by chance.
    couples = itertools.combinations(terms, 2) if len(pairs) > 3 else ()
    for one, other in itertools.chain(((each, None) for each in terms), couples):
        for factors in itertools.product((1, 2, 3, 4, -1, -2, -3, -4), repeat=2 if other else 1):
            values = zip(*(terms[t] for t in (one, other) if t), strict=True)
            if [sum(map(math.prod, zip(factors, v, strict=True))) for v in values] == surplus:
                parts = zip(factors, filter(None, (one, other)), strict=True)
                return _sentence(surplus[0], list(parts))
    return None


def _numbers(task: Task, number: int) -> dict[str, int]:
    arguments = task.arguments(task.cases[number])
    values = {}
    for name, value in arguments.items():
        fields = {name: value} if isinstance(value, int) else getattr(value, "__dict__", {})
        values |= {
            key: each
            for key, each in fields.items()
            if isinstance(each, int) and not isinstance(each, bool)
        }
    return values


def _terms(cases: Sequence[dict[str, int]]) -> dict[str, list[int]]:
    names = sorted(set.intersection(*(set(each) for each in cases)))
    terms = {"1": [1] * len(cases)}
    for size in (1, 2, 3) if len(names) <= 4 else (1, 2):
        for chosen in itertools.combinations_with_replacement(names, size):
            terms[" * ".join(chosen)] = [math.prod(each[n] for n in chosen) for each in cases]
    return terms


def _sentence(first: float, parts: list[tuple[int, str]]) -> str:
    sign = 1 if first > 0 else -1
    written = ""
    for factor, term in sorted(((sign * f, term) for f, term in parts), reverse=True):
        size = "" if abs(factor) == 1 else f"{abs(factor)} * "
        written += f"{' + ' if factor > 0 else ' - '}{size}{term}"
    return f"You count `{written.removeprefix(' + ')}` too {'many' if first > 0 else 'few'}."
