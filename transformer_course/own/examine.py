"""Every section of a file, judged without a notebook."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from transformer_course.checker.feedback import Feedback
from transformer_course.exercises import catalogues
from transformer_course.own.file import run
from transformer_course.own.sections import parts, sections


class FileError(ValueError):
    """A file that cannot be taken for ``my_transformer.py``."""


@dataclass(frozen=True)
class Row:
    """What is known about a part: lesson, name, whose it is, and its check if it is yours."""

    lesson: str
    name: str
    state: str
    feedback: Feedback | None


def load(path: Path) -> ModuleType:
    """Return a learner's file as a module.

    Raises
    ------
    FileError
        If it is no such file, lacks a part, or does not run.
    OSError
        If it cannot be read.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise FileError(f"{path} is not UTF-8 text, so it is no my_transformer.py.") from None
    missing = [name for name in parts() if name not in sections(text)]
    if missing:
        raise FileError(
            f"{path} has no section for {', '.join(missing)}: a section begins with a line such as "
            f"`# --- start_here: softmax (given) ---`. Take it back from my_transformer.history."
        )
    try:
        return run(text, path)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        raise FileError(f"{path} does not run: {type(error).__name__}: {error}") from None


def rows(path: Path, module: ModuleType) -> Iterator[Row]:
    """Yield what is known about each part of a file, which :func:`load` made a module."""
    for section in sections(path.read_text(encoding="utf-8")).values():
        exercise = catalogues()[section.lesson][section.name]
        candidate = getattr(module, section.name, None)
        feedback = exercise.judge(candidate) if section.is_yours else None
        yield Row(section.lesson, section.name, section.state, feedback)
