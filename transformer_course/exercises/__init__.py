"""The exercises: a folder for each lesson, and in it two files for each exercise."""

import importlib
import pkgutil

from transformer_course.checker.exercise import Exercise


def catalogues() -> dict[str, dict[str, Exercise]]:
    """Return every lesson's exercises by name: ``catalogues()["positional_encoding"]``."""
    lessons = [info.name for info in pkgutil.iter_modules(__path__) if info.ispkg]
    return {lesson: lesson_exercises(lesson) for lesson in lessons}


def lesson_exercises(lesson: str) -> dict[str, Exercise]:
    """Return the exercises of one lesson, such as ``positional_encoding``, by name."""
    module = importlib.import_module(f"{__name__}.{lesson}")
    return {exercise.name: exercise for exercise in module.EXERCISES}
