"""Every section of a file, judged without a notebook."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from transformer_course.checker.feedback import Feedback
from transformer_course.exercises import catalogues
from transformer_course.own.file import executed, read
from transformer_course.own.sections import parts, sections


@dataclass(frozen=True)
class Row:
    """What is known about a part: lesson, name, and its check if it is yours."""

    lesson: str
    name: str
    feedback: Feedback | None


def load(path: Path) -> ModuleType:
    """Return a learner's file as a module.

    Raises
    ------
    FileError
        If it is not such a file, lacks a part, or does not run.
    OSError
        If it cannot be read.
    """
    return executed(read(path), path)


def rows(path: Path, module: ModuleType) -> Iterator[Row]:
    """Yield what is known about each part of a file, which :func:`load` made a module.

    Sections that are no parts, which a learner may have added, are left out.
    """
    found = sections(read(path))
    for section in (found[name] for name in parts()):
        exercise = catalogues()[section.lesson][section.name]
        candidate = getattr(module, section.name, None)
        feedback = exercise.judge(candidate) if section.is_yours else None
        yield Row(section.lesson, section.name, feedback)
