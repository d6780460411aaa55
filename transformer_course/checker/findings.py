"""What a check found: the one thing that explaining hands to reporting."""

import enum
from collections.abc import Sequence
from dataclasses import dataclass

from transformer_course.checker.cases import Case, Property
from transformer_course.checker.comparison import Difference
from transformer_course.checker.diagnosis import Diagnosis
from transformer_course.checker.outcomes import Outcome

Shapes = dict[str, tuple[int, ...]]
"""Shapes of a module's parameters by name."""


class Kind(enum.Enum):
    """What an answer turned out to be."""

    NOT_ATTEMPTED = enum.auto()
    RIGHT = enum.auto()
    FAULTY = enum.auto()
    """It can be said in a sentence what is wrong, without any mistake of the catalogue."""
    KNOWN = enum.auto()
    CRASHED = enum.auto()
    UNKNOWN = enum.auto()


@dataclass(frozen=True)
class Finding:
    """What was found, with the evidence that a report shows.

    Attributes
    ----------
    faults
        What is wrong, in a sentence each.
    known
        The known mistakes.
    remarks
        What is wrong with the format, beside a known mistake.
    clues
        What can be said of a mistake that is not known.
    parameters
        Shapes of the wanted parameters and of the answer's, if they differ.
    example
        The case that shows best what is wrong, and how its result differs.
    crash
        A case that stopped with an exception.
    changes_arguments
        Whether arguments are changed in place.
    wrong
        How many cases are wrong.
    properties
        The properties of a right answer, each with whether it holds.
    printed
        What the code printed.
    computed
        What tells answers of the same behaviour, where no mistake explains it.
    """

    kind: Kind
    faults: Sequence[str] = ()
    known: Diagnosis | None = None
    remarks: Sequence[str] = ()
    clues: Sequence[str] = ()
    parameters: tuple[Shapes, Shapes] | None = None
    example: tuple[Case, Difference] | None = None
    crash: tuple[Case, Outcome] | None = None
    changes_arguments: bool = False
    wrong: int = 0
    properties: Sequence[tuple[Property, bool]] = ()
    printed: str = ""
    computed: str = ""
