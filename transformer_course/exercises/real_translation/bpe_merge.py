"""One merge of byte pair encoding: the most frequent pair of neighbours becomes one piece.

Source: Sennrich et al. (2016), "Neural Machine Translation of Rare Words with Subword Units",
section 3.2.
"""

from collections import Counter
from collections.abc import Iterator
from itertools import pairwise

from transformer_course.checker.cases import Case, Property
from transformer_course.checker.exercise import exercise

Words = dict[tuple[str, ...], int]


def _spelt(counts: dict[str, int]) -> Words:
    return {tuple(word): count for word, count in counts.items()}


def _letters(words: Words) -> dict[str, int]:
    return {"".join(pieces): count for pieces, count in words.items()}


# In none of them are two pairs equally frequent at the top.
@exercise(
    cases=[
        Case((_spelt({"▁run": 6, "▁runner": 3, "▁red": 2, "▁sun": 5, "▁sea": 1}),)),
        Case(
            (
                {
                    ("▁run",): 6,
                    ("▁run", "n", "e", "r"): 3,
                    ("▁r", "e", "d"): 2,
                    ("▁s", "un"): 5,
                    ("▁s", "e", "a"): 1,
                },
            )
        ),
        Case((_spelt({"banana": 2, "an": 2, "nab": 1}),)),
        Case((_spelt({"cocon": 2, "ca": 3}),)),
        Case((_spelt({"aaa": 2, "ab": 3}),)),
        Case(({("b", "c"): 3, ("ab", "c"): 1, ("b", "cd"): 1, ("d",): 2},)),
        Case(({("a", "bc"): 2, ("ab", "c"): 2, ("d", "e"): 3},)),
        Case((_spelt({"on": 2, "no": 2, "th": 3}),)),
        Case((_spelt({"ba": 2, "bca": 2, "bda": 2, "ef": 3}),)),
    ],
    properties=[
        Property(
            "the pair is two pieces that stand side by side",
            lambda value, case: (
                tuple(value[0]) in {pair for pieces in case.inputs[0] for pair in pairwise(pieces)}
            ),
        ),
        Property(
            "every word keeps its letters and its count",
            lambda value, case: _letters(value[1]) == _letters(case.inputs[0]),
        ),
    ],
    hints=[
        "Two halves: count all pairs of neighbours, then write every word anew. How much does a "
        "pair count that occurs in a word which occurs 6 times?",
        "`itertools.pairwise(pieces)` gives the pairs of a word, and a `Counter` adds up: "
        "`counts[pair] += count`. `max(counts, key=counts.get)` is the most frequent. To write a "
        "word anew, go through its places: is the pair here? Then one piece joins the new word "
        "and you go on two places further.",
        '`if pieces[place : place + 2] == best: new.append("".join(best)); place += 2`, else '
        "`new.append(pieces[place]); place += 1`, as long as `place < len(pieces)`. Then "
        "`merged[tuple(new)] = count`.",
    ],
)
def bpe_merge(words: dict) -> tuple[tuple[str, str], dict]:
    """Return the most frequent pair of neighbours, and all words with that pair merged."""
    counts = Counter()
    for pieces, count in words.items():
        for pair in pairwise(pieces):
            counts[pair] += count
    best = max(counts, key=counts.get)
    merged = {}
    for pieces, count in words.items():
        new, place = [], 0
        while place < len(pieces):
            if pieces[place : place + 2] == best:
                new.append("".join(best))
                place += 2
            else:
                new.append(pieces[place])
                place += 1
        merged[tuple(new)] = count
    return best, merged


def _without_overlaps(pieces: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    last, overlaps = None, False
    for pair in pairwise(pieces):
        overlaps = pair == last and not overlaps
        last = pair
        if not overlaps:
            yield pair


# Counting

bpe_merge.mistake(
    "each word counts once, however frequent it is",
    edits=[("counts[pair] += count", "counts[pair] += 1")],
    observed='In `run` 6 times, `runner` 3 times and `sun` 5 times, "u" and "n" meet 14 times; you '
    "count 3, one for each word.",
    change="Add the word's count for each pair in it: `counts[pair] += count`.",
)
bpe_merge.mistake(
    "a pair that comes twice in a word counts once",
    edits=[("in pairwise(pieces)", "in set(pairwise(pieces))")],
    observed='In `cocon`, "c" and "o" meet twice, but you count them once: a set forgets that.',
    change="Add the word's count each time the pair comes, without a set.",
)
bpe_merge.mistake(
    "the count of the last word replaces those before",
    edits=[("counts[pair] += count", "counts[pair] = count")],
    observed="A pair has the count of the last word that holds it.",
    change="Add up over all words: `counts[pair] += count`.",
)
bpe_merge.mistake(
    "the rarest pair is taken",
    edits=[("max(counts, key", "min(counts, key")],
    observed="You merge the pair with the smallest count.",
    change="Take the largest: `max(counts, key=counts.get)`.",
)
bpe_merge.mistake(
    "the last pair in the alphabet is taken",
    edits=[("max(counts, key=counts.get)", "max(counts)")],
    observed="`max(counts)` compares the pairs themselves, letter by letter, not their counts.",
    change="Say what to compare: `max(counts, key=counts.get)`.",
)
bpe_merge.mistake(
    "the order of the two pieces is ignored",
    edits=[("counts[pair] +=", "counts[tuple(sorted(pair))] +=")],
    observed='"on" and "no" count as the same pair.',
    change="Count each pair in the order in which it is written.",
)
bpe_merge.mistake(
    "pairs with the same letters are counted together",
    edits=[
        ("counts = Counter()", "counts, spelt = Counter(), Counter()"),
        (
            "counts[pair] += count",
            'spelt["".join(pair)] += count\n            counts[pair] += 0',
        ),
        ("key=counts.get", 'key=lambda pair: spelt["".join(pair)]'),
    ],
    observed='"a" before "bc" and "ab" before "c" are two pairs; you add their counts up.',
    change='Count the pair itself, a tuple of two pieces, not `"".join(pair)`.',
)
bpe_merge.mistake(
    "the last pair of each word is not counted",
    edits=[("pairwise(pieces)", "pairwise(pieces[:-1])")],
    observed='"u" and "n" at the end of `run` and `sun` are left out.',
    change="A word of n pieces has n - 1 pairs: count all of them.",
)
bpe_merge.mistake(
    "the first pair of each word is not counted",
    edits=[("pairwise(pieces)", "pairwise(pieces[1:])")],
    observed="What the first piece of a word makes with the second is left out.",
    change="The mark `▁` is a piece like any other: count its pairs, too.",
)
bpe_merge.mistake(
    "pairs are counted across words",
    edits=[
        (
            "    for pieces, count in words.items():\n        for pair in pairwise(pieces):\n",
            "    text = [p for pieces in words for _ in range(words[pieces]) for p in pieces]\n"
            "    for pieces, count in [(text, 1)]:\n"
            "        for pair in pairwise(pieces):\n",
        )
    ],
    observed="The last piece of a word and the first of the next make a pair for you.",
    change="Count the pairs of each word alone.",
)
bpe_merge.mistake(
    "each word is cut into letters again",
    edits=[
        ("pairwise(pieces)", 'pairwise("".join(pieces))'),
        (
            "        new, place = [], 0\n",
            '        pieces = tuple("".join(pieces))\n        new, place = [], 0\n',
        ),
    ],
    observed="Earlier merges are lost: where `▁run` was one piece, you begin with letters.",
    change="Work on the pieces as they are, without joining them.",
)

MERGE_A_WORD = (
    "        new, place = [], 0\n"
    "        while place < len(pieces):\n"
    "            if pieces[place : place + 2] == best:\n"
    '                new.append("".join(best))\n'
    "                place += 2\n"
    "            else:\n"
    "                new.append(pieces[place])\n"
    "                place += 1\n"
)

# Merging

bpe_merge.mistake(
    "nothing is merged",
    edits=[("== best", "== list(best)")],
    observed="All words come back as they were.",
    change="Put one piece where the pair is. A slice of a tuple, `pieces[place : place + 2]`, is a "
    "tuple: it may equal the pair, and never a list.",
)
bpe_merge.mistake(
    "the word gets shorter while the loop counts on",
    edits=[
        (
            MERGE_A_WORD,
            "        new = list(pieces)\n"
            "        for place in range(len(new) - 1):\n"
            "            if (new[place], new[place + 1]) == best:\n"
            '                new[place : place + 2] = ["".join(best)]\n',
        )
    ],
    observed="Each merge makes the list one piece shorter, but `range(len(...) - 1)` was counted "
    "before: in the end there is no piece at that place.",
    change="Let a `while` loop ask for the length each time, or write the word into a new list.",
)
bpe_merge.mistake(
    "the pair is merged only once in each word",
    edits=[("] == best:", '] == best and "".join(best) not in new:')],
    observed='`banana` becomes "b", "an", "a", "n", "a": the second "an" stays as it was.',
    change="Go on after a merge, to the end of the word.",
)
bpe_merge.mistake(
    "after a merge, its second half comes again",
    edits=[("place += 2", "place += 1")],
    observed='`sun` becomes "▁", "s", "un", "n": a merged piece covers two places.',
    change="Go two places further after a merge: `place += 2`.",
)
bpe_merge.mistake(
    "a piece is merged both with the one before and with the one after",
    edits=[
        (
            MERGE_A_WORD,
            "        new = []\n"
            "        for place in range(len(pieces)):\n"
            "            if pieces[place : place + 2] == best:\n"
            '                new.append("".join(best))\n'
            "            elif place == 0 or pieces[place - 1 : place + 1] != best:\n"
            "                new.append(pieces[place])\n",
        )
    ],
    observed='`aaa` becomes "aa", "aa": the middle "a" is used twice.',
    change="Go two places further after a merge, so that what is merged is not looked at again.",
)
bpe_merge.mistake(
    "words are merged from their end",
    edits=[
        (
            "        new, place = [], 0\n",
            "        pieces, best = pieces[::-1], best[::-1]\n        new, place = [], 0\n",
        ),
        ('"".join(best)', '"".join(best[::-1])'),
        (
            "        merged[tuple(new)] = count\n",
            "        best = best[::-1]\n        merged[tuple(new[::-1])] = count\n",
        ),
    ],
    observed='`aaa` becomes "a", "aa".',
    change="Begin at the first piece, so that `aaa` becomes `aa` and `a`.",
)
bpe_merge.mistake(
    "parts of longer pieces are merged too",
    edits=[
        (
            MERGE_A_WORD,
            '        new = " ".join(pieces).replace(" ".join(best), "".join(best)).split(" ")\n',
        )
    ],
    observed='With the pair "b", "c" you merge "ab" and "c", too: in the text `ab c` there is a '
    "`b c`.",
    change="Compare whole pieces, not a text in which they are joined.",
)
bpe_merge.mistake(
    "the last piece of a word is lost",
    edits=[("place < len(pieces)", "place < len(pieces) - 1")],
    observed="The last piece is missing wherever it is not merged.",
    change="Go on as long as `place < len(pieces)`. A slice may reach beyond the end.",
)
bpe_merge.mistake(
    "there is a blank in the merged piece",
    edits=[('"".join(best)', '" ".join(best)')],
    observed='The new piece is "u n", not "un".',
    change='Join with nothing in between: `"".join(best)`, or `best[0] + best[1]`.',
)
bpe_merge.mistake(
    "only words that hold the pair come back",
    edits=[
        (
            "        merged[tuple(new)]",
            "        if tuple(new) != pieces:\n            merged[tuple(new)]",
        )
    ],
    observed="Words without the pair are missing.",
    change="Put every word into the new dictionary, changed or not.",
)
bpe_merge.mistake(
    "the words lose their counts",
    edits=[("merged[tuple(new)] = count", "merged[tuple(new)] = 1")],
    observed="In the new dictionary each word has the count 1, and the next merge would be wrong.",
    change="Keep the word's count: `merged[tuple(new)] = count`.",
)
bpe_merge.mistake(
    "the words come back as lists",
    edits=[("merged[tuple(new)]", "merged[new]")],
    observed="A list may change, so Python refuses it as the key of a dictionary.",
    change="Make a tuple of it: `merged[tuple(new)] = count`.",
)
bpe_merge.mistake(
    "the words come back as text",
    edits=[("merged[tuple(new)]", 'merged[" ".join(new)]')],
    observed="The keys are texts with blanks; tuples of pieces are asked for.",
    change="Use `tuple(new)` as the key.",
)

# What is returned

bpe_merge.mistake(
    "the pair is returned as one piece",
    edits=[("return best, merged", 'return "".join(best), merged')],
    observed='You return "un" where ("u", "n") is asked for.',
    change="Return the pair itself; from it, later words know what to merge.",
)
bpe_merge.mistake(
    "the pair's count is returned, not the pair",
    edits=[("return best, merged", "return counts[best], merged")],
    observed="The first thing that you return is a number.",
    change="Return the pair that has the largest count, a tuple of two pieces.",
)
bpe_merge.mistake(
    "the pair comes with its count",
    edits=[("best = max(counts, key=counts.get)", "[best] = counts.most_common(1)")],
    observed="`most_common(1)[0]` is a pair of pair and count. Nothing is merged, because no two "
    "pieces equal that.",
    change="Take the pair out of it: `counts.most_common(1)[0][0]`.",
)
bpe_merge.mistake(
    "the words come first",
    edits=[("return best, merged", "return merged, best")],
    observed="The first thing that you return is the dictionary.",
    change="Return the pair first, then the words.",
)
bpe_merge.mistake(
    "places that overlap count once",
    edits=[("in pairwise(pieces)", "in _without_overlaps(pieces)")],
    observed='In `aaa`, "a" meets "a" at two places, but you count one: they share the middle '
    "piece. `str.count` and a loop that jumps over the place it has counted do that.",
    change="Count every two neighbours: `pairwise(pieces)`. Only merging jumps over what is "
    "merged.",
)
bpe_merge.mistake(
    "the pair is chosen by the score of WordPiece",
    edits=[
        ("counts = Counter()", "counts, single = Counter(), Counter()"),
        (
            "        for pair in pairwise(pieces):\n",
            "        for piece in pieces:\n"
            "            single[piece] += count\n"
            "        for pair in pairwise(pieces):\n",
        ),
        ("key=counts.get", "key=lambda p: counts[p] / (single[p[0]] * single[p[1]])"),
    ],
    observed="You divide a pair's count by those of its two pieces, so rare pieces win, such as "
    '"a" and "b" in `ab` against "a" and "a" in `aaa`.',
    change="Take the pair with the largest count: `max(counts, key=counts.get)`.",
)
