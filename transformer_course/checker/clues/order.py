"""Parameters in another order than the one that is wanted."""

import inspect

from transformer_course.checker.diagnosis import Evidence
from transformer_course.checker.observation import Observation


def other_order(observed: Observation, evidence: Evidence) -> str | None:
    """Say so if the parameters have the names that are wanted, in another order."""
    wanted, received = observed.task.answer, observed.candidate
    if observed.task.wants_module:
        wanted, received = wanted.forward, received.forward
    try:
        theirs = list(inspect.signature(received).parameters)
    except (TypeError, ValueError):  # written in C
        return None
    names = list(inspect.signature(wanted).parameters)
    if names == theirs or sorted(names) != sorted(theirs):
        return None
    return f"Your parameters are in another order; it should be `({', '.join(names)})`."
