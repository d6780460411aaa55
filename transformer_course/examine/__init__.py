"""What is wrong with a Transformer that anybody wrote: experiments, known faults, a card."""

from collections.abc import Callable

from torch import nn

from transformer_course.examine import adapters
from transformer_course.examine.bench import ExaminationError
from transformer_course.examine.diagnosis import diagnose
from transformer_course.examine.examination import SECONDS, observe
from transformer_course.examine.report import Examination
from transformer_course.examine.subject import Subject

__all__ = [
    "Examination",
    "ExaminationError",
    "Subject",
    "adapters",
    "assert_healthy",
    "examine",
]


def examine(
    subject: Subject | Callable[[], Subject],
    seconds: float = SECONDS,
    tick: Callable[[float], None] = lambda share: None,
    name: str = "",
) -> Examination:
    """Find out what is wrong with a model.

    Weights, buffers, gradients and random numbers are put back as they were. What cannot be
    reached, such as the moments in an optimiser of the subject's ``training_step``, is not: hand
    over a function that makes the subject where you want to go on training it.

    Parameters
    ----------
    subject
        The model and what belongs to it, or a function that makes it.
    seconds
        How long it may take, about; what there is no time for is listed.
    tick
        Called with the share that is done, from 0 to 1.
    name
        What it is called in the report; the network's class if not given.

    Raises
    ------
    ExaminationError
        If the model cannot be called.
    """
    is_function = callable(subject) and not isinstance(subject, nn.Module)
    made = subject() if is_function else subject
    if not isinstance(made, Subject):
        raise ExaminationError(
            f"a Subject is wanted, or a function that returns one; got {type(made).__name__}."
        )
    observed = observe(made, seconds, tick)
    return Examination(name or type(made.network).__name__, observed, diagnose(observed.words))


def assert_healthy(subject: Subject | Callable[[], Subject], seconds: float = SECONDS) -> None:
    """Raise an AssertionError that says what is wrong with a model, or was not examined in time."""
    found = examine(subject, seconds)
    if not found.healthy:
        raise AssertionError(str(found))
