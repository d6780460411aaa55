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


length_score.mistake(
    "the penalty multiplies",
    edits=[("/ penalty", "* penalty")],
    observed="Long hypotheses get lower scores still: a log-probability is negative, and you make "
    "it more so.",
    change="Divide the log-probability by the penalty.",
)
length_score.mistake(
    "GNMT's penalty multiplies",
    edits=[("else (", "else 1 / (")],
    observed="The mean is right. With `alpha` long hypotheses get lower scores still, as if its "
    "sign were reversed.",
    change="Divide the log-probability by `((5 + length) / 6) ** alpha`.",
)
length_score.mistake(
    "the penalty is subtracted",
    edits=[("/ penalty", "- penalty")],
    observed="A penalty of 1 should change nothing; yours lowers the score by 1.",
    change="Divide the log-probability by `((5 + length) / 6) ** alpha`.",
)
length_score.mistake(
    "GNMT's penalty is the plain length to the power of `alpha`",
    edits=[("((5 + length) / 6) ** alpha", "length ** alpha")],
    observed="With `alpha=1` your score is the mean. GNMT's penalty grows more slowly.",
    change="Use `((5 + length) / 6) ** alpha`.",
)
length_score.mistake(
    "the 6 is outside the power",
    edits=[("((5 + length) / 6) ** alpha", "((5 + length) ** alpha / 6)")],
    observed="With `alpha=0` the score should be the log-probability; yours is six times as much.",
    change="Both numbers belong under the exponent: `((5 + length) / 6) ** alpha`.",
)
length_score.mistake(
    "there is no division by 6",
    edits=[("(5 + length) / 6", "(5 + length)")],
    observed="The penalty of a single token should be 1, so that its score is its log-probability.",
    change="Use `((5 + length) / 6) ** alpha`.",
)
length_score.mistake(
    "brackets are missing: only the length is divided by 6",
    edits=[("((5 + length) / 6)", "(5 + length / 6)")],
    observed="Python divides before it adds: a single token has the penalty 5.17 instead of 1.",
    change="Write `((5 + length) / 6) ** alpha`.",
)
length_score.mistake(
    "brackets are missing: only the 6 has the exponent",
    edits=[("((5 + length) / 6) ** alpha", "((5 + length) / 6 ** alpha)")],
    observed="With `alpha=1` all is right, with any other number it is not: `**` comes before `/`.",
    change="Write `((5 + length) / 6) ** alpha`, with brackets around the whole fraction.",
)
length_score.mistake(
    "brackets are missing: the power of 6 divides once more",
    edits=[("((5 + length) / 6)", "((5 + length) * 6)")],
    observed="With `alpha=0` all is right, otherwise not: `score / a / b` divides by `a` and by "
    "`b`. The 6 is there to make the penalty smaller.",
    change="Write `((5 + length) / 6) ** alpha`, with brackets around the whole fraction.",
)
length_score.mistake(
    "`alpha` is a factor, not an exponent",
    edits=[("((5 + length) / 6) ** alpha", "((5 + length) / 6 * alpha)")],
    observed="With `alpha=0` you divide by 0; the penalty should be 1.",
    change="Use `((5 + length) / 6) ** alpha`.",
)
length_score.mistake(
    "`alpha` is a factor, and 0 changes nothing",
    edits=[("((5 + length) / 6) ** alpha", "((5 + length) / 6 * alpha or 1)")],
    observed="With `alpha=0.6` the penalty is 0.6 times that of `alpha=1`; it should be a power "
    "of it.",
    change="Use `((5 + length) / 6) ** alpha`, which is 1 for `alpha=0` by itself.",
)
length_score.mistake(
    "the condition is the wrong way round",
    edits=[("if alpha is None", "if alpha is not None")],
    observed="With a number for `alpha` the mean comes out, and None is used as an exponent.",
    change="Ask `if alpha is None` for the mean, and take GNMT's penalty otherwise.",
)
length_score.mistake(
    "`alpha` is not used",
    edits=[("((5 + length) / 6) ** alpha", "((5 + length) / 6)")],
    observed="All values of `alpha` give the score of `alpha=1`.",
    change="Raise the penalty to the power of `alpha`.",
)
length_score.mistake(
    "it is always the mean",
    edits=[("alpha is None", "True")],
    observed="`alpha` changes nothing.",
    change="With a number for `alpha`, divide by `((5 + length) / 6) ** alpha` instead.",
)
length_score.mistake(
    "`alpha=0` is taken for None",
    edits=[("alpha is None", "not alpha")],
    observed="With `alpha=0` the mean comes out; GNMT's score leaves the log-probability as it is.",
    change="Ask `if alpha is None`: in Python the number 0 counts as False too.",
)
length_score.mistake(
    "without `alpha` nothing is divided",
    edits=[("length if", "1 if")],
    observed="`alpha=None` returns the log-probability; the mean per token is asked for.",
    change="Divide by the length.",
)
length_score.mistake(
    "the length is one too large",
    edits=[("    penalty = ", "    length = length + 1\n    penalty = ")],
    observed="Two tokens are scored as three: `length` counts `EOS` already.",
    change="Use `length` as it is, without `+ 1`.",
)
length_score.mistake(
    "the result is a probability",
    edits=[
        (
            "    return log_probability / penalty",
            "    import math\n\n    return math.exp(log_probability / penalty)",
        )
    ],
    observed="The score is positive: it is the exponential of the one asked for.",
    change="Leave `exp` out; scores are compared as logarithms.",
)

# Rarer ones

length_score.mistake(
    "`alpha` is 0.6 where nothing is said",
    edits=[("alpha: float | None = None", "alpha: float | None = 0.6")],
    observed="With two arguments GNMT's score comes out; the mean is asked for.",
    change="Let the default of `alpha` be None.",
)
length_score.mistake(
    "the penalty is rounded down",
    edits=[("(5 + length) / 6", "(5 + length) // 6")],
    observed="Lengths of 2 to 6 tokens get the penalty 1: `//` drops what comes after the decimal "
    "point.",
    change="Divide with `/`.",
)
length_score.mistake(
    "the mean is divided by the penalty as well",
    edits=[("else (", "else length * (")],
    observed="With `alpha` your score is too high by the factor 1 / length: two divisions where "
    "one is wanted.",
    change="Divide the log-probability itself by the penalty.",
)
length_score.mistake(
    "the sign is reversed",
    edits=[("return log", "return -log")],
    observed="The score is positive, so that the best hypothesis gets the lowest one.",
    change="Leave out the minus sign: a log-probability is negative, and so is its score.",
)
length_score.mistake(
    "the length is one too small",
    edits=[("    penalty = ", "    length = length - 1\n    penalty = ")],
    observed="Three tokens are scored as two: `length` counts `EOS`, and that is right.",
    change="Use `length` as it is.",
)
length_score.mistake(
    "the 5 is left out",
    edits=[("(5 + length) / 6", "length / 6")],
    observed="A single token has the penalty 1/6 at `alpha=1`; it should be 1.",
    change="Use `((5 + length) / 6) ** alpha`.",
)
length_score.mistake(
    "6 is added instead of 5",
    edits=[("(5 + length)", "(6 + length)")],
    observed="A single token has the penalty 7/6 at `alpha=1`; it should be 1.",
    change="Use `((5 + length) / 6) ** alpha`.",
)
length_score.mistake(
    "5 and 6 have changed places",
    edits=[("(5 + length) / 6", "(6 + length) / 5")],
    observed="A single token has the penalty 7/5 at `alpha=1`; it should be 1.",
    change="Use `((5 + length) / 6) ** alpha`.",
)
length_score.mistake(
    "brackets are missing: 1 is added after the division",
    edits=[("(5 + length) / 6", "(5 + length) / 5 + 1")],
    observed="A single token has the penalty 2.2 at `alpha=1`; it should be 1. In "
    "`(5 + length) / 5 + 1` Python divides before it adds.",
    change="Write `(5 + 1)` in brackets, or 6.",
)
length_score.mistake(
    "the exponent applies to the whole quotient",
    edits=[
        ("((5 + length) / 6) ** alpha", "((5 + length) / 6)"),
        (
            "log_probability / penalty",
            "(log_probability / penalty) ** (1 if alpha is None else alpha)",
        ),
    ],
    observed="With `alpha=0` your score is 1, and with 0.6 it is a complex number: a negative "
    "number is raised to a fractional power.",
    change="Raise only the penalty to the power: `log_probability / ((5 + length) / 6) ** alpha`.",
)
length_score.mistake(
    "without `alpha` it is GNMT's score for 1",
    edits=[("length if", "(5 + length) / 6 if")],
    observed="`alpha=None` and `alpha=1` give the same; the mean per token is asked for.",
    change="Divide by the length where `alpha` is None.",
)
length_score.mistake(
    "the logarithm of the penalty is subtracted",
    edits=[
        (
            "    return log_probability / penalty",
            "    import math\n\n    return log_probability - math.log(penalty)",
        )
    ],
    observed="That divides the probability; the formula divides its logarithm. Long hypotheses get "
    "lower scores still.",
    change="Divide the log-probability by the penalty.",
)
length_score.mistake(
    "`eos` is taken off the length, as long as something is left",
    edits=[("    penalty = ", "    length = max(length - 1, 1)\n    penalty = ")],
    observed="Three tokens are scored as two: `length` counts `EOS`, and that is right.",
    change="Use `length` as it is.",
)
length_score.mistake(
    "GNMT's penalty is subtracted",
    edits=[
        (
            "return log_probability / penalty",
            "return log_probability / penalty if alpha is None else log_probability - penalty",
        )
    ],
    observed="The mean is right. A penalty of 1 should change nothing; yours takes 1 off.",
    change="Divide the log-probability by the penalty.",
)
length_score.mistake(
    "with a number for `alpha` it is the mean, and without one GNMT's score for 0.6",
    edits=[
        ("if alpha is None", "if alpha is not None"),
        ("** alpha", "** 0.6"),
    ],
    observed="The two cases have changed places: `alpha=None` gives GNMT's score.",
    change="Ask `if alpha is None` for the mean, and take GNMT's penalty otherwise.",
)
