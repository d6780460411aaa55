"""What a check found: the one thing that explaining hands to reporting."""

import enum
from collections.abc import Sequence
from dataclasses import dataclass

from transformer_course.checker.diagnosis import Diagnosis
from transformer_course.checker.observation import Observation


class Kind(enum.Enum):
    """What an answer turned out to be."""

    NOT_ATTEMPTED = enum.auto()
    RIGHT = enum.auto()
    FAULTY = enum.auto()
    """All values are right and something else is not; or it cannot be run at all."""
    KNOWN = enum.auto()
    OTHER_PARAMETERS = enum.auto()
    CRASHED = enum.auto()
    UNSTEADY = enum.auto()
    UNKNOWN = enum.auto()


@dataclass(frozen=True)
class Finding:
    """What an answer is, and why.

    Attributes
    ----------
    kind
        What it turned out to be.
    observed
        What shows it.
    faults
        What is wrong apart from the values, in a sentence each.
    known
        The known mistakes.
    clues
        What can be said of a mistake that is not known.
    computed
        What tells answers that compute the same, where no mistake is known.
    """

    kind: Kind
    observed: Observation
    faults: Sequence[str] = ()
    known: Diagnosis | None = None
    clues: Sequence[str] = ()
    computed: str = ""
