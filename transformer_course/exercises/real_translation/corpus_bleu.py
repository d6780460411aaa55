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


corpus_bleu.mistake(
    "it is the mean of the sentences' BLEUs",
    edits=[
        (
            "    logarithms = []",
            "    if len(candidates) > 1:\n"
            "        pairs = zip(candidates, references, strict=True)\n"
            "        return sum(corpus_bleu([c], [r], max_n) for c, r in pairs) / len(candidates)\n"
            "    logarithms = []",
        )
    ],
    observed="A perfect sentence and one without a common four-gram give 0.5, whatever their "
    "lengths: a short sentence weighs as much as a long one, and one missing four-gram makes it 0.",
    change="Add up the matches and the totals of all sentences first, then compute BLEU once.",
)
corpus_bleu.mistake(
    "each precision is the mean of the sentences' precisions",
    edits=[
        (
            "for pair in pairs]\n",
            "for pair in pairs]\n"
            "        counts = [(matches / max(total, 1), 1) for matches, total in counts]\n",
        )
    ],
    observed="A sentence of 2 words weighs as much as one of 20.",
    change="For each n add up matches and totals of all sentences, then divide once.",
)
corpus_bleu.mistake(
    "each precision is the mean over the sentences that have such n-grams",
    edits=[
        (
            "for pair in pairs]\n",
            "for pair in pairs]\n"
            "        counts = [(m / total, 1) for m, total in counts if total] or [(0, 1)]\n",
        )
    ],
    observed="You divide sentence by sentence and leave out sentences that are too short. One of 5 "
    "words weighs as much as one of 20.",
    change="For each n add up matches and totals of all sentences, then divide once.",
)
corpus_bleu.mistake(
    "the n-grams of all sentences are clipped together",
    edits=[
        (
            "[own.clipped_counts(*pair, n) for pair in pairs]",
            "[tuple(zip(words, *(words[k:] for k in range(1, n)))) for words in candidates]\n"
            "        others = [zip(*(words[k:] for k in range(n))) for words in references]\n"
            "        mine = Counter(ngram for each in counts for ngram in each)\n"
            "        theirs = Counter(ngram for each in others for ngram in each)\n"
            "        counts = [((mine & theirs).total(), mine.total())]",
        )
    ],
    observed='"a cat" counts as right where it occurs in the reference of another sentence.',
    change="Clip sentence by sentence, with `own.clipped_counts`; add up afterwards.",
)
corpus_bleu.mistake(
    "n-grams of `max_n` words are left out",
    edits=[("max_n + 1", "max_n")],
    observed="With max_n = 4 you count up to three words, and with max_n = 1 nothing at all: "
    "`range(1, max_n)` ends before max_n.",
    change="Write `range(1, max_n + 1)`.",
)
corpus_bleu.mistake(
    "all sentences are joined into one",
    edits=[
        (
            "    for n in",
            "    candidates, references = [sum(candidates, [])], [sum(references, [])]\n"
            "    for n in",
        )
    ],
    observed="N-grams run from the end of a sentence into the next one, and words match in the "
    "references of other sentences.",
    change="Count the n-grams of each sentence alone, with `own.clipped_counts`.",
)
corpus_bleu.mistake(
    "the result is a percentage",
    edits=[("(logarithms) / max_n)", "(logarithms) / max_n) * 100")],
    observed="A perfect corpus gets 100. Papers print it so; here it is asked for between 0 and 1.",
    change="Leave the factor of 100 out.",
)
corpus_bleu.mistake(
    "only the last sentence counts",
    edits=[("zip(*counts,", "zip(*counts[-1:],")],
    observed="The counts of each sentence replace those of the sentence before.",
    change="Add them up: `matches += ...`, `total += ...`.",
)
corpus_bleu.mistake(
    "the brevity penalty has no effect",
    edits=[("return own.brevity_penalty(*lengths) * math", "return math")],
    observed="The first 4 words of a sentence of 6 get 1 instead of 0.61: there is no penalty, or "
    "it is computed from the numbers of sentences, which are always equal.",
    change="Multiply by `own.brevity_penalty` of the words of all candidates and of all "
    "references.",
)
corpus_bleu.mistake(
    "the brevity penalty gets its lengths the wrong way round",
    edits=[("*lengths", "*lengths[::-1]")],
    observed="The first 4 words of a sentence of 6 get 1, and candidates that are too long pay.",
    change="The candidates' length comes first.",
)
corpus_bleu.mistake(
    "each sentence pays a brevity penalty of its own",
    edits=[
        (
            "lengths = sum(map(len, candidates)), sum(map(len, references))",
            "pairs = list(zip(candidates, references, strict=True))\n"
            "    penalties = [own.brevity_penalty(len(c), len(r)) for c, r in pairs]",
        ),
        ("own.brevity_penalty(*lengths)", "sum(penalties) / len(penalties)"),
    ],
    observed="You take the mean of the sentences' penalties. In a corpus a sentence that is a word "
    "too short is made up for by one that is a word too long.",
    change="Add up the lengths of all candidates and of all references; there is one penalty.",
)
corpus_bleu.mistake(
    "the penalties of all sentences are multiplied",
    edits=[
        (
            "lengths = sum(map(len, candidates)), sum(map(len, references))",
            "pairs = list(zip(candidates, references, strict=True))\n"
            "    penalties = [own.brevity_penalty(len(c), len(r)) for c, r in pairs]",
        ),
        ("own.brevity_penalty(*lengths)", "math.prod(penalties)"),
    ],
    observed="Each sentence that is too short lowers the BLEU of the whole corpus. In a corpus it "
    "is made up for by one that is too long.",
    change="Add up the lengths of all candidates and of all references; there is one penalty.",
)
corpus_bleu.mistake(
    "the brevity penalty is that of the last sentence",
    edits=[
        ("sum(map(len, candidates))", "len(candidates[-1])"),
        ("sum(map(len, references))", "len(references[-1])"),
    ],
    observed="Where the candidates are too short as a whole, but the last one is not, nobody pays: "
    "the lengths are those of the last sentence.",
    change="Add up the lengths of all candidates and of all references.",
)
corpus_bleu.mistake(
    "the precisions' plain mean is taken",
    edits=[
        ("        if matches == 0:\n            return 0.0\n", ""),
        ("math.log(matches / total)", "matches / max(total, 1)"),
        ("math.exp(sum", "(sum"),
    ],
    observed="Where no four-gram matches, BLEU should be 0; your mean is not.",
    change="Use the geometric mean: the exponential of the mean of the logarithms.",
)
corpus_bleu.mistake(
    "the mean of the precisions is not geometric",
    edits=[("math.log(matches / total)", "matches / total"), ("math.exp(sum", "(sum")],
    observed="You take the ordinary mean of the precisions, and 0 where one of them is 0.",
    change="Use the geometric mean: the exponential of the mean of the logarithms.",
)
corpus_bleu.mistake(
    "only the counts have candidate and reference swapped",
    edits=[("zip(candidates, references", "zip(references, candidates")],
    observed="The totals are those of the references: you ask what share of them was found. The "
    "brevity penalty is right.",
    change="The candidate comes first: `own.clipped_counts(candidate, reference, n)`.",
)
corpus_bleu.mistake(
    "the root is taken of the brevity penalty too",
    edits=[("brevity_penalty(*lengths) *", "brevity_penalty(*lengths) ** (1 / max_n) *")],
    observed="The first 4 words of a sentence of 6 get 0.88 instead of 0.61.",
    change="Take the root of the product of the precisions alone, then multiply by the penalty.",
)
corpus_bleu.mistake(
    "the root is missing: the precisions are multiplied",
    edits=[("sum(logarithms) / max_n", "sum(logarithms)")],
    observed="With max_n = 1 everything is right; the larger max_n, the lower your result.",
    change="Divide the sum of the logarithms by `max_n`, which is the root of the product.",
)
corpus_bleu.mistake(
    "the mean of the logarithms is returned without the exponential",
    edits=[("math.exp(sum", "(sum")],
    observed="The result is negative or 0.",
    change="Use `math.exp(sum(logarithms) / max_n)`.",
)
corpus_bleu.mistake(
    "`max_n` is not used",
    edits=[("max_n + 1", "5"), ("(logarithms) / max_n", "(logarithms) / 4")],
    observed="All values of max_n give the result of max_n = 4.",
    change="Let n run from 1 to `max_n`, and divide the sum of the logarithms by `max_n`.",
)
corpus_bleu.mistake(
    "the mean always divides by 4",
    edits=[("(logarithms) / max_n", "(logarithms) / 4")],
    observed="With max_n = 4 everything is right, with smaller ones BLEU comes out too high.",
    change="Divide the sum of the logarithms by `max_n`.",
)
corpus_bleu.mistake(
    "only n-grams of `max_n` words count",
    edits=[("range(1, max_n + 1)", "[max_n]"), ("(logarithms) / max_n", "(logarithms)")],
    observed="With max_n = 1 everything is right; otherwise shorter n-grams have no effect.",
    change="Compute a precision for each n from 1 to `max_n`, and take their geometric mean.",
)
corpus_bleu.mistake(
    "a precision of 0 is skipped",
    edits=[("return 0.0", "continue")],
    observed="A corpus without a common four-gram gets the BLEU of its shorter n-grams; it should "
    "be 0.",
    change="Return 0 as soon as one precision is 0: so is the geometric mean.",
)
corpus_bleu.mistake(
    "a precision of 0 goes into the logarithm",
    edits=[("        if matches == 0:\n            return 0.0\n", "")],
    observed="A corpus without a common four-gram stops with an error: `math.log(0)` does not "
    "exist. One without any four-gram divides 0 by 0.",
    change="Return 0 as soon as there are no matches, before you divide and take the logarithm.",
)
corpus_bleu.mistake(
    "the counts are smoothed",
    edits=[("zip(*counts,", "zip(*counts, (1, 1),")],
    observed="A match and an n-gram are added to each count, so that no precision is 0. That is "
    "done for single sentences; the BLEU of a corpus has no smoothing.",
    change="Divide the counts as they are.",
)
corpus_bleu.mistake(
    "the counts are smoothed from bigrams on",
    edits=[("zip(*counts,", "zip(*counts, (n > 1, n > 1),")],
    observed="With max_n = 1 everything is right. A match and an n-gram are added to each count of "
    "longer n-grams, so that no precision is 0.",
    change="Divide the counts as they are.",
)
corpus_bleu.mistake(
    "lengths without any n-gram are left out",
    edits=[
        ("if matches", "if total == 0:\n            continue\n        if matches"),
        ("(logarithms) / max_n", "(logarithms) / len(logarithms)"),
    ],
    observed="A corpus of sentences of one and two words gets 1; it has no trigram, so BLEU is 0.",
    change="Return 0 if there is no n-gram of some length.",
)
corpus_bleu.mistake(
    "n-grams of n words weigh 1/2 to the power of n",
    edits=[("math.log(matches / total)", "math.log(matches / total) * 0.5**n * max_n")],
    observed="With max_n = 1 you take the square root of the only precision. Some books weigh them "
    "like that; formula (3) weighs all lengths alike.",
    change="Raise each precision to the power of `1 / max_n`.",
)
corpus_bleu.mistake(
    "a reference is taken for a list of references",
    edits=[
        (
            "own.clipped_counts(*pair, n) for pair in pairs",
            "max(own.clipped_counts(said, word, n) for word in wanted) for said, wanted in pairs",
        ),
        ("sum(map(len, references))", "sum(min(map(len, words)) for words in references)"),
    ],
    observed="Even an equal sentence gets 0: you loop over the reference, and what you get are its "
    "words.",
    change="Each candidate has one reference, a list of words: use it as it is.",
)
corpus_bleu.mistake(
    "the logarithm has base 2, the exponential base e",
    edits=[("math.log(", "math.log2(")],
    observed="The geometric mean is raised to the power of 1.44: BLEU comes out too low, but for "
    "perfect precisions.",
    change="Use `math.log`, which belongs to `math.exp`.",
)
corpus_bleu.mistake(
    "an n-gram matches at most once in a sentence",
    edits=[("min(count, theirs[ngram])", "(ngram in theirs)")],
    observed='The two "a" of "a man sees a cat" count as one match. A set forgets how often '
    "something occurs in it.",
    change="Use `own.clipped_counts`.",
)
corpus_bleu.mistake(
    "matches are not clipped",
    edits=[("min(count, theirs[ngram])", "count if ngram in theirs else 0")],
    observed="A candidate that repeats words of the reference gets a match for each repetition.",
    change="Use `own.clipped_counts`.",
)
corpus_bleu.mistake(
    "candidates and references are swapped",
    edits=[
        ("logarithms = []", "logarithms = []\n    candidates, references = references, candidates")
    ],
    observed="You ask what share of the reference was found, and long candidates pay.",
    change="Candidates come first, in the counts and in the brevity penalty.",
)
corpus_bleu.mistake(
    "the begin and end of a sentence count as words",
    edits=[
        (
            "    for n in",
            '    candidates = [["<s>", *words, "</s>"] for words in candidates]\n'
            '    references = [["<s>", *words, "</s>"] for words in references]\n'
            "    for n in",
        )
    ],
    observed="Every sentence has two words that always match, so BLEU comes out too high. The same "
    "happens to whoever scores ids with `bos` and `eos`.",
    change="Score the words alone.",
)
corpus_bleu.mistake(
    "pieces of words are scored",
    edits=[
        (
            "    for n in",
            '    candidates = [[*" ".join(words)] for words in candidates]\n'
            '    references = [[*" ".join(words)] for words in references]\n'
            "    for n in",
        )
    ],
    observed="Characters match far more often than words, so BLEU comes out too high. Sub-words do "
    "so too: join them to words first.",
    change="Score lists of words.",
)
corpus_bleu.mistake(
    "capital letters are ignored",
    edits=[
        (
            "    for n in",
            "    candidates = [[word.lower() for word in words] for words in candidates]\n"
            "    references = [[word.lower() for word in words] for words in references]\n"
            "    for n in",
        )
    ],
    observed='"A" matches "a", which is another figure: it is called lower-cased BLEU.',
    change="Compare the words as they are.",
)
corpus_bleu.mistake(
    "n runs from 0 to `max_n` - 1",
    edits=[("range(1, max_n + 1)", "range(max_n)")],
    observed="With max_n = 1 sentences with a third of their words wrong get 1 instead of 0.667: "
    "you count n-grams of no words at all, of which all match, and none of `max_n` words.",
    change="Begin with 1: `range(1, max_n + 1)`.",
)
corpus_bleu.mistake(
    "the counts of shorter n-grams are not set back to 0",
    edits=[
        ("logarithms = []", "logarithms, before = [], (0, 0)"),
        (
            "matches, total = (sum(column) for column in zip(*counts, strict=True))",
            "matches, total = before = [sum(c) for c in zip(before, *counts, strict=True)]",
        ),
    ],
    observed="With max_n = 1 everything is right. The precision of longer n-grams holds the "
    "matches and totals of all shorter ones.",
    change="Begin with 0 matches and a total of 0 for each n, inside the loop over n.",
)
corpus_bleu.mistake(
    "there is one precision for n-grams of all lengths",
    edits=[
        ("        if matches == 0:\n            return 0.0\n", ""),
        ("math.log(matches / total)", "(matches, total)"),
        (
            "math.exp(sum(logarithms) / max_n)",
            "sum(m for m, _ in logarithms) / sum(t for _, t in logarithms)",
        ),
    ],
    observed="With max_n = 1 everything is right. Otherwise you divide all matches by all totals, "
    "so that single words count most.",
    change="Compute a precision for each n, and take the geometric mean of them.",
)
corpus_bleu.mistake(
    "only the last precision is kept",
    edits=[
        ("logarithms.append(math.log(matches / total))", "logarithms = [math.log(matches / total)]")
    ],
    observed="With max_n = 1 everything is right; otherwise BLEU comes out too high, since one "
    "logarithm is divided by `max_n`.",
    change="Add up the logarithms of all precisions.",
)
corpus_bleu.mistake(
    "it returns within the loop, after the single words",
    edits=[
        ("    lengths = sum", "        lengths = sum"),
        ("    return own.brev", "        return own.brev"),
    ],
    observed="With max_n = 1 everything is right; otherwise longer n-grams have no effect, as the "
    "`return` is inside the loop over n.",
    change="Move the `return` out of the loop.",
)
corpus_bleu.mistake(
    "n-grams of `max_n` words are left out, and the mean is that of the others",
    edits=[("max_n + 1", "max_n"), ("(logarithms) / max_n", "(logarithms) / len(logarithms)")],
    observed="With max_n = 4 you count up to three words, and with max_n = 1 there is nothing to "
    "average: `range(1, max_n)` ends before max_n.",
    change="Write `range(1, max_n + 1)`.",
)
