"""Where an exercise is: its lesson, and its section there."""

import difflib
from dataclasses import dataclass

from transformer_course.syllabus import LESSONS
from transformer_course.workspace.outline import Exercise, exercises_of


@dataclass(frozen=True)
class Place:
    """An exercise and its lesson, such as ``02_attention``."""

    lesson: str
    exercise: Exercise

    @property
    def folder(self) -> str:
        """The lesson's name without its number."""
        return self.lesson.partition("_")[2]

    @property
    def key(self) -> str:
        """The name under which progress is kept, such as ``attention.causal_mask``."""
        return f"{self.folder}.{self.exercise.name}"

    def __str__(self) -> str:
        return f"{self.lesson}.ipynb, {self.exercise.heading}"


def places() -> list[Place]:
    """Return all exercises, in the order of the lessons."""
    return [Place(lesson, each) for lesson in LESSONS for each in exercises_of(lesson)]


def place_of(name: str) -> Place:
    """Return where an exercise is; the lesson may stand before its name, as in progress.

    Raises
    ------
    ValueError
        If there is none of that name; the words say which come near.
    """
    known = {place.exercise.name: place for place in places()}
    short = name.rpartition(".")[2]
    if short in known and name in (short, known[short].key):
        return known[short]
    by_lower = {each.lower(): each for each in known}
    near = difflib.get_close_matches(short.lower(), by_lower, n=3, cutoff=0.5)
    meant = f"did you mean {' or '.join(by_lower[each] for each in near)}?" if near else ""
    raise ValueError(
        f"there is no exercise {name!r}; "
        f"{meant or '`transformer-course progress` lists all that there are.'}"
    )
