"""What several explanations have in common: what cannot be told apart is not guessed."""

from collections.abc import Collection, Sequence
from typing import TypeVar

T = TypeVar("T")


def in_common(explanations: Sequence[Collection[T]]) -> list[T]:
    """Return the culprits that every explanation names, in the order of the first.

    Nothing is in common where there is no explanation.
    """
    if not explanations:
        return []
    first, *others = explanations
    return [culprit for culprit in first if all(culprit in other for other in others)]
