"""Lesson 9: the exercises on BLEU and on batches with a budget of tokens."""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence

from torch import Tensor

from transformer_course import translation
from transformer_course.exercises.cases import Case, Property
from transformer_course.exercises.comparison import describe
from transformer_course.exercises.exercise import exercise
from transformer_course.translation.ngram_overlap import bleu_from_scratch
from transformer_course.translation.ngram_overlap import brevity_penalty as course_penalty
from transformer_course.translation.ngram_overlap import clipped_counts as course_counts

Words = list[str]
Ngrams = list[tuple[str, ...]]

# --- clipped_counts --------------------------------------------------------------------------


def _words(text: str) -> Words:
    return text.split()


_REFERENCE = _words("the cat is on the mat")


@exercise(
    reference=course_counts,
    cases=[
        Case((["the"] * 7, _REFERENCE, 1)),
        Case((_words("the cat sat on the mat"), _REFERENCE, 1)),
        Case((_words("the cat sat on the mat"), _REFERENCE, 2)),
        Case((_words("the cat is on the sofa now"), _REFERENCE, 3)),
        Case((_words("a dog a dog a dog barks"), _words("we hear a dog and a dog"), 2)),
        Case((_words("mat the on is cat the"), _REFERENCE, 2)),
        Case((_words("The Cat on the sofa"), _REFERENCE, 1)),
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

    def ngrams(words: list[str]) -> Counter:
        return Counter(tuple(words[start : start + n]) for start in range(len(words) - n + 1))

    mine, theirs = ngrams(candidate), ngrams(reference)
    matches = sum(min(count, theirs[ngram]) for ngram, count in mine.items())
    return matches, sum(mine.values())


class _CountSteps:
    """Clipped counts in steps, so that a mistake replaces one."""

    def words(self, words: Words) -> Sequence[str]:
        return words

    def size(self, n: int) -> int:
        return n

    def starts(self, words: Sequence[str], n: int) -> Iterable[int]:
        return range(len(words) - n + 1)

    def ngram(self, words: Sequence[str], start: int, n: int) -> tuple[str, ...]:
        return tuple(words[start : start + n])

    def ngrams(self, words: Words, n: int) -> Ngrams:
        cut = self.words(words)
        return [self.ngram(cut, start, self.size(n)) for start in self.starts(cut, self.size(n))]

    def matches(self, mine: Ngrams, theirs: Ngrams) -> int:
        return (Counter(mine) & Counter(theirs)).total()

    def total(self, candidate: Words, mine: Ngrams, theirs: Ngrams, n: int) -> int:
        return len(mine)

    def result(self, matches: int, total: int) -> tuple[int, int] | float:
        return matches, total

    def __call__(self, candidate: Words, reference: Words, n: int) -> tuple[int, int] | float:
        mine, theirs = self.ngrams(candidate, n), self.ngrams(reference, n)
        return self.result(self.matches(mine, theirs), self.total(candidate, mine, theirs, n))


@clipped_counts.mistake(
    "matches are not clipped",
    observed='Seven times "the" counts as seven matches, though the reference has two.',
    change="Count each n-gram at most as often as it stands in the reference: "
    "`min(count, theirs[ngram])`.",
)
class _NotClipped(_CountSteps):
    def matches(self, mine: Ngrams, theirs: Ngrams) -> int:
        return sum(ngram in theirs for ngram in mine)


@clipped_counts.mistake(
    "each n-gram matches at most once",
    observed='Of seven times "the" one matches; the reference has two. A set forgets how often '
    "something stands in it.",
    change="Count with a `Counter`, and take the smaller of the two counts.",
)
class _MatchesOnce(_CountSteps):
    def matches(self, mine: Ngrams, theirs: Ngrams) -> int:
        return len({*mine} & {*theirs})


@clipped_counts.mistake(
    "both numbers count different n-grams only",
    observed='Seven times "the" has one n-gram for you, not seven: it is counted in a set.',
    change="Use a `Counter` instead of a set; the total is the sum of its values.",
)
class _SetsOnly(_MatchesOnce):
    def total(self, candidate: Words, mine: Ngrams, theirs: Ngrams, n: int) -> int:
        return len({*mine})


@clipped_counts.mistake(
    "the total counts different n-grams only",
    observed='Seven times "the" has one n-gram for you, not seven, and so more matches than '
    "n-grams.",
    change="The total is `sum(mine.values())`, not `len(mine)`.",
)
class _TotalOfTypes(_CountSteps):
    def total(self, candidate: Words, mine: Ngrams, theirs: Ngrams, n: int) -> int:
        return len({*mine})


@clipped_counts.mistake(
    "the larger of the two counts is taken",
    observed='Seven times "the" counts as seven matches, and a single "the" as two.',
    change="Take the smaller count, `min`.",
)
class _LargerCount(_CountSteps):
    def matches(self, mine: Ngrams, theirs: Ngrams) -> int:
        mine, theirs = Counter(mine), Counter(theirs)
        return sum(max(mine[ngram], theirs[ngram]) for ngram in mine if ngram in theirs)


@clipped_counts.mistake(
    "the reference's count is taken",
    observed='A single "the" counts as two matches, because the reference has two.',
    change="Take the smaller of the two counts: `min(count, theirs[ngram])`.",
)
class _ReferencesCount(_CountSteps):
    def matches(self, mine: Ngrams, theirs: Ngrams) -> int:
        return sum(Counter(theirs)[ngram] for ngram in {*mine})


@clipped_counts.mistake(
    "the total is that of the reference",
    observed="You count what share of the reference was found, which is recall. BLEU asks what "
    "share of the candidate is right, which is precision.",
    change="The total counts the candidate's n-grams.",
)
class _Recall(_CountSteps):
    def total(self, candidate: Words, mine: Ngrams, theirs: Ngrams, n: int) -> int:
        return len(theirs)


@clipped_counts.mistake(
    "the total counts words",
    observed="Six words have five bigrams, not six.",
    change="The total is the number of n-grams, `sum(mine.values())`.",
)
class _TotalOfWords(_CountSteps):
    def total(self, candidate: Words, mine: Ngrams, theirs: Ngrams, n: int) -> int:
        return len(candidate)


@clipped_counts.mistake(
    "the total can be negative",
    observed="Two words have -1 four-grams for you: `len(candidate) - n + 1` is right only for "
    "candidates that are long enough.",
    change="Use `max(0, len(candidate) - n + 1)`, or `sum(mine.values())`.",
)
class _NegativeTotal(_CountSteps):
    def total(self, candidate: Words, mine: Ngrams, theirs: Ngrams, n: int) -> int:
        return len(candidate) - n + 1


@clipped_counts.mistake(
    "the last n-gram is missing",
    observed="Six words have six n-grams of one word and five of two; you find one less each time.",
    change="The last n-gram begins at `len(words) - n`: write `range(len(words) - n + 1)`.",
)
class _LastIsMissing(_CountSteps):
    def starts(self, words: Sequence[str], n: int) -> Iterable[int]:
        return range(len(words) - n)


@clipped_counts.mistake(
    "n-grams run over the end",
    observed="With every word an n-gram begins, so the last ones are shorter than n words.",
    change="Stop where n words are left: `range(len(words) - n + 1)`.",
)
class _OverTheEnd(_CountSteps):
    def starts(self, words: Sequence[str], n: int) -> Iterable[int]:
        return range(len(words))


@clipped_counts.mistake(
    "n-grams do not overlap",
    observed="You step from one n-gram to the next by n words; six words have five bigrams, not "
    "three.",
    change="An n-gram begins at every word: `range(len(words) - n + 1)`, without a step.",
)
class _NoOverlap(_CountSteps):
    def starts(self, words: Sequence[str], n: int) -> Iterable[int]:
        return range(0, len(words) - n + 1, n)


@clipped_counts.mistake(
    "n-grams have one word too many",
    observed="For n = 1 you count pairs of words.",
    change="`words[start : start + n]` has n words; the end of a slice does not count.",
)
class _OneWordMore(_CountSteps):
    def size(self, n: int) -> int:
        return n + 1


@clipped_counts.mistake(
    "single words are counted for every n",
    observed="A candidate with the right words in the wrong order matches in full for n = 2.",
    change="Count tuples of n words: `tuple(words[start : start + n])`.",
)
class _WordsOnly(_CountSteps):
    def size(self, n: int) -> int:
        return 1


@clipped_counts.mistake(
    "pairs of words are counted for every n",
    observed="n = 2 is right, all others give the same numbers.",
    change="Use `n`: `tuple(words[start : start + n])`.",
)
class _PairsOnly(_CountSteps):
    def size(self, n: int) -> int:
        return 2


@clipped_counts.mistake(
    "the order inside an n-gram has no effect",
    observed='"the on" matches "on the": your n-grams are sorted, or sets of words.',
    change="Use tuples of words in their order.",
)
class _Unordered(_CountSteps):
    def ngram(self, words: Sequence[str], start: int, n: int) -> tuple[str, ...]:
        return tuple(sorted(words[start : start + n]))


@clipped_counts.mistake(
    "an n-gram must stand at the same place in both",
    observed="A translation with one word too many at its beginning would have no matches at all.",
    change="Compare the counts of the n-grams, wherever they stand.",
)
class _SamePlace(_CountSteps):
    def matches(self, mine: Ngrams, theirs: Ngrams) -> int:
        return sum(one == other for one, other in zip(mine, theirs, strict=False))


@clipped_counts.mistake(
    "capital letters are ignored",
    observed='"The" matches "the".',
    change="Compare the words as they are.",
)
class _LowerCase(_CountSteps):
    def words(self, words: Words) -> Sequence[str]:
        return [word.lower() for word in words]


@clipped_counts.mistake(
    "characters are counted instead of words",
    observed='Seven times "the" has 27 n-grams for n = 1: you joined the words to a text.',
    change="Work on the list of words as it is.",
)
class _Characters(_CountSteps):
    def words(self, words: Words) -> Sequence[str]:
        return " ".join(words)


@clipped_counts.mistake(
    "total and matches are swapped",
    observed="The first number should be the matches, the second the total.",
    change="Return `matches, total`.",
)
class _SwappedResult(_CountSteps):
    def result(self, matches: int, total: int) -> tuple[int, int] | float:
        return total, matches


@clipped_counts.mistake(
    "the two numbers are divided",
    observed="You return a share. A corpus needs both numbers, because counts are added up before "
    "they are divided.",
    change="Return `matches, total`.",
)
class _Divided(_CountSteps):
    def result(self, matches: int, total: int) -> tuple[int, int] | float:
        return matches / total if total else 0.0


# --- brevity_penalty -------------------------------------------------------------------------


class _PenaltySteps:
    """The brevity penalty in steps, so that a mistake replaces one."""

    def is_short(self, candidate_length: int, reference_length: int) -> bool:
        return candidate_length < reference_length

    def nothing(self) -> float:
        return 0.0

    def ratio(self, candidate_length: int, reference_length: int) -> float:
        return reference_length / candidate_length

    def factor(self, ratio: float) -> float:
        return math.exp(1 - ratio)

    def otherwise(self) -> float:
        return 1.0

    def __call__(self, candidate_length: int, reference_length: int) -> float:
        if candidate_length == 0:
            return self.nothing()
        if self.is_short(candidate_length, reference_length):
            return self.factor(self.ratio(candidate_length, reference_length))
        return self.otherwise()


@exercise(
    reference=course_penalty,
    cases=[
        Case((4, 6)),
        Case((6, 6)),
        Case((9, 6)),
        Case((1, 5)),
        Case((18, 20)),
        Case((0, 5)),
    ],
    properties=[
        Property("the penalty is between 0 and 1", lambda value, case: 0 <= value <= 1),
        Property(
            "a candidate as long as the reference pays nothing",
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


@brevity_penalty.mistake(
    "nobody pays",
    observed="4 words of 6 get 1 instead of 0.61: a candidate that says only what it is sure of "
    "would win.",
    change="Return `math.exp(1 - reference_length / candidate_length)` for a short candidate.",
)
class _NobodyPays(_PenaltySteps):
    def factor(self, ratio: float) -> float:
        return 1.0

    def nothing(self) -> float:
        return 1.0


@brevity_penalty.mistake(
    "the penalty is turned round: long candidates pay",
    observed="9 words for 6 get less than 1, and 4 words for 6 get 1. Too many words already lower "
    "the precisions.",
    change="Penalise where `candidate_length < reference_length`, with the ratio "
    "`reference_length / candidate_length`.",
)
class _LongPays(_PenaltySteps):
    def is_short(self, candidate_length: int, reference_length: int) -> bool:
        return candidate_length > reference_length

    def ratio(self, candidate_length: int, reference_length: int) -> float:
        return candidate_length / reference_length

    def nothing(self) -> float:
        return 1.0


@brevity_penalty.mistake(
    "long candidates pay too",
    observed="9 words for 6 get less than 1. Too many words already lower the precisions.",
    change="Return 1 where the candidate is at least as long as the reference.",
)
class _BothPay(_PenaltySteps):
    def is_short(self, candidate_length: int, reference_length: int) -> bool:
        return True

    def ratio(self, candidate_length: int, reference_length: int) -> float:
        return max(candidate_length / reference_length, reference_length / candidate_length)


@brevity_penalty.mistake(
    "the condition is turned round",
    observed="9 words for 6 get 1.4 and 4 words for 6 get 1: long candidates are rewarded.",
    change="Return 1 if `candidate_length >= reference_length`.",
)
class _OtherCondition(_PenaltySteps):
    def is_short(self, candidate_length: int, reference_length: int) -> bool:
        return candidate_length > reference_length

    def nothing(self) -> float:
        return 1.0


@brevity_penalty.mistake(
    "there is no upper bound",
    observed="9 words for 6 get 1.4: a long candidate is rewarded.",
    change="Return 1 where the candidate is at least as long as the reference.",
)
class _NoBound(_PenaltySteps):
    def is_short(self, candidate_length: int, reference_length: int) -> bool:
        return True


@brevity_penalty.mistake(
    "the ratio stands on its head",
    observed="4 words of 6 get 1.4, which is a reward.",
    change="Divide the reference's length by the candidate's.",
)
class _OtherRatio(_PenaltySteps):
    def ratio(self, candidate_length: int, reference_length: int) -> float:
        return candidate_length / reference_length


@brevity_penalty.mistake(
    "the ratio stands on its head, and nobody asks which side is longer",
    observed="4 words of 6 get 1.4, which is a reward, and 9 words for 6 pay.",
    change="Divide the reference's length by the candidate's, and return 1 where the candidate is "
    "at least as long.",
)
class _OtherRatioForAll(_OtherRatio):
    def is_short(self, candidate_length: int, reference_length: int) -> bool:
        return True

    def nothing(self) -> float:
        return math.e


@brevity_penalty.mistake(
    "the 1 is missing in the exponent",
    observed="A candidate that is hardly too short gets 0.37 at once; it should get almost 1.",
    change="Use `math.exp(1 - ratio)`, which is 1 where the lengths are equal.",
)
class _OneIsMissing(_PenaltySteps):
    def factor(self, ratio: float) -> float:
        return math.exp(-ratio)


@brevity_penalty.mistake(
    "the sign of the exponent is wrong",
    observed="The shorter the candidate, the larger the factor: 1 word of 5 gets 55.",
    change="Use `math.exp(1 - ratio)`: the ratio of a short candidate is above 1.",
)
class _SignOfExponent(_PenaltySteps):
    def factor(self, ratio: float) -> float:
        return math.exp(ratio - 1)


@brevity_penalty.mistake(
    "it is the plain ratio of the lengths",
    observed="4 words of 6 get 0.67 instead of 0.61, and 1 word of 5 gets 0.2 instead of 0.02.",
    change="Use `math.exp(1 - reference_length / candidate_length)`.",
)
class _PlainRatio(_PenaltySteps):
    def factor(self, ratio: float) -> float:
        return 1 / ratio


@brevity_penalty.mistake(
    "the exponential is missing",
    observed="The factor becomes negative: 1 word of 5 gets -4.",
    change="Use `math.exp(1 - ratio)`.",
)
class _NoExponential(_PenaltySteps):
    def factor(self, ratio: float) -> float:
        return 1 - ratio


@brevity_penalty.mistake(
    "the power is taken of 2 instead of e",
    observed="4 words of 6 get 0.71 instead of 0.61.",
    change="Use `math.exp`.",
)
class _PowerOfTwo(_PenaltySteps):
    def factor(self, ratio: float) -> float:
        return 2 ** (1 - ratio)


@brevity_penalty.mistake(
    "brackets divide all of the exponent",
    observed="You compute `exp((1 - reference_length) / candidate_length)`: 4 words of 6 get 0.29 "
    "instead of 0.61.",
    change="Write `math.exp(1 - reference_length / candidate_length)`.",
)
class _AllIsDivided(_PenaltySteps):
    def ratio(self, candidate_length: int, reference_length: int) -> float:
        return 1 - (1 - reference_length) / candidate_length


@brevity_penalty.mistake(
    "the ratio is rounded down",
    observed="4 words of 6 get 1: `6 // 4` is 1 in Python.",
    change="Divide with `/`.",
)
class _RoundedRatio(_PenaltySteps):
    def ratio(self, candidate_length: int, reference_length: int) -> float:
        return reference_length // candidate_length


@brevity_penalty.mistake(
    "the number of missing words counts, not their share",
    observed="2 words are missing in 4 of 6 and in 18 of 20; you punish both alike.",
    change="Use the ratio of the lengths, not their difference.",
)
class _MissingWords(_PenaltySteps):
    def ratio(self, candidate_length: int, reference_length: int) -> float:
        return 1 + reference_length - candidate_length


@brevity_penalty.mistake(
    "an empty candidate pays nothing",
    observed="0 words of 5 get 1, where 1 word of 5 gets 0.02.",
    change="Return 0 for an empty candidate.",
)
class _EmptyIsFree(_PenaltySteps):
    def nothing(self) -> float:
        return 1.0


@brevity_penalty.mistake(
    "an empty candidate divides by 0",
    observed="0 words of 5 stop with a ZeroDivisionError. It can happen: a bad model may end at "
    "once.",
    change="Return 0 for an empty candidate, before you divide.",
)
class _EmptyStops(_PenaltySteps):
    def nothing(self) -> float:
        return self.factor(self.ratio(0, 1))


@brevity_penalty.mistake(
    "enough words get 0",
    observed="A candidate as long as the reference, or longer, gets 0, and so would its BLEU.",
    change="Return 1 where there is nothing to pay: the penalty is a factor.",
)
class _EnoughGetZero(_PenaltySteps):
    def otherwise(self) -> float:
        return 0.0


# --- corpus_bleu -----------------------------------------------------------------------------


def _sentences(*texts: str) -> list[Words]:
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


class _BleuSteps:
    """BLEU of a corpus in steps, so that a mistake replaces one."""

    def sides(self, candidates: list[Words], references: list[Words]) -> tuple:
        return candidates, references

    def words(self, words: Words) -> Words:
        return words

    def sizes(self, max_n: int) -> Iterable[int]:
        return range(1, max_n + 1)

    def counts(self, candidate: Words, reference: Words, n: int) -> tuple[int, int]:
        return course_counts(candidate, reference, n)

    def precision(self, counts: list[tuple[int, int]]) -> float:
        matches, total = (sum(column) for column in zip(*counts, strict=True))
        return matches / total if total else 0.0

    def logarithm(self, precision: float) -> float:
        return math.log(precision) if precision else -math.inf

    def mean(self, precisions: list[float], max_n: int) -> float:
        return math.exp(sum(map(self.logarithm, precisions)) / max_n)

    def penalty(self, candidates: list[Words], references: list[Words]) -> float:
        return course_penalty(sum(map(len, candidates)), sum(map(len, references)))

    def result(self, bleu: float) -> float:
        return bleu

    def __call__(self, candidates: list[Words], references: list[Words], max_n: int = 4) -> float:
        candidates, references = self.sides(candidates, references)
        candidates = [self.words(words) for words in candidates]
        references = [self.words(words) for words in references]
        pairs = list(zip(candidates, references, strict=True))
        precisions = [
            self.precision([self.counts(*pair, n) for pair in pairs]) for n in self.sizes(max_n)
        ]
        penalty = self.penalty(candidates, references)
        return self.result(penalty * self.mean(precisions, max_n))


@exercise(
    reference=bleu_from_scratch,
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
        "`counts = [translation.clipped_counts(candidate, reference, n) for ...]` for each n from "
        "1 to `max_n`, its own included; return 0 if there are no matches. In the end "
        "`translation.brevity_penalty(...)` of the summed lengths times "
        "`math.exp(sum(logarithms) / max_n)`.",
    ],
)
def corpus_bleu(candidates: list[list[str]], references: list[list[str]], max_n: int = 4) -> float:
    """Return the BLEU of a whole corpus, between 0 and 1."""
    logarithms = []
    for n in range(1, max_n + 1):
        pairs = zip(candidates, references, strict=True)
        counts = [translation.clipped_counts(*pair, n) for pair in pairs]
        matches, total = (sum(column) for column in zip(*counts, strict=True))
        if matches == 0:
            return 0.0
        logarithms.append(math.log(matches / total))
    lengths = sum(map(len, candidates)), sum(map(len, references))
    return translation.brevity_penalty(*lengths) * math.exp(sum(logarithms) / max_n)


@corpus_bleu.mistake(
    "it is the mean of the sentences' BLEUs",
    observed="A perfect sentence and one without a common four-gram give 0.5, whatever their "
    "lengths: a short sentence weighs as much as a long one, and one missing four-gram makes it 0.",
    change="Add up the matches and the totals of all sentences first, then compute BLEU once.",
)
class _MeanOfSentences(_BleuSteps):
    def __call__(self, candidates: list[Words], references: list[Words], max_n: int = 4) -> float:
        pairs = zip(candidates, references, strict=True)
        scores = [super(_MeanOfSentences, self).__call__([c], [r], max_n) for c, r in pairs]
        return sum(scores) / len(scores)


@corpus_bleu.mistake(
    "each precision is the mean of the sentences' precisions",
    observed="A sentence of 2 words weighs as much as one of 20.",
    change="For each n add up matches and totals of all sentences, then divide once.",
)
class _MeanOfPrecisions(_BleuSteps):
    def precision(self, counts: list[tuple[int, int]]) -> float:
        return sum(matches / total if total else 0.0 for matches, total in counts) / len(counts)


@corpus_bleu.mistake(
    "only the last sentence counts",
    observed="The counts of each sentence replace those of the sentence before.",
    change="Add them up: `matches += ...`, `total += ...`.",
)
class _LastSentence(_BleuSteps):
    def precision(self, counts: list[tuple[int, int]]) -> float:
        return super().precision(counts[-1:])


@corpus_bleu.mistake(
    "there is no brevity penalty",
    observed="The first 4 words of a sentence of 6 get 1 instead of 0.61. A penalty from numbers "
    "of sentences, instead of words, does nothing either.",
    change="Multiply by `translation.brevity_penalty` of the summed lengths.",
)
class _NoPenalty(_BleuSteps):
    def penalty(self, candidates: list[Words], references: list[Words]) -> float:
        return 1.0


@corpus_bleu.mistake(
    "the brevity penalty gets its lengths the wrong way round",
    observed="The first 4 words of a sentence of 6 get 1, and candidates that are too long pay.",
    change="The candidates' length comes first.",
)
class _PenaltyTurned(_BleuSteps):
    def penalty(self, candidates: list[Words], references: list[Words]) -> float:
        return super().penalty(references, candidates)


@corpus_bleu.mistake(
    "each sentence pays a brevity penalty of its own",
    observed="You take the mean of the sentences' penalties. In a corpus a sentence that is a word "
    "too short is made up for by one that is a word too long.",
    change="Add up the lengths of all candidates and of all references; there is one penalty.",
)
class _PenaltyPerSentence(_BleuSteps):
    def penalty(self, candidates: list[Words], references: list[Words]) -> float:
        pairs = list(zip(candidates, references, strict=True))
        return sum(course_penalty(len(c), len(r)) for c, r in pairs) / len(pairs)


@corpus_bleu.mistake(
    "the precisions' plain mean is taken",
    observed="Where no four-gram matches, BLEU should be 0; your mean is not.",
    change="Use the geometric mean: the exponential of the mean of the logarithms.",
)
class _ArithmeticMean(_BleuSteps):
    def mean(self, precisions: list[float], max_n: int) -> float:
        return sum(precisions) / max_n


@corpus_bleu.mistake(
    "the root is missing: the precisions are multiplied",
    observed="With max_n = 1 all is right; the larger max_n, the further you are too low.",
    change="Divide the sum of the logarithms by `max_n`, which is the root of the product.",
)
class _Product(_BleuSteps):
    def mean(self, precisions: list[float], max_n: int) -> float:
        return math.prod(precisions)


@corpus_bleu.mistake(
    "the mean of the logarithms is returned without the exponential",
    observed="The result is negative or 0.",
    change="Use `math.exp(sum(logarithms) / max_n)`.",
)
class _NoExp(_BleuSteps):
    def mean(self, precisions: list[float], max_n: int) -> float:
        if 0.0 in precisions:
            return 0.0
        return sum(map(self.logarithm, precisions)) / max_n


@corpus_bleu.mistake(
    "n-grams of `max_n` words are left out",
    observed="With max_n = 4 you count up to three words, and with max_n = 1 nothing at all: "
    "`range(1, max_n)` ends before max_n.",
    change="Write `range(1, max_n + 1)`.",
)
class _LastSizeMissing(_BleuSteps):
    def sizes(self, max_n: int) -> Iterable[int]:
        return range(1, max_n)


@corpus_bleu.mistake(
    "`max_n` is not used",
    observed="All values of max_n give the result of max_n = 4.",
    change="Let n run from 1 to `max_n`, and divide the sum of the logarithms by `max_n`.",
)
class _AlwaysFour(_BleuSteps):
    def sizes(self, max_n: int) -> Iterable[int]:
        return range(1, 5)

    def mean(self, precisions: list[float], max_n: int) -> float:
        return super().mean(precisions, 4)


@corpus_bleu.mistake(
    "the mean always divides by 4",
    observed="With max_n = 4 all is right, with smaller ones BLEU comes out too high.",
    change="Divide the sum of the logarithms by `max_n`.",
)
class _DividesByFour(_BleuSteps):
    def mean(self, precisions: list[float], max_n: int) -> float:
        return super().mean(precisions, 4)


@corpus_bleu.mistake(
    "only n-grams of `max_n` words count",
    observed="With max_n = 1 all is right; else shorter n-grams have no effect.",
    change="Compute a precision for each n from 1 to `max_n`, and take their geometric mean.",
)
class _LongestOnly(_BleuSteps):
    def sizes(self, max_n: int) -> Iterable[int]:
        return [max_n]

    def mean(self, precisions: list[float], max_n: int) -> float:
        return super().mean(precisions, 1)


@corpus_bleu.mistake(
    "a precision of 0 is skipped",
    observed="A corpus without a common four-gram gets the BLEU of its shorter n-grams; it should "
    "be 0.",
    change="Return 0 as soon as one precision is 0: so is the geometric mean.",
)
class _ZeroSkipped(_BleuSteps):
    def logarithm(self, precision: float) -> float:
        return math.log(precision) if precision else 0.0


@corpus_bleu.mistake(
    "a precision of 0 goes into the logarithm",
    observed="A corpus without a common four-gram stops with an error: `math.log(0)` does not "
    "exist. One without any four-gram divides 0 by 0.",
    change="Return 0 as soon as there are no matches, before you divide and take the logarithm.",
)
class _LogarithmOfZero(_BleuSteps):
    def precision(self, counts: list[tuple[int, int]]) -> float:
        matches, total = (sum(column) for column in zip(*counts, strict=True))
        return matches / total

    def logarithm(self, precision: float) -> float:
        return math.log(precision)


@corpus_bleu.mistake(
    "the counts are smoothed",
    observed="A match and an n-gram are added to each count, so that no precision is 0. That is "
    "done for single sentences; the BLEU of a corpus has no smoothing.",
    change="Divide the counts as they are.",
)
class _Smoothed(_BleuSteps):
    def precision(self, counts: list[tuple[int, int]]) -> float:
        return super().precision([*counts, (1, 1)])


@corpus_bleu.mistake(
    "matches are not clipped",
    observed="A candidate that repeats words of the reference gets a match for each repetition.",
    change="Use `translation.clipped_counts`.",
)
class _UnclippedBleu(_BleuSteps):
    def counts(self, candidate: Words, reference: Words, n: int) -> tuple[int, int]:
        return _NotClipped()(candidate, reference, n)


@corpus_bleu.mistake(
    "candidates and references are swapped",
    observed="You ask what share of the reference was found, and long candidates pay.",
    change="Candidates come first, in the counts and in the brevity penalty.",
)
class _SwappedSides(_BleuSteps):
    def sides(self, candidates: list[Words], references: list[Words]) -> tuple:
        return references, candidates


@corpus_bleu.mistake(
    "the begin and end of a sentence count as words",
    observed="Every sentence has two words that always match, so BLEU comes out too high. The same "
    "happens to whoever scores ids with `bos` and `eos`.",
    change="Score the words alone.",
)
class _EndsCount(_BleuSteps):
    def words(self, words: Words) -> Words:
        return ["<s>", *words, "</s>"]


@corpus_bleu.mistake(
    "pieces of words are scored",
    observed="Characters match far more often than words, so BLEU comes out too high. Sub-words do "
    "so too: join them to words first.",
    change="Score lists of words.",
)
class _PiecesCount(_BleuSteps):
    def words(self, words: Words) -> Words:
        return [*" ".join(words)]


@corpus_bleu.mistake(
    "capital letters are ignored",
    observed='"A" matches "a", which is another figure: it is called lower-cased BLEU.',
    change="Compare the words as they are.",
)
class _LowerCased(_BleuSteps):
    def words(self, words: Words) -> Words:
        return [word.lower() for word in words]


@corpus_bleu.mistake(
    "the result is a percentage",
    observed="A perfect corpus gets 100. Papers print it so; here it is asked for between 0 and 1.",
    change="Leave the factor of 100 out.",
)
class _Percent(_BleuSteps):
    def result(self, bleu: float) -> float:
        return 100 * bleu


# --- token_budget_batches --------------------------------------------------------------------

Lengths = list[tuple[int, int]]
Batches = list[list[int]]
_FAULTLESS = "nothing is wrong"
_ABOVE = "a batch is above the budget"
_MANY = "there are too many batches"
_PADDED = "there is too much padding"


def _positions(batch: Sequence[int], lengths: Lengths) -> int:
    """Count the positions of both rectangles of a batch, padding included."""
    return len(batch) * sum(max(lengths[number][side] for number in batch) for side in (0, 1))


def _padding(batches: Batches, lengths: Lengths) -> float:
    """Share of all positions that are padding."""
    positions = sum(_positions(batch, lengths) for batch in batches)
    words = sum(sum(lengths[number]) for batch in batches for number in batch)
    return 1 - words / positions if positions else 0.0


class _BatchSteps:
    """Batches from short to long in steps, so that a mistake replaces one."""

    def order(self, lengths: Lengths) -> list[int]:
        return sorted(range(len(lengths)), key=lambda number: sum(lengths[number]))

    def at_first(self) -> Batches:
        return []

    def cost(self, batch: list[int], lengths: Lengths) -> float:
        return _positions(batch, lengths)

    def fits(self, cost: float, batch_tokens: int) -> bool:
        return cost <= batch_tokens

    def closed(self, batch: list[int], number: int) -> list[int]:
        return batch

    def opened(self, number: int) -> list[int]:
        return [number]

    def result(self, batches: Batches, order: list[int], lengths: Lengths) -> list:
        return batches

    def __call__(self, lengths: Lengths, batch_tokens: int) -> list:
        batches, order = self.at_first(), self.order(lengths)
        for number in order:
            grown = [*batches[-1], number] if batches else [number]
            if batches and self.fits(self.cost(grown, lengths), batch_tokens):
                batches[-1] = grown
                continue
            if batches:
                batches[-1] = self.closed(batches[-1], number)
            batches.append(self.opened(number))
        return self.result(batches, order, lengths)


def _examined(code: Callable, lengths: Lengths, batch_tokens: int) -> object:
    """Say what is wrong with batches; there are many right ways to form them.

    A quarter more batches than the reference has and a tenth more padding are allowed.
    """
    batches = code(lengths, batch_tokens)
    if batches is ...:
        return batches
    batches = _as_lists(batches)
    numbers = range(len(lengths))
    seen = Counter(number for batch in batches for number in batch)
    known = [[number for number in batch if number in numbers] for batch in batches]
    known = [batch for batch in known if batch]
    wanted = _BatchSteps()(lengths, batch_tokens)
    too_large = [b for b in known if len(b) > 1 and _positions(b, lengths) > batch_tokens]
    faults = {
        "a pair is in no batch": any(number not in seen for number in numbers),
        "a pair is in two batches": any(count > 1 for count in seen.values()),
        "a number belongs to no pair": any(number not in numbers for number in seen),
        "a batch is empty": not all(batches),
        _ABOVE: bool(too_large),
        "all pairs are in one batch": len(known) == 1 < len(wanted),
        _MANY: len(known) > len(wanted) + len(wanted) // 4,
        _PADDED: _padding(known, lengths) > _padding(wanted, lengths) + 0.1,
    }
    return ", ".join(fault for fault, found in faults.items() if found) or _FAULTLESS


def _as_lists(batches: object) -> list[list]:
    if not isinstance(batches, list | tuple):
        raise TypeError(f"a list of batches is wanted; got {describe(batches)}")
    for batch in batches:
        if not isinstance(batch, list | tuple | Tensor):
            raise TypeError(f"each batch should be a list of numbers; got {describe(batch)}")
    return [b.tolist() if isinstance(b, Tensor) else [*b] for b in batches]


def _many_pairs() -> Lengths:
    """Return lengths as in a corpus: many short pairs, few long ones, target near source."""
    sources = [3 + (7 * number) % 11 + 4 * (number % 5 == 0) for number in range(30)]
    return [(source, source + number % 4) for number, source in enumerate(sources)]


_SHUFFLED = [5, 11, 2, 8, 1, 12, 4, 10, 7, 3, 9, 6]


@exercise(
    reference=_BatchSteps(),
    cases=[
        Case(([(3, 3)] * 6, 18), observe=_examined),
        Case(([(2, 2)] * 3, 50), observe=_examined),
        Case(([(1, 1)] * 30, 12), observe=_examined),
        Case(([(1, 9)] * 8, 40), observe=_examined),
        Case(([(9, 1)] * 8, 40), observe=_examined),
        Case(([(source, 4) for source in _SHUFFLED], 40), observe=_examined),
        Case(([(4, target) for target in _SHUFFLED], 40), observe=_examined),
        Case(([(1, 1), (9, 9), (1, 1), (9, 9)], 19), observe=_examined),
        Case(([(4, 6), (6, 4), (5, 5), (6, 4), (4, 6)], 20), observe=_examined),
        Case((_many_pairs(), 120), observe=_examined),
        Case(([(3, 3), (30, 28), (4, 3), (3, 4), (25, 31)], 24), observe=_examined),
        Case(([(40, 50)], 24), observe=_examined),
    ],
    properties=[
        Property(
            "each pair is in exactly one batch",
            lambda value, case: "a pair" not in value and "no pair" not in value,
        ),
        Property(
            "no batch is above the budget, but for a single pair",
            lambda value, case: _ABOVE not in value,
        ),
        Property(
            "there are few batches",
            lambda value, case: _MANY not in value,
        ),
        Property(
            "there is little padding",
            lambda value, case: _PADDED not in value,
        ),
    ],
    hints=[
        "Sort the numbers of the pairs by length first. Then neighbours are alike, and one walk "
        "through them is enough: does the next pair still fit into the newest batch?",
        "What a batch costs is two rectangles: its number of rows times (its longest source plus "
        "its longest target). Compute that for the newest batch *with* the next pair in it.",
        "`order = sorted(range(len(lengths)), key=lambda number: sum(lengths[number]))`; for each "
        "number `grown = [*batches[-1], number]`, and if `len(grown) * sum(longest) > "
        "batch_tokens`, begin a new batch `[number]` instead. So a pair that is too long gets one "
        "of its own by itself.",
    ],
)
def token_budget_batches(lengths: list[tuple[int, int]], batch_tokens: int) -> list[list[int]]:
    """Return the numbers of the sentence pairs of each batch."""
    batches = []
    for number in sorted(range(len(lengths)), key=lambda number: sum(lengths[number])):
        grown = [*batches[-1], number] if batches else [number]
        longest = [max(lengths[each][side] for each in grown) for side in (0, 1)]
        if batches and len(grown) * sum(longest) <= batch_tokens:
            batches[-1] = grown
        else:
            batches.append([number])
    return batches


@token_budget_batches.mistake(
    "nothing is sorted",
    observed="Short and long sentences share a batch, and most of it is padding.",
    change="Walk through the pairs in the order of their lengths.",
)
class _NothingSorted(_BatchSteps):
    def order(self, lengths: Lengths) -> list[int]:
        return list(range(len(lengths)))


@token_budget_batches.mistake(
    "only the source's length is sorted by",
    observed="Where all sources have 4 tokens, short and long targets share a batch.",
    change="Sort by both lengths, such as their sum.",
)
class _SortedBySource(_BatchSteps):
    def order(self, lengths: Lengths) -> list[int]:
        return sorted(range(len(lengths)), key=lambda number: lengths[number][0])


@token_budget_batches.mistake(
    "only the target's length is sorted by",
    observed="Where all targets have 4 tokens, short and long sources share a batch.",
    change="Sort by both lengths, such as their sum.",
)
class _SortedByTarget(_BatchSteps):
    def order(self, lengths: Lengths) -> list[int]:
        return sorted(range(len(lengths)), key=lambda number: lengths[number][1])


@token_budget_batches.mistake(
    "the budget counts sentences, not tokens",
    observed="With a budget of 12 there are 12 sentences in a batch, however long they are.",
    change="Compare rows times the longest lengths with the budget.",
)
class _CountsSentences(_BatchSteps):
    def cost(self, batch: list[int], lengths: Lengths) -> float:
        return len(batch)


@token_budget_batches.mistake(
    "the budget ignores padding",
    observed="The lengths of a batch are added up, but each row is as wide as the longest: the "
    "rectangles are larger than the budget.",
    change="Count rows times the longest, `len(batch) * (longest source + longest target)`.",
)
class _IgnoresPadding(_BatchSteps):
    def cost(self, batch: list[int], lengths: Lengths) -> float:
        return sum(sum(lengths[number]) for number in batch)


@token_budget_batches.mistake(
    "the budget ignores padding, and the target's length only breaks ties",
    observed="The lengths of a batch are added up, but each row is as wide as the longest. Sorted "
    "by source first, rows of very different targets stand side by side.",
    change="Count rows times the longest, `len(batch) * (longest source + longest target)`.",
)
class _IgnoresPaddingSortedBySource(_IgnoresPadding):
    def order(self, lengths: Lengths) -> list[int]:
        return sorted(range(len(lengths)), key=lambda number: lengths[number])


@token_budget_batches.mistake(
    "the budget counts the target only",
    observed="Batches with long sources are above the budget.",
    change="Count both rectangles: longest source plus longest target.",
)
class _CountsTarget(_BatchSteps):
    def cost(self, batch: list[int], lengths: Lengths) -> float:
        return len(batch) * max(lengths[number][1] for number in batch)


@token_budget_batches.mistake(
    "the budget counts the source only",
    observed="Batches with long targets are above the budget.",
    change="Count both rectangles: longest source plus longest target.",
)
class _CountsSource(_BatchSteps):
    def cost(self, batch: list[int], lengths: Lengths) -> float:
        return len(batch) * max(lengths[number][0] for number in batch)


@token_budget_batches.mistake(
    "the budget counts only the larger rectangle",
    observed="Batches hold up to twice as many positions as the budget allows.",
    change="Add the longest source and the longest target; do not take the `max` of the two.",
)
class _CountsLarger(_BatchSteps):
    def cost(self, batch: list[int], lengths: Lengths) -> float:
        return len(batch) * max(max(lengths[number]) for number in batch)


@token_budget_batches.mistake(
    "the newest pair stands for the longest",
    observed="A pair (6, 4) after (4, 6) has the same sum, but together they need rows of 6 + 6: "
    "such batches are above the budget.",
    change="Take the longest source and the longest target of the whole batch.",
)
class _NewestStands(_BatchSteps):
    def cost(self, batch: list[int], lengths: Lengths) -> float:
        return len(batch) * sum(lengths[batch[-1]])


@token_budget_batches.mistake(
    "the first pair of a batch stands for the longest",
    observed="From short to long the first is the shortest: batches are above the budget.",
    change="Take the longest source and the longest target of the whole batch.",
)
class _FirstStands(_BatchSteps):
    def cost(self, batch: list[int], lengths: Lengths) -> float:
        return len(batch) * sum(lengths[batch[0]])


@token_budget_batches.mistake(
    "every batch has as many rows as the longest pairs allow",
    observed="One long sentence of the corpus makes all batches small, those of short sentences "
    "too.",
    change="Use the longest lengths of the batch, not of all pairs.",
)
class _LongestOfAll(_BatchSteps):
    def cost(self, batch: list[int], lengths: Lengths) -> float:
        return len(batch) * (max(s for s, _ in lengths) + max(t for _, t in lengths))


@token_budget_batches.mistake(
    "every batch has as many rows as mean lengths allow",
    observed="Batches of long sentences are above the budget.",
    change="Use the longest lengths of the batch.",
)
class _MeanOfAll(_BatchSteps):
    def cost(self, batch: list[int], lengths: Lengths) -> float:
        return len(batch) * sum(map(sum, lengths)) / len(lengths)


@token_budget_batches.mistake(
    "the budget is looked at when it is too late",
    observed="A batch is closed once it is full or above the budget, with the pair that was too "
    "much still in it.",
    change="Compute the cost of the batch with the next pair, before you put that in.",
)
class _TooLate(_BatchSteps):
    def cost(self, batch: list[int], lengths: Lengths) -> float:
        return super().cost(batch[:-1], lengths) if len(batch) > 1 else 0

    def fits(self, cost: float, batch_tokens: int) -> bool:
        return cost < batch_tokens


@token_budget_batches.mistake(
    "a batch may not be quite full",
    observed="Pairs of 6 tokens and a budget of 18: two share a batch, where three fit exactly.",
    change="Compare with `<=`: the budget itself is allowed.",
)
class _NotQuiteFull(_BatchSteps):
    def fits(self, cost: float, batch_tokens: int) -> bool:
        return cost < batch_tokens


@token_budget_batches.mistake(
    "there is no budget",
    observed="All pairs are in one batch.",
    change="Begin a new batch when the next pair would bring the newest one above the budget.",
)
class _NoBudget(_BatchSteps):
    def fits(self, cost: float, batch_tokens: int) -> bool:
        return True


@token_budget_batches.mistake(
    "every pair has a batch of its own",
    observed="There is no padding, and nothing is gained from computing sentences together.",
    change="Put the next pair into the newest batch as long as it fits.",
)
class _AllAlone(_BatchSteps):
    def fits(self, cost: float, batch_tokens: int) -> bool:
        return False


@token_budget_batches.mistake(
    "only pairs of equal length share a batch",
    observed="There is no padding, but there are many small batches.",
    change="Let the budget alone decide; sorting keeps the padding small.",
)
class _EqualOnly(_BatchSteps):
    def cost(self, batch: list[int], lengths: Lengths) -> float:
        equal = lengths[batch[0]] == lengths[batch[-1]]
        return super().cost(batch, lengths) if equal else math.inf


@token_budget_batches.mistake(
    "the last batch is lost",
    observed="Some pairs are in no batch: what is not full at the end is never stored.",
    change="Store the last batch too, when the loop is over.",
)
class _LastIsLost(_BatchSteps):
    def result(self, batches: Batches, order: list[int], lengths: Lengths) -> list:
        return batches[:-1]


@token_budget_batches.mistake(
    "pairs that are too long are left out",
    observed="Pairs above the budget are in no batch. Leaving them out is a decision about the "
    "data, to be taken and counted elsewhere.",
    change="Give such a pair a batch of its own.",
)
class _LongLeftOut(_BatchSteps):
    def __call__(self, lengths: Lengths, batch_tokens: int) -> list:
        batches = super().__call__(lengths, batch_tokens)
        return [batch for batch in batches if _positions(batch, lengths) <= batch_tokens]


@token_budget_batches.mistake(
    "the pair that does not fit is lost",
    observed="Each time a batch is full, one pair disappears: the new batch begins without it.",
    change="Begin the new batch with it: `[number]`, not `[]`.",
)
class _OverflowLost(_BatchSteps):
    def opened(self, number: int) -> list[int]:
        return []

    def result(self, batches: Batches, order: list[int], lengths: Lengths) -> list:
        return [batch for batch in batches if batch]


@token_budget_batches.mistake(
    "the pair that does not fit is in two batches",
    observed="Each time a batch is full, one pair is in it and in the next one too.",
    change="Either put a pair into the newest batch, or begin a new one with it.",
)
class _OverflowTwice(_BatchSteps):
    def closed(self, batch: list[int], number: int) -> list[int]:
        return [*batch, number]


@token_budget_batches.mistake(
    "there is an empty batch",
    observed="A pair that is too long comes first and finds an empty batch in which it does not "
    "fit.",
    change="Begin without any batch, or store a batch only if it holds something.",
)
class _EmptyFirst(_BatchSteps):
    def at_first(self) -> Batches:
        return [[]]


@token_budget_batches.mistake(
    "places in the sorted list are returned",
    observed="The batches hold 0, 1, 2 and so on: numbers of the sorted list, which belong to "
    "other pairs in `lengths`.",
    change="Sort the numbers themselves: `sorted(range(len(lengths)), key=...)`.",
)
class _SortedPlaces(_BatchSteps):
    def result(self, batches: Batches, order: list[int], lengths: Lengths) -> list:
        return [[order.index(number) for number in batch] for batch in batches]


@token_budget_batches.mistake(
    "lengths are returned instead of numbers",
    observed="The batches hold the pairs of lengths; which sentences they belong to is lost.",
    change="Collect the numbers of the pairs: `sorted(range(len(lengths)), key=...)`.",
)
class _LengthsReturned(_BatchSteps):
    def result(self, batches: Batches, order: list[int], lengths: Lengths) -> list:
        return [[lengths[number] for number in batch] for batch in batches]
