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


brevity_penalty.mistake(
    "nobody pays",
    edits=[
        ("return 0.0", "return 1.0"),
        ("math.exp(1 - reference_length / candidate_length)", "1.0"),
    ],
    observed="4 words of 6 get 1 instead of 0.61: a candidate that says only what it is sure of "
    "would win.",
    change="Return `math.exp(1 - reference_length / candidate_length)` for a short candidate.",
)
brevity_penalty.mistake(
    "candidate and reference are swapped: long candidates pay",
    edits=[
        (">=", "<="),
        ("reference_length / candidate_length", "candidate_length / reference_length"),
    ],
    observed="9 words for 6 get less than 1, and 4 words for 6 get 1. Too many words already lower "
    "the precisions.",
    change="The candidate's length is the first argument. Penalise where "
    "`candidate_length < reference_length`, with the ratio `reference_length / candidate_length`.",
)
brevity_penalty.mistake(
    "long candidates pay, short ones do not",
    edits=[
        ("candidate_length >= reference_length", "0 < candidate_length <= reference_length"),
        ("reference_length / candidate_length", "candidate_length / reference_length"),
    ],
    observed="9 words for 6 get 0.61, and 4 words for 6 get 1. Too many words already lower the "
    "precisions.",
    change="Return 1 where `candidate_length >= reference_length`; a shorter one gets "
    "`math.exp(1 - reference_length / candidate_length)`.",
)
brevity_penalty.mistake(
    "long candidates are rewarded, short ones pay nothing",
    edits=[("candidate_length >= reference_length", "0 < candidate_length <= reference_length")],
    observed="9 words for 6 get 1.4, and 4 words for 6 get 1.",
    change="Return 1 where `candidate_length >= reference_length`, and the exponential below.",
)
brevity_penalty.mistake(
    "long candidates pay too",
    edits=[
        ("    if candidate_length >= reference_length:\n        return 1.0\n", ""),
        (
            "reference_length / candidate_length",
            "max(reference_length / candidate_length, candidate_length / reference_length)",
        ),
    ],
    observed="9 words for 6 get less than 1. Too many words already lower the precisions.",
    change="Return 1 where the candidate is at least as long as the reference.",
)
brevity_penalty.mistake(
    "the condition is turned round",
    edits=[(">=", "<=")],
    observed="9 words for 6 get 1.4 and 4 words for 6 get 1: long candidates are rewarded.",
    change="Return 1 if `candidate_length >= reference_length`.",
)
brevity_penalty.mistake(
    "there is no upper bound",
    edits=[("    if candidate_length >= reference_length:\n        return 1.0\n", "")],
    observed="9 words for 6 get 1.4: a long candidate is rewarded.",
    change="Return 1 where the candidate is at least as long as the reference.",
)
brevity_penalty.mistake(
    "the ratio is upside down",
    edits=[("reference_length / candidate_length", "candidate_length / reference_length")],
    observed="4 words of 6 get 1.4, which is a reward.",
    change="Divide the reference's length by the candidate's.",
)
brevity_penalty.mistake(
    "the ratio stands on its head, and nobody asks which side is longer",
    edits=[
        (
            "    if candidate_length >= reference_length:\n"
            "        return 1.0\n"
            "    if candidate_length == 0:\n"
            "        return 0.0\n",
            "",
        ),
        ("reference_length / candidate_length", "candidate_length / reference_length"),
    ],
    observed="4 words of 6 get 1.4, which is a reward, and 9 words for 6 pay.",
    change="Divide the reference's length by the candidate's, and return 1 where the candidate is "
    "at least as long.",
)
brevity_penalty.mistake(
    "the 1 is missing in the exponent",
    edits=[("1 - reference_length", "-reference_length")],
    observed="A candidate that is only just too short gets 0.37 at once; it should get almost 1.",
    change="Use `math.exp(1 - ratio)`, which is 1 where the lengths are equal.",
)
brevity_penalty.mistake(
    "the sign of the exponent is wrong",
    edits=[("1 - reference_length", "-1 + reference_length")],
    observed="The shorter the candidate, the larger the factor: 1 word of 5 gets 55.",
    change="Use `math.exp(1 - ratio)`: the ratio of a short candidate is above 1.",
)
brevity_penalty.mistake(
    "it is the plain ratio of the lengths",
    edits=[("math.exp(1 - reference_length", "1 / (reference_length")],
    observed="4 words of 6 get 0.67 instead of 0.61, and 1 word of 5 gets 0.2 instead of 0.02.",
    change="Use `math.exp(1 - reference_length / candidate_length)`.",
)
brevity_penalty.mistake(
    "the exponential is missing",
    edits=[("math.exp(", "(")],
    observed="The factor becomes negative: 1 word of 5 gets -4.",
    change="Use `math.exp(1 - ratio)`.",
)
brevity_penalty.mistake(
    "the power is taken of 2 instead of e",
    edits=[("math.exp(", "2 ** (")],
    observed="4 words of 6 get 0.71 instead of 0.61.",
    change="Use `math.exp`.",
)
brevity_penalty.mistake(
    "brackets divide all of the exponent",
    edits=[
        ("math.exp", "math.exp("),
        ("reference_length / candidate_length", "reference_length) / candidate_length"),
    ],
    observed="You compute `exp((1 - reference_length) / candidate_length)`: 4 words of 6 get 0.29 "
    "instead of 0.61.",
    change="Write `math.exp(1 - reference_length / candidate_length)`.",
)
brevity_penalty.mistake(
    "the ratio is rounded down",
    edits=[("reference_length / candidate_length", "reference_length // candidate_length")],
    observed="4 words of 6 get 1: `6 // 4` is 1 in Python.",
    change="Divide with `/`.",
)
brevity_penalty.mistake(
    "the number of missing words counts, not their share",
    edits=[("reference_length / candidate_length", "(1 + reference_length - candidate_length)")],
    observed="2 words are missing in 4 of 6 and in 18 of 20; you punish both alike.",
    change="Use the ratio of the lengths, not their difference.",
)
brevity_penalty.mistake(
    "an empty candidate pays nothing",
    edits=[("return 0.0", "return 1.0")],
    observed="0 words of 5 get 1, where 1 word of 5 gets 0.02.",
    change="Return 0 for an empty candidate.",
)
brevity_penalty.mistake(
    "the missing words are divided by the reference's length",
    edits=[("1 - reference_length / candidate_length", "candidate_length / reference_length - 1")],
    observed="4 words of 6 get 0.72 instead of 0.61: the exponent is "
    "`candidate_length / reference_length - 1`.",
    change="The exponent is `1 - reference_length / candidate_length`.",
)
brevity_penalty.mistake(
    "the logarithm of the penalty is returned",
    edits=[("return 1.0", "return 0.0"), ("math.exp(", "(")],
    observed="A candidate that is long enough gets 0, a shorter one a negative number.",
    change="Take `math.exp` of it: the penalty is a factor between 0 and 1.",
)
brevity_penalty.mistake(
    "an empty candidate counts as one word",
    edits=[
        (
            "    if candidate_length == 0:\n        return 0.0\n",
            "    candidate_length = max(candidate_length, 1)\n",
        )
    ],
    observed="0 words of 5 get 0.02, which is what 1 word of 5 gets.",
    change="Return 0 for an empty candidate.",
)
brevity_penalty.mistake(
    "an empty candidate divides by 0",
    edits=[("    if candidate_length == 0:\n        return 0.0\n", "")],
    observed="0 words of 5 stop with a ZeroDivisionError. It can happen: a bad model may end at "
    "once.",
    change="Return 0 for an empty candidate, before you divide.",
)
brevity_penalty.mistake(
    "a candidate with enough words gets 0",
    edits=[("return 1.0", "return 0.0")],
    observed="A candidate as long as the reference, or longer, gets 0, and so would its BLEU.",
    change="Return 1 where there is nothing to pay: the penalty is a factor.",
)
brevity_penalty.mistake(
    "it is a power of 10",
    edits=[("math.exp(", "10 ** (")],
    observed="A candidate of half the length keeps a tenth; it should keep exp(-1), which is .37.",
    change="Take powers of e: `math.exp`.",
)
brevity_penalty.mistake(
    "an empty candidate gets nothing back",
    edits=[("return 0.0", "return None")],
    observed="For 0 words of 5 no branch returns anything, so the result is None.",
    change="Return 0 for an empty candidate.",
)
brevity_penalty.mistake(
    "words too many pay like words too few",
    edits=[
        ("    if candidate_length >= reference_length:\n        return 1.0\n", ""),
        (
            "1 - reference_length / candidate_length",
            "-abs(reference_length - candidate_length) / candidate_length",
        ),
    ],
    observed="9 words for 6 get 0.72. Too many words already lower the precisions.",
    change="Return 1 where the candidate is at least as long as the reference.",
)
brevity_penalty.mistake(
    "it is the root of the ratio of the lengths",
    edits=[
        (
            "math.exp(1 - reference_length / candidate_length)",
            "math.sqrt(candidate_length / reference_length)",
        )
    ],
    observed="4 words of 6 get 0.82 instead of 0.61.",
    change="Use `math.exp(1 - reference_length / candidate_length)`.",
)
