"""The exercises of each lesson, as its notebook lists them, and which one is next."""

import json
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from html import escape

from transformer_course.checker import progress
from transformer_course.syllabus import LESSONS, lessons_folder
from transformer_course.workspace import laid

HEADING = re.compile(r"^### (Exercise.*?: `(\w+)`)$", re.MULTILINE)
MINUTES = re.compile(r"^\*(\d+) minutes\.\*", re.MULTILINE)


@dataclass(frozen=True)
class Exercise:
    """An exercise as a reader of the lesson sees it.

    Attributes
    ----------
    name
        What the learner writes, such as ``padding_mask``.
    heading
        The heading above it, such as "Exercise 2: padding_mask".
    minutes
        How long it takes.
    """

    name: str
    heading: str
    minutes: int

    @property
    def title(self) -> str:
        """What the exercise is called in a sentence, such as "exercise 2, padding_mask"."""
        kind, name = self.heading.split(": ")
        return f"{kind.lower()}{', ' if kind[-1].isdigit() else ' '}{name}"

    @property
    def anchor(self) -> str:
        """The place of the heading in a notebook, as JupyterLab names it."""
        return self.heading.replace(" ", "-")


@dataclass(frozen=True)
class Standing:
    """How far the learner is in a lesson.

    Attributes
    ----------
    lesson
        The name of the notebook, such as ``02_attention``.
    solved
        How many exercises are solved.
    total
        Of how many.
    next
        The first that is not solved; None if all are.
    """

    lesson: str
    solved: int
    total: int
    next: Exercise | None

    @property
    def title(self) -> str:
        """The lesson's title."""
        return LESSONS[self.lesson]

    def __str__(self) -> str:
        start = f"Ready. {self.title}: {self.solved} of {self.total} solved"
        if self.next is None:
            return f"{start}."
        return f"{start}; next: {self.next.title}, {self.next.minutes} minutes."

    __repr__ = __str__

    def _repr_html_(self) -> str | None:
        """Link to the next exercise where that can be followed: in JupyterLab."""
        if self.next is None or "JPY_SESSION_NAME" not in os.environ:
            return None
        link = f'<a href="#{escape(self.next.anchor)}">{self.next.title}</a>'
        return escape(str(self)).replace(self.next.title, link)


@cache
def exercises_of(lesson: str) -> tuple[Exercise, ...]:
    """Return the exercises of a lesson, such as ``02_attention``, in its order.

    Raises
    ------
    OSError
        If there is no such lesson.
    """
    path = lessons_folder() / f"{lesson}.ipynb"
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    text = "\n\n".join(laid.source(cell) for cell in cells if cell["cell_type"] == "markdown")
    headings = list(HEADING.finditer(text))
    minutes = [MINUTES.search(text, heading.end()) for heading in headings]
    return tuple(
        Exercise(heading[2], heading[1].replace("`", ""), int(time[1]))
        for heading, time in zip(headings, minutes, strict=True)
    )


def standing(lesson: str) -> Standing:
    """Return how far the learner is in a lesson."""
    done, exercises = progress.solved(), exercises_of(lesson)
    prefix = lesson.partition("_")[2]
    left = [exercise for exercise in exercises if f"{prefix}.{exercise.name}" not in done]
    total = len(exercises)
    return Standing(lesson, total - len(left), total, left[0] if left else None)


def standings() -> Iterator[Standing]:
    """Yield how far the learner is in each lesson that there is."""
    for path in sorted(lessons_folder().glob("*.ipynb")):
        yield standing(path.stem)


def next_lesson() -> str:
    """Return the first lesson with something unsolved; the first of all if everything is solved."""
    first, *others = standings()
    return next((each.lesson for each in (first, *others) if each.next), first.lesson)
