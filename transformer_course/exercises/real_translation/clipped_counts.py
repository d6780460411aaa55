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


clipped_counts.mistake(
    "matches are not clipped",
    edits=[("min(count, theirs[ngram])", "count if ngram in theirs else 0")],
    observed='Seven times "the" counts as seven matches, though the reference has two.',
    change="Count each n-gram at most as often as it occurs in the reference: `min(count, "
    "theirs[ngram])`.",
)
clipped_counts.mistake(
    "each n-gram matches at most once",
    edits=[("min(count, theirs[ngram])", "(ngram in theirs)")],
    observed='Of seven times "the" one matches; the reference has two. A set forgets how often '
    "something occurs in it.",
    change="Count with a `Counter`, and take the smaller of the two counts.",
)
clipped_counts.mistake(
    "both numbers count different n-grams only",
    edits=[
        ("min(count, theirs[ngram])", "(ngram in theirs)"),
        ("total = sum(mine.values())", "total = len(mine)"),
    ],
    observed='You count one n-gram in seven times "the", not seven, because you count in a set.',
    change="Use a `Counter` instead of a set; the total is the sum of its values.",
)
clipped_counts.mistake(
    "the total counts different n-grams only",
    edits=[("total = sum(mine.values())", "total = len(mine)")],
    observed='You count one n-gram in seven times "the", not seven, and so more matches than '
    "n-grams.",
    change="The total is `sum(mine.values())`, not `len(mine)`.",
)
clipped_counts.mistake(
    "the sum is clipped, not each count",
    edits=[
        ("min(count, theirs[ngram])", "count if ngram in theirs else 0"),
        ("return matches", "return min(matches, sum(theirs.values()))"),
    ],
    observed='Seven times "the" counts as six matches, because the reference has six words.',
    change="Clip each n-gram by its own count in the reference: `min(count, theirs[ngram])`.",
)
clipped_counts.mistake(
    "the larger of the two counts is taken",
    edits=[("min(count", "max(count"), ("in mine.items())", "in mine.items() if ngram in theirs)")],
    observed='Seven times "the" counts as seven matches, and a single "the" as two.',
    change="Take the smaller count, `min`.",
)
clipped_counts.mistake(
    "the reference's count is taken",
    edits=[("min(count, theirs[ngram])", "theirs[ngram]")],
    observed='A single "the" counts as two matches, because the reference has two.',
    change="Take the smaller of the two counts: `min(count, theirs[ngram])`.",
)
clipped_counts.mistake(
    "the total is that of the reference",
    edits=[("total = sum(mine.values())", "total = sum(theirs.values())")],
    observed="You count what share of the reference was found, which is recall. BLEU asks what "
    "share of the candidate is right, which is precision.",
    change="The total counts the candidate's n-grams.",
)
clipped_counts.mistake(
    "the total counts words",
    edits=[("total = sum(mine.values())", "total = len(candidate)")],
    observed="Six words have five bigrams, not six.",
    change="The total is the number of n-grams, `sum(mine.values())`.",
)
clipped_counts.mistake(
    "the total can be negative",
    edits=[("total = sum(mine.values())", "total = len(candidate) - n + 1")],
    observed="You count -1 four-grams in two words: `len(candidate) - n + 1` is right only for "
    "candidates that are long enough.",
    change="Use `max(0, len(candidate) - n + 1)`, or `sum(mine.values())`.",
)
clipped_counts.mistake(
    "a sentence without n-grams gets a total of 1",
    edits=[("total = sum(mine.values())", "total = max(1, sum(mine.values()))")],
    observed="You count one four-gram in two words; they have none.",
    change="Return the total as it is, also where it is 0; whoever divides has to check.",
)
clipped_counts.mistake(
    "n-grams that the reference lacks are looked up",
    edits=[("theirs[ngram]", "dict(theirs)[ngram]")],
    observed="It stops with a KeyError at the first n-gram of the candidate that the reference "
    "does not have.",
    change="Such an n-gram has the count 0: `theirs.get(ngram, 0)`, or a `Counter`.",
)
clipped_counts.mistake(
    "the last n-gram is missing",
    edits=[("range(len(words) - n + 1)", "range(len(words) - n)")],
    observed="Six words have six n-grams of one word and five of two; you find one less each time.",
    change="The last n-gram begins at `len(words) - n`: write `range(len(words) - n + 1)`.",
)
for _side in ("candidate", "reference"):
    clipped_counts.mistake(
        f"the last n-gram of the {_side} is missing",
        edits=[(f"ngrams({_side}, n)", f"ngrams({_side}[:-1], n)")],
        observed=f"The {_side} has one n-gram less than it should, the last one.",
        change="The last n-gram begins at `len(words) - n`: write `range(len(words) - n + 1)`.",
    )
clipped_counts.mistake(
    "n-grams run past the end",
    edits=[("range(len(words) - n + 1)", "range(len(words))")],
    observed="You begin an n-gram at every word, so the last ones are shorter than n words.",
    change="Stop where n words are left: `range(len(words) - n + 1)`.",
)
clipped_counts.mistake(
    "n-grams do not overlap",
    edits=[("range(len(words)", "range(0, len(words)"), ("- n + 1)", "- n + 1, n)")],
    observed="You step from one n-gram to the next by n words; six words have five bigrams, not "
    "three.",
    change="An n-gram begins at every word: `range(len(words) - n + 1)`, without a step.",
)
clipped_counts.mistake(
    "n-grams have one word too many",
    edits=[
        ("ngrams(candidate, n)", "ngrams(candidate, n + 1)"),
        ("ngrams(reference, n)", "ngrams(reference, n + 1)"),
    ],
    observed="For n = 1 you count pairs of words.",
    change="`words[start : start + n]` has n words; the end of a slice does not count.",
)
clipped_counts.mistake(
    "shorter n-grams are counted too",
    edits=[
        ("for start in", "for size in range(1, n + 1) for start in"),
        ("start + n]", "start + size]"),
        ("- n + 1)", "- size + 1)"),
    ],
    observed="n = 1 is right. For n = 2 the single words count as well.",
    change="Count the n-grams of exactly `n` words; `corpus_bleu` will ask for each n in turn.",
)
clipped_counts.mistake(
    "the words of an n-gram need not be side by side",
    edits=[
        ("    def ngrams", "    from itertools import combinations\n\n    def ngrams"),
        (
            "tuple(words[start : start + n]) for start in range(len(words) - n + 1)",
            "combinations(words, n)",
        ),
    ],
    observed="n = 1 is right. For n = 2 you count 15 pairs in six words; there are five bigrams.",
    change="Take words that are side by side: `tuple(words[start : start + n])`.",
)
clipped_counts.mistake(
    "the words of an n-gram are joined without a blank",
    edits=[("tuple(words[start : start + n])", '"".join(words[start : start + n])')],
    observed='"now here" matches "no where": both become "nowhere".',
    change="Use tuples of words, or join them with a blank.",
)
clipped_counts.mistake(
    "single words are counted for every n",
    edits=[
        ("ngrams(candidate, n)", "ngrams(candidate, 1)"),
        ("ngrams(reference, n)", "ngrams(reference, 1)"),
    ],
    observed="A candidate with the right words in the wrong order matches in full for n = 2.",
    change="Count tuples of n words: `tuple(words[start : start + n])`.",
)
clipped_counts.mistake(
    "pairs of words are counted for every n",
    edits=[
        ("ngrams(candidate, n)", "ngrams(candidate, 2)"),
        ("ngrams(reference, n)", "ngrams(reference, 2)"),
    ],
    observed="n = 2 is right, all others give the same numbers.",
    change="Use `n`: `tuple(words[start : start + n])`.",
)
clipped_counts.mistake(
    "the order inside an n-gram has no effect",
    edits=[("tuple(words", "tuple(sorted(words"), ("start + n]", "start + n])")],
    observed='"the on" matches "on the": your n-grams are sorted, or sets of words.',
    change="Use tuples of words in their order.",
)
clipped_counts.mistake(
    "an n-gram must be at the same place in both",
    edits=[("tuple(words", "(start, *words")],
    observed="A translation with one word too many at its beginning would have no matches at all.",
    change="Compare the counts of the n-grams, wherever they are.",
)
clipped_counts.mistake(
    "capital letters are ignored",
    edits=[
        ("ngrams(candidate", "ngrams([word.lower() for word in candidate]"),
        ("ngrams(reference", "ngrams([word.lower() for word in reference]"),
    ],
    observed='"The" matches "the".',
    change="Compare the words as they are.",
)
clipped_counts.mistake(
    "characters are counted instead of words",
    edits=[
        ("ngrams(candidate", 'ngrams(" ".join(candidate)'),
        ("ngrams(reference", 'ngrams(" ".join(reference)'),
    ],
    observed='Seven times "the" has 27 n-grams for n = 1: you joined the words to a text.',
    change="Work on the list of words as it is.",
)
clipped_counts.mistake(
    "total and matches are swapped",
    edits=[("return matches, total", "return total, matches")],
    observed="The first number should be the matches, the second the total.",
    change="Return `matches, total`.",
)
clipped_counts.mistake(
    "the two numbers are divided",
    edits=[("return matches, total", "return matches / total if total else 0.0")],
    observed="You return a share. A corpus needs both numbers, because counts are added up before "
    "they are divided.",
    change="Return `matches, total`.",
)

clipped_counts.mistake(
    "each pair of equal n-grams is a match",
    edits=[("min(count, theirs[ngram])", "count * theirs[ngram]")],
    observed='A "the" of the candidate matches each of the two in the reference: two loops, one '
    "inside the other, count pairs.",
    change="Take the smaller of the two counts: `min(count, theirs[ngram])`.",
)
clipped_counts.mistake(
    "an n-gram that comes again adds its matches again",
    edits=[("min(count, theirs[ngram])", "count * min(count, theirs[ngram])")],
    observed='Seven times "the" with two in the reference gives 14 matches: you go through all '
    "n-grams of the candidate, and each adds the matches of all its likes.",
    change="Go through the different n-grams: the keys of a `Counter`, or a set.",
)
clipped_counts.mistake(
    "the union is counted, not what both have",
    edits=[("sum(min(count, theirs[ngram]) for", "sum((mine | theirs).values()) or sum(0 for")],
    observed="You take the larger of the two counts of each n-gram: `|` keeps whatever one of the "
    "two sentences has.",
    change="Use `mine & theirs`, which takes the smaller of the two counts.",
)
clipped_counts.mistake(
    "n-grams are looked for in the text of the reference",
    edits=[("theirs[ngram]", '" ".join(reference).count(" ".join(ngram))')],
    observed='In the text "hear a dog and", "dog a" is found, since a word begins with "a": '
    "`count` in a text knows no words.",
    change="Count tuples of words, in a `Counter`.",
)
clipped_counts.mistake(
    "the last n-gram is one word too long",
    edits=[("start + n]", "start + n + 1]")],
    observed="For n = 1 you count pairs of words, and a single one at the end.",
    change="`words[start : start + n]` has n words; the end of a slice does not count.",
)
clipped_counts.mistake(
    "n-grams have one word too few",
    edits=[("start + n]", "start + n - 1]")],
    observed="For n = 2 you count single words, and for n = 1 n-grams without any word.",
    change="`words[start : start + n]` has n words: `start + n` itself does not count.",
)


def _lists(candidate: list[str], reference: list[str], n: int) -> tuple[int, int]:
    mine, theirs = (
        Counter(words[start : start + n] for start in range(len(words) - n + 1))
        for words in (candidate, reference)
    )
    return (mine & theirs).total(), mine.total()


clipped_counts.mistake(
    "the n-grams are lists",
    body=_lists,
    observed="A slice of a list is a list, which may change; so Python refuses to count it or to "
    "look it up in a `Counter`, a dictionary or a set.",
    change="Make a tuple of each: `tuple(words[start : start + n])`.",
)
