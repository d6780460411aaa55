"""What is known about an exercise before anybody tries it."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from transformer_course.checker.cases import Case, Property


@dataclass(frozen=True)
class Task:
    """Everything that is known about an exercise, except its mistakes.

    Attributes
    ----------
    answer
        The model answer, a function or an ``nn.Module`` class; its name is the exercise's name.
    reference
        The course's own implementation, which says what is right.
    cases
        Where the two are compared; the first one observes the plain result of a call.
    hints
        From mild to strong.
    properties
        What holds for every right result.
    """

    answer: Callable
    reference: Callable
    cases: tuple[Case, ...]
    hints: tuple[str, ...]
    properties: tuple[Property, ...]

    @property
    def name(self) -> str:
        """The name of the function or class to write."""
        return self.answer.__name__

    @property
    def lesson(self) -> str:
        """The name of the lesson, which is the name of the folder that the answer lies in."""
        return self.answer.__module__.split(".")[-2]

    @property
    def wants_module(self) -> bool:
        """Whether a class is to be written."""
        return isinstance(self.answer, type)

    def input_names(self, case: Case) -> list[str]:
        """Return the names of the arguments that a case observes a call with."""
        observed = list(inspect.signature(case.observe).parameters.values())[1:]
        if not any(parameter.kind is parameter.VAR_POSITIONAL for parameter in observed):
            return [parameter.name for parameter in observed]
        called = self.answer.forward if self.wants_module else self.answer
        return [name for name in inspect.signature(called).parameters if name != "self"]

    def arguments(self, case: Case) -> dict[str, Any]:
        """Return the arguments of a case by name, those of the constructor first."""
        given: dict[str, Any] = {}
        if case.construct is not None:
            names = list(inspect.signature(self.answer).parameters)
            given |= dict(zip(names, case.construct, strict=False))
        return given | dict(zip(self.input_names(case), case.inputs, strict=False))

    @property
    def kind(self) -> str:
        """What is to be written, in a word."""
        return "class" if self.wants_module else "function"
