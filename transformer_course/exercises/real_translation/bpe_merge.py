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


# What mistakes in bpe_merge.toml are made with.


def _without_overlaps(pieces: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    last, overlaps = None, False
    for pair in pairwise(pieces):
        overlaps = pair == last and not overlaps
        last = pair
        if not overlaps:
            yield pair
