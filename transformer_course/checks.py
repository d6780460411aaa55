"""What a setting must be: each check says, in a ValueError, what is wanted and what came."""

import math
from collections.abc import Iterable
from typing import Any


def check_whole(name: str, value: Any) -> None:
    """Want a whole number of at least 1."""
    if not isinstance(value, int) or value < 1:
        raise ValueError(f"{name} must be a whole number of at least 1; got {value!r}.")


def check_positive(name: str, value: float) -> None:
    """Want a positive number that is finite."""
    if not 0 < value < math.inf:
        raise ValueError(f"{name} must be positive and finite; got {value}.")


def check_share(name: str, value: float) -> None:
    """Want a share of something that is not all of it."""
    if not 0 <= value < 1:
        raise ValueError(f"{name} must be in [0, 1); got {value}.")


def check_choice(name: str, value: Any, choices: Iterable[str]) -> None:
    """Want one of some words."""
    if value not in (choices := [*choices]):
        raise ValueError(f"{name} must be one of {choices}; got {value!r}.")
