"""What a learner hands in, before anything is run."""

import inspect
import linecache
from collections.abc import Callable
from types import ModuleType
from typing import Any

from torch import nn

from transformer_course.checker.comparison import describe
from transformer_course.checker.task import Task

NOTHING = object()  # tells check() from check(None)


def complaint(task: Task, candidate: Any) -> str | None:
    """Say in a sentence why something cannot be checked, or return None."""
    if candidate is NOTHING:
        return f"There is nothing to check: give your {task.kind}, {_how(task)}."
    return (_class_complaint if task.wants_module else _function_complaint)(task, candidate)


def source_of(candidate: Callable) -> str:
    """Return the text of the cell that defines a function or class; empty if there is none."""
    functions = vars(candidate).values() if isinstance(candidate, type) else [candidate]
    codes = (getattr(inspect.unwrap(f), "__code__", None) for f in functions if callable(f))
    file = next((code.co_filename for code in codes if code), "")
    return "".join(linecache.getlines(file)) if file else ""


def _class_complaint(task: Task, candidate: Any) -> str | None:
    if isinstance(candidate, nn.Module):
        return f"You gave an object made from your class; give the class itself, {_how(task)}."
    if not isinstance(candidate, type):
        return f"A class is wanted and you gave {_given(candidate)}; write {_how(task)}."
    if not issubclass(candidate, nn.Module):
        return f"Your class must be a module: `class {candidate.__name__}(nn.Module):`."
    return _other_parameters("`__init__`", task.answer, candidate) or _other_parameters(
        "`forward`", task.answer.forward, candidate.forward
    )


def _function_complaint(task: Task, candidate: Any) -> str | None:
    if not callable(candidate) or isinstance(candidate, type):
        return f"A function is wanted and you gave {_given(candidate)}; write {_how(task)}."
    return _other_parameters("Your function", task.answer, candidate)


def _how(task: Task) -> str:
    return f"`exercise.{task.name}.check({task.name})`"


def _given(value: Any) -> str:
    if isinstance(value, type):
        return f"the class `{value.__name__}`"
    if isinstance(value, str):
        return "a text, in quotes"
    if isinstance(value, ModuleType):
        return "a module"
    if isinstance(getattr(value, "task", None), Task):
        return "the exercise itself"
    if callable(value):
        return "a function"
    return "None" if value is None else f"the result of a call, {describe(value)}"


def _other_parameters(subject: str, wanted: Callable, received: Callable) -> str | None:
    """Say so if ``received`` cannot be called with as many arguments as ``wanted``."""
    parameters = inspect.signature(wanted).parameters
    try:
        theirs = inspect.signature(received)
    except (TypeError, ValueError):  # written in C: the call will tell
        return None
    try:
        theirs.bind(*parameters)
    except TypeError:
        wanted_names, their_names = ", ".join(parameters), ", ".join(theirs.parameters)
        return f"{subject} must accept `({wanted_names})`; yours accepts `({their_names})`."
    return None


def _stub() -> None: ...


def _documented_stub() -> None:
    """Say something."""


def is_stub(function: Callable) -> bool:
    """Whether a function's body holds nothing but a docstring and ``...`` or ``pass``."""
    code = getattr(function, "__code__", None)
    stubs = (_stub.__code__.co_code, _documented_stub.__code__.co_code)
    # A function that returns a constant differs from a stub only in that constant.
    return (
        code is not None and code.co_code in stubs and {*code.co_consts} <= {None, function.__doc__}
    )
