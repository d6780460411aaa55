"""A subject in somebody's file."""

import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from torch import nn

from transformer_course.checker.exits import no_exit
from transformer_course.checker.time_limits import TimeLimitReached, time_limit
from transformer_course.examine.bench import ExaminationError, in_a_line
from transformer_course.examine.subject import Subject

NAME = "subject"


def load(place: str, seconds: float) -> tuple[str, Callable[[], Subject]]:
    """Run a file and return the name of what is in it, and what makes the subject.

    Parameters
    ----------
    place
        ``FILE.py`` or ``FILE.py:NAME``; NAME is a Subject or a function that makes one.
    seconds
        How long the file may run.

    Raises
    ------
    ExaminationError
        If the file cannot be run, never ends, or has no subject.
    OSError
        If it cannot be read.
    """
    path, name = _path_and_name(place)
    with path.open("rb"):  # whatever is wrong with it is said by its own error
        pass
    module = _run(path, seconds)
    if not hasattr(module, name):
        raise ExaminationError(
            f"{path} has no `{name}`: write `{name} = Subject(network, ...)` in it, or a function "
            f"`{name}` that returns one; or name another, as in `{path}:NAME`."
        )
    found = getattr(module, name)
    return f"{path}:{name}", lambda: _made(found, path, name, seconds)


def _path_and_name(place: str) -> tuple[Path, str]:
    file, colon, name = place.rpartition(":")
    # A colon may be part of a path, as in C:\model.py.
    return (Path(file), name) if colon and name.isidentifier() else (Path(place), NAME)


def _run(path: Path, seconds: float) -> ModuleType:
    """Import a file; its own folder is searched for what it imports."""
    spec = importlib.util.spec_from_file_location("examined", path)
    if spec is None or spec.loader is None:
        raise ExaminationError(f"{path} is not a Python file: its name has to end with .py.")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    sys.path.insert(0, str(path.resolve().parent))
    try:
        return _guarded(lambda: spec.loader.exec_module(module), f"{path}", seconds) or module
    finally:
        sys.path.pop(0)


def _made(found: Any, path: Path, name: str, seconds: float) -> Subject:
    if isinstance(found, Subject):
        return found
    if not callable(found) or isinstance(found, nn.Module):
        raise ExaminationError(
            f"`{name}` in {path} must be a Subject or a function that returns one; got "
            f"{type(found).__name__}."
        )
    return _guarded(found, f"`{name}` in {path}", seconds)


def _guarded(run: Callable[[], Any], what: str, seconds: float) -> Any:
    """Run somebody's code; whatever it does becomes one sentence."""
    try:
        with no_exit(), time_limit(seconds):
            return run()
    except KeyboardInterrupt:
        raise
    except TimeLimitReached:
        raise ExaminationError(
            f"{what} does not end within {seconds:g} seconds: does it train when it is imported, "
            "or does a loop never stop? Put that below `if __name__ == '__main__':`."
        ) from None
    except SystemExit as error:
        raise ExaminationError(
            f"{what} ends Python (exit status {error.code}); take that out."
        ) from None
    except BaseException as error:
        raise ExaminationError(f"{what} does not run: {in_a_line(error)}") from error
