"""What code computed, in a few letters: equal for answers that do the same."""

import hashlib
from collections.abc import Iterator, Sequence
from typing import Any

from torch import Tensor

from transformer_course.checker.comparison import parts_of
from transformer_course.checker.outcomes import Outcome


def fingerprint(seen: Sequence[Outcome]) -> str:
    """Return letters that two answers share if all their results are equal but for rounding."""
    words = "|".join(word for outcome in seen for word in _words_of(outcome))
    return hashlib.sha256(words.encode()).hexdigest()[:12]


def _words_of(outcome: Outcome) -> Iterator[str]:
    yield repr(outcome.parameters)
    # The words of an exception name the learner's own variables.
    yield from [outcome.error[0].__name__] if outcome.error else _words(outcome.value)


def _words(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        yield repr(list(value))
    if isinstance(value, list | tuple | dict):
        for part in parts_of(value):
            yield from _words(part)
    elif isinstance(value, Tensor) and not value.is_meta:
        yield repr(list(value.shape))
        yield from map(_number, value.detach().flatten().tolist())
    else:
        yield _number(value) if isinstance(value, int | float) else type(value).__name__


def _number(value: Any) -> str:
    # 0 is often a sum that cancels but for rounding.
    if not isinstance(value, int | float) or abs(value) <= 1e-6:
        return "0"
    return "huge" if isinstance(value, int) and value.bit_length() > 1000 else f"{value + 0.0:.3g}"
