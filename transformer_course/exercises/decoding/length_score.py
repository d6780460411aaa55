"""The score of a finished hypothesis: the mean per token, or GNMT's."""

from transformer_course.checker.cases import Case, Property
from transformer_course.checker.exercise import exercise
from transformer_course.exercises import own


@exercise(
    reference=own.length_score,
    cases=[
        Case((-1.2, 2)),
        Case((-1.5, 5)),
        Case((-1.2, 2, 0.6)),
        Case((-1.5, 5, 0.6)),
        Case((-1.5, 5, 1.0)),
        Case((-7.0, 19, 2.0)),
        Case((-1.5, 5, 0.0)),
        Case((-0.3, 1, 0.6)),
    ],
    properties=[
        Property("the score is negative", lambda value, case: value < 0),
        Property(
            "no score is below the log-probability",
            lambda value, case: value >= case.inputs[0] - 1e-9,
        ),
    ],
    hints=[
        "A log-probability is negative and falls with each token. Both scores divide by something "
        "that grows with the length.",
        "For `alpha=None` that is the length itself. GNMT's penalty is 1 for one token: "
        "`(5 + 1) / 6`. Which exponent weakens or strengthens it?",
        "`log_probability / ((5 + length) / 6) ** alpha`; ask `if alpha is None` first, because "
        "`alpha=0` is a number like any other.",
    ],
)
def length_score(log_probability: float, length: int, alpha: float | None = None) -> float:
    """Return the mean log-probability per token, or with alpha GNMT's score."""
    penalty = length if alpha is None else ((5 + length) / 6) ** alpha
    return log_probability / penalty
