"""The search for what a published model computes otherwise than ours."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

Options = dict[str, Any]


def nearest_change(
    distance: Callable[[Options], float],
    options: Options,
    choices: Mapping[str, Sequence[Any]],
) -> Options:
    """Return the options with the one change that brings them nearest; as they are if none does.

    Parameters
    ----------
    distance
        How far a model with such options is from the published one; 0 where they are the same.
    options
        The present value of each option.
    choices
        The values that an option can have. Of equally good changes the first is taken.
    """
    changes = ({**options, name: value} for name, values in choices.items() for value in values)
    return min([options, *changes], key=distance)
