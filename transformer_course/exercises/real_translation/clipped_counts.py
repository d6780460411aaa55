"""The matches of n-grams, each counted at most as often as the reference has it."""

from collections import Counter

from transformer_course import translation
from transformer_course.checker.cases import Case, Property
from transformer_course.checker.exercise import exercise


def _words(text: str) -> list[str]:
    return text.split()


_REFERENCE = _words("the cat is on the mat")


@exercise(
    reference=translation.clipped_counts,
    cases=[
        Case((["the"] * 7, _REFERENCE, 1)),
        Case((_words("the cat sat on the mat"), _REFERENCE, 1)),
        Case((_words("the cat sat on the mat"), _REFERENCE, 2)),
        Case((_words("the cat is on the sofa now"), _REFERENCE, 3)),
        Case((_words("a dog a dog a dog barks"), _words("we hear a dog and a dog"), 2)),
        Case((_words("mat the on is cat the"), _REFERENCE, 2)),
        Case((_words("The Cat on the sofa"), _REFERENCE, 1)),
        Case((_words("we are now here"), _words("we are no where but we are"), 2)),
        Case((_words("on the mat on the mat on the mat on the mat"), _REFERENCE, 2)),
        Case((["cat", "is"], _REFERENCE, 2)),
        Case((["the", "cat"], _REFERENCE, 4)),
    ],
    properties=[
        Property("no count is negative", lambda value, case: min(value) >= 0),
        Property("no more n-grams match than there are", lambda value, case: value[0] <= value[1]),
        Property(
            "no more n-grams match than the reference has",
            lambda value, case: value[0] <= max(0, len(case.inputs[1]) - case.inputs[2] + 1),
        ),
    ],
    hints=[
        "List the bigrams of `the cat sat on the mat` on paper. How many are there? At which "
        "places can an n-gram of n words begin?",
        "Count the n-grams of both sentences, each in a `Counter` of tuples. A tuple of the words "
        "from one place on is `tuple(words[start : start + n])`. For each n-gram of the candidate, "
        "which of its two counts is the one that counts?",
        "`sum(min(count, theirs[ngram]) for ngram, count in mine.items())` for the matches; a "
        "`Counter` gives 0 for what it does not have. The total is `sum(mine.values())`.",
    ],
)
def clipped_counts(candidate: list[str], reference: list[str], n: int) -> tuple[int, int]:
    """Return how many n-grams of the candidate match, clipped, and how many it has."""

    def ngrams(words: list[str], n: int) -> Counter:
        return Counter(tuple(words[start : start + n]) for start in range(len(words) - n + 1))

    mine, theirs = ngrams(candidate, n), ngrams(reference, n)
    matches = sum(min(count, theirs[ngram]) for ngram, count in mine.items())
    total = sum(mine.values())
    return matches, total


# What mistakes in clipped_counts.toml are made with.


def _lists(candidate: list[str], reference: list[str], n: int) -> tuple[int, int]:
    mine, theirs = (
        Counter(words[start : start + n] for start in range(len(words) - n + 1))
        for words in (candidate, reference)
    )
    return (mine & theirs).total(), mine.total()
