"""The exercises: a folder for each lesson, and in it two files for each exercise."""

import importlib
import pkgutil
from types import ModuleType

from transformer_course.checker.exercise import Exercise


def catalogues() -> dict[str, dict[str, Exercise]]:
    """Return every lesson's exercises by name: ``catalogues()["positional_encoding"]``."""
    lessons = [info.name for info in pkgutil.iter_modules(__path__) if info.ispkg]
    return {
        lesson: {exercise.name: exercise for exercise in _module(lesson).EXERCISES}
        for lesson in lessons
    }


def _module(lesson: str) -> ModuleType:
    return importlib.import_module(f"{__name__}.{lesson}")
