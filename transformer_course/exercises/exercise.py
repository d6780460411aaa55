"""An exercise: what is checked, and the three verbs check, hint and solution."""

import ast
import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from types import EllipsisType
from typing import Any

import torch
from torch import Tensor, nn

from transformer_course.exercises import progress, reports
from transformer_course.exercises.comparison import difference, size, technical_difference
from transformer_course.exercises.feedback import Feedback, Sentence, Source, Verdict
from transformer_course.exercises.mistakes import Mistake, diagnose
from transformer_course.exercises.sandbox import Outcome, TimeLimitReached, run


@dataclass(frozen=True)
class Case:
    """One configuration in which the learner's code is called.

    Attributes
    ----------
    inputs
        Arguments of the function, or of the built module.
    construct
        Arguments of a module's constructor; None for a function.
    observe
        ``observe(function_or_module, *inputs)`` returns what is compared: a tensor, a number, or
        a list, tuple or dict of those. By default the result of the call.
    inject
        Whether a module gets the reference's weights; False leaves its own initial ones.
    training
        Whether a module is in training mode.
    """

    inputs: tuple = ()
    construct: tuple | None = None
    observe: Callable[..., Any] = lambda code, *inputs: code(*inputs)
    inject: bool = True
    training: bool = False
    note: str = ""


@dataclass(frozen=True)
class Property:
    """Something that holds for every right result.

    Attributes
    ----------
    statement
        What holds, in a few words.
    holds
        ``holds(value, case)`` tells whether it does for what the case observed.
    """

    statement: str
    holds: Callable[[Any, Case], bool]


@dataclass
class Exercise:
    """An exercise and its feedback; made by decorating a model answer with :func:`exercise`."""

    answer: Callable
    reference: Callable
    cases: Sequence[Case]
    hints: Sequence[str]
    properties: Sequence[Property] = ()
    mistakes: list[Mistake] = field(default_factory=list)
    _hints_given: int = 0
