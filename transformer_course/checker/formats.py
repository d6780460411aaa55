"""Results in a format other than the one asked for: a batch axis too many, 0 for False.

Such a result may hold a mistake as well. So it is brought into the right format, with a sentence
for each step, and the result of that is compared.
"""

import difflib
import math
from collections.abc import Sequence
from dataclasses import replace
from numbers import Real
from typing import Any

import numpy as np
import torch
from torch import Tensor

from transformer_course.checker.comparison import describe, dtype_name
from transformer_course.checker.outcomes import Outcome

LOWEST = -1e3
"""What is added to a score to hide it is lower than this."""


def conformed(
    seen: Sequence[Outcome], wanted: Sequence[Outcome]
) -> tuple[list[Outcome], list[str]]:
    """Return what was seen in the format of what was wanted, and a sentence for each change."""
    outcomes, said = [], []
    for outcome, right in zip(seen, wanted, strict=True):
        parameters = _renamed(outcome.parameters, right.parameters, said)
        value = outcome.value
        if not (outcome.error or right.error):
            value, words = _conformed(right.value, outcome.value)
            said += words
        outcomes.append(replace(outcome, value=value, parameters=parameters))
    # The same is done in most cases, with other numbers: the first one says it.
    kinds = {sentence.partition(":")[0]: sentence for sentence in reversed(said)}
    return outcomes, list(reversed(kinds.values()))


def other_dtype(seen: Sequence[Outcome], wanted: Sequence[Outcome]) -> list[str]:
    """Say of which dtype the results are, if another one is wanted."""
    for outcome, right in zip(seen, wanted, strict=True):
        both = outcome.value, right.value
        if all(isinstance(value, Tensor) for value in both) and both[0].dtype != both[1].dtype:
            yours, theirs = map(dtype_name, both)
            return [f"The dtype is `{yours}`; `{theirs}` is wanted."]
    return []


def _conformed(expected: Any, received: Any) -> tuple[Any, list[str]]:
    said: list[str] = []
    if isinstance(expected, Tensor):
        for step in (_as_tensor, _as_boolean, _without_axes):
            received, words = step(expected, received)
            said += filter(None, [words])
    elif isinstance(expected, Real):
        received, words = _as_number(received)
        said += filter(None, [words])
    elif isinstance(expected, list | tuple):
        if isinstance(received, Tensor | np.ndarray) and received.ndim:
            said.append(f"A {type(expected).__name__} is wanted, not {_kind(received)}.")
            received = list(received) if _holds_tensors(expected) else received.tolist()
        if isinstance(received, list | tuple) and len(received) == len(expected):
            return _parts(zip(expected, received, strict=True), type(expected), said)
    elif isinstance(expected, dict) and isinstance(received, dict):
        names = _alike(list(received), list(expected))
        if received.keys() != expected.keys() and len(names) == len(expected):
            words = ", ".join(
                f"`{old!r}` should be `{new!r}`" for old, new in names.items() if old != new
            )
            said.append(f"The keys have other names: {words}.")
            received = {new: received[old] for old, new in names.items()}
        if received.keys() == expected.keys():
            pairs = [(expected[key], received[key]) for key in expected]
            values, said = _parts(pairs, list, said)
            return dict(zip(expected, values, strict=True)), said
    return received, said


def _parts(pairs: Any, kind: type, said: list[str]) -> tuple[Any, list[str]]:
    values = []
    for expected, received in pairs:
        value, words = _conformed(expected, received)
        values.append(value)
        said += words
    return kind(values), said


def _holds_tensors(values: Sequence) -> bool:
    return any(isinstance(value, Tensor) for value in values)


def _kind(value: Any) -> str:
    """Say in two words what a value is."""
    if isinstance(value, np.ndarray | np.generic):
        return "a NumPy array"
    return "a tensor" if isinstance(value, Tensor) else f"a {type(value).__name__}"


def _as_tensor(expected: Tensor, received: Any) -> tuple[Any, str]:
    if isinstance(received, Tensor) or not isinstance(
        received, list | tuple | np.ndarray | np.generic | Real
    ):
        return received, ""
    try:
        tensor = torch.as_tensor(received if _plain(received) else torch.stack(list(received)))
    except (TypeError, ValueError, RuntimeError):
        return received, ""
    return tensor, f"A torch tensor is wanted, not {_kind(received)}."


def _plain(value: Any) -> bool:
    return not (isinstance(value, list | tuple) and _holds_tensors(value))


def _as_boolean(expected: Tensor, received: Any) -> tuple[Any, str]:
    """Read 0 and 1, and numbers to be added to scores, as False and True."""
    if not isinstance(received, Tensor) or expected.dtype != torch.bool:
        return received, ""
    if received.dtype == torch.bool or received.is_complex() or received.is_meta:
        return received, ""
    if ((received == 0) | (received == 1)).all():
        words = f"not 1 and 0 in {dtype_name(received)}: `.bool()` converts them."
        return received.bool(), f"True and False are wanted, {words}"
    if ((received == 0) | (received < LOWEST)).all():
        words = "True and False are wanted, not numbers to be added to the scores."
        return received == 0, words
    return received, ""


def _without_axes(expected: Tensor, received: Any) -> tuple[Any, str]:
    if not isinstance(received, Tensor) or received.shape == expected.shape:
        return received, ""
    if [n for n in received.shape if n > 1] != [n for n in expected.shape if n > 1]:
        return received, ""
    if received.is_meta or received.numel() != expected.numel():
        return received, ""
    shapes = f"your shape is {list(received.shape)}, wanted is {list(expected.shape)}."
    if received.dim() == expected.dim():
        words = f"The axis of length 1 is in another place: {shapes}"
    else:
        kind = "too many" if received.dim() > expected.dim() else "too few"
        words = f"There are {kind} axes of length 1: {shapes}"
    return received.reshape(expected.shape), words


def _as_number(received: Any) -> tuple[Any, str]:
    is_array = isinstance(received, Tensor | np.ndarray) and received.ndim > 0
    if is_array and math.prod(received.shape) == 1:
        return received.reshape(()).item(), f"A plain number is wanted, not {describe(received)}."
    return received, ""


def _alike(names: Sequence, wanted: Sequence) -> dict[Any, Any]:
    """Match names with those that they resemble most, each once."""
    left = [name for name in wanted if name not in names]
    found = {name: name for name in names if name in wanted}
    for name in names:
        if name not in found and isinstance(name, str):
            strings = [other for other in left if isinstance(other, str)]
            close = difflib.get_close_matches(name.lower(), strings, 1, cutoff=0.5)
            if close:
                found[name] = close[0]
                left.remove(close[0])
    return found


def matched(
    given: dict[str, tuple[int, ...]], wanted: dict[str, tuple[int, ...]]
) -> dict[str, str]:
    """Return for each parameter's name the name that it should have, as far as shapes tell.

    Equal names belong together; of the others those of equal shape, in their order.
    """
    found = {name: name for name in given if wanted.get(name) == given[name]}
    left = [name for name in wanted if name not in found]
    for name, shape in given.items():
        if name not in found:
            fits = next((other for other in left if wanted[other] == shape), None)
            if fits:
                found[name] = fits
                left.remove(fits)
    return found


def _renamed(
    given: dict[str, tuple[int, ...]], wanted: dict[str, tuple[int, ...]], said: list[str]
) -> dict[str, tuple[int, ...]]:
    names = matched(given, wanted)
    if given.keys() == wanted.keys() or len(names) < len(wanted) or len(given) != len(wanted):
        return given
    said += [
        f"`{old}` should be named `{new}`." for old, new in _modules(names).items() if old != new
    ]
    return {names[name]: shape for name, shape in given.items()}


def _modules(names: dict[str, str]) -> dict[str, str]:
    """Leave out what two names have in common at their end, such as ``.weight``."""
    shorter: dict[str, str] = {}
    for name, other in names.items():
        old, new = name.split("."), other.split(".")
        while len(old) > 1 and len(new) > 1 and old[-1] == new[-1]:
            old.pop()
            new.pop()
        shorter[".".join(old)] = ".".join(new)
    return shorter
