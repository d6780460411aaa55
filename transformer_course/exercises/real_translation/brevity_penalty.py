"""The factor that candidates shorter than their references pay."""

import math
from collections.abc import Callable

from transformer_course import translation
from transformer_course.checker.cases import Case, Property
from transformer_course.checker.exercise import exercise


def _in_equal_words(code: Callable, candidate_length: int, reference_length: int) -> float:
    """Compute the penalty; Python has other words for `1.0 / 0` than for `1 / 0`."""
    try:
        return code(candidate_length, reference_length)
    except ZeroDivisionError as error:
        error.args = ("division by zero",)
        raise


@exercise(
    reference=translation.brevity_penalty,
    cases=[
        Case((4, 6)),
        Case((6, 6)),
        Case((9, 6)),
        Case((1, 5)),
        Case((18, 20)),
        Case((0, 5), observe=_in_equal_words),
    ],
    properties=[
        Property("the penalty is between 0 and 1", lambda value, case: 0 <= value <= 1),
        Property(
            "a candidate at least as long as the reference pays nothing",
            lambda value, case: case.inputs[0] < case.inputs[1] or value == 1,
        ),
        Property(
            "a shorter one pays",
            lambda value, case: case.inputs[0] >= case.inputs[1] or value < 1,
        ),
    ],
    hints=[
        "There are two cases. Which of them pays nothing? And what must come out where both "
        "lengths are equal, so that there is no jump between them?",
        "A short candidate gets `math.exp(1 - ratio)`, where the ratio is 1 for equal lengths and "
        "grows as the candidate gets shorter.",
        "The ratio is `reference_length / candidate_length`. For an empty candidate it would be "
        "infinite, and the exponential 0: return 0 before you divide.",
    ],
)
def brevity_penalty(candidate_length: int, reference_length: int) -> float:
    """Return 1 for a candidate that is long enough, and less for a shorter one."""
    if candidate_length >= reference_length:
        return 1.0
    if candidate_length == 0:
        return 0.0
    return math.exp(1 - reference_length / candidate_length)
