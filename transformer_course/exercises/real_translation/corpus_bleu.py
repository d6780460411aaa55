"""BLEU of a whole corpus, from the counts of its sentences."""

import math

from transformer_course import translation
from transformer_course.checker.cases import Case, Property
from transformer_course.checker.exercise import exercise
from transformer_course.exercises import own
from transformer_course.exercises.real_translation.clipped_counts import clipped_counts


def _sentences(*texts: str) -> list[list[str]]:
    return [text.split() for text in texts]


# A perfect long sentence beside a bad short one.
_UNEQUAL = (
    _sentences("two men in red shirts play the guitar", "a dog runs on a beach today"),
    _sentences("two men in red shirts play the guitar", "some dogs run along the sea"),
)
_GOOD = (
    _sentences("A man sees a small cat on the mat", "A dog a dog runs in the snow ."),
    _sentences("a man sees a small cat on a mat", "a dog runs in the deep snow ."),
)


@exercise(
    reference=translation.bleu_from_scratch,
    parts={"own.clipped_counts": clipped_counts},
    cases=[
        Case((_sentences("a man sees a cat"), _sentences("a man sees a cat"))),
        Case((_sentences("a man sees a"), _sentences("a man sees a small cat"))),
        Case(_GOOD),
        Case(_UNEQUAL),
        Case((*_GOOD, 2)),
        Case((*_GOOD, 1)),
        Case(
            (
                _sentences("yes we can see it now and then", "a cat", "no"),
                _sentences("yes we can see it", "the small cat", "no"),
            )
        ),
        Case((_sentences("the cat sat on a mat"), _sentences("a mat on the cat"))),
        Case((_sentences("a cat", "no"), _sentences("a cat", "no"))),
        Case(
            (
                _sentences("a cat sleeps", "the dog runs"),
                _sentences("a dog sleeps", "the cat runs"),
                1,
            )
        ),
        # Too short as a whole, but the last sentence is not.
        Case(
            (
                _sentences("a cat sleeps here", "the dog runs"),
                _sentences("a small cat sleeps here now", "the dog runs"),
                1,
            )
        ),
    ],
    properties=[
        Property("BLEU is between 0 and 1", lambda value, case: 0 <= value <= 1 + 1e-9),
    ],
    hints=[
        "Four steps: counts of all sentences for each n, one precision for each n, their geometric "
        "mean, the brevity penalty. Which of these happen once per sentence?",
        "For each n add up the matches of all sentences, and the totals, then divide once. The "
        "geometric mean of k numbers is the exponential of the mean of their logarithms. What is "
        "it if one of them is 0?",
        "`counts = [own.clipped_counts(candidate, reference, n) for ...]` for each n from "
        "1 to `max_n`, its own included; return 0 if there are no matches. In the end "
        "`own.brevity_penalty(...)` of the summed lengths times "
        "`math.exp(sum(logarithms) / max_n)`.",
    ],
)
def corpus_bleu(candidates: list[list[str]], references: list[list[str]], max_n: int = 4) -> float:
    """Return the BLEU of a whole corpus, between 0 and 1."""
    logarithms = []
    for n in range(1, max_n + 1):
        pairs = zip(candidates, references, strict=True)
        counts = [own.clipped_counts(*pair, n) for pair in pairs]
        matches, total = (sum(column) for column in zip(*counts, strict=True))
        if matches == 0:
            return 0.0
        logarithms.append(math.log(matches / total))
    lengths = sum(map(len, candidates)), sum(map(len, references))
    return own.brevity_penalty(*lengths) * math.exp(sum(logarithms) / max_n)
