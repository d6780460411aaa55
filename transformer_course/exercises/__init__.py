"""The checker: one catalogue of exercises per lesson, named as the lesson."""

import importlib
import pkgutil

from transformer_course.exercises.exercise import Exercise


def catalogues() -> dict[str, dict[str, Exercise]]:
    """Return every lesson's exercises by name: ``catalogues()["positional_encoding"]``."""
    found: dict[str, dict[str, Exercise]] = {}
    for module_info in pkgutil.iter_modules(__path__):
        module = importlib.import_module(f"{__name__}.{module_info.name}")
        exercises = {e.name: e for e in vars(module).values() if isinstance(e, Exercise)}
        if exercises:
            found[module_info.name] = exercises
    return found
