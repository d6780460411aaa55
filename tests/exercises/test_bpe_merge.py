from collections import Counter
from itertools import pairwise

import pytest

from transformer_course.exercises import real_translation
from transformer_course.translation import SubwordTokenizer, learn_subwords

exercise = real_translation.bpe_merge
WORDS = {"run": 6, "runner": 3, "red": 2, "sun": 5, "sea": 1}


@pytest.mark.parametrize("number", range(len(exercise.task.cases)))
def test_no_two_pairs_share_the_first_place(number):
    """The statement promises it, so that nobody has to choose."""
    (words,) = exercise.task.cases[number].inputs
    counts = Counter()
    for pieces, count in words.items():
        for pair in pairwise(pieces):
            counts[pair] += count
    (_, first), (_, second) = counts.most_common(2)
    assert first > second


def test_the_merges_are_those_of_sentencepiece():
    words = {("▁", *word): count for word, count in WORDS.items()}
    merged = []
    for _ in range(5):
        pair, words = exercise.task.reference(words)
        merged.append("".join(pair))
    letters = set("▁".join(WORDS)) | {"▁"}
    text = [word for word, count in WORDS.items() for _ in range(count)]
    pieces = learn_subwords(text, 4 + len(letters) + len(merged))
    assert list(SubwordTokenizer("en", pieces).vocabulary.tokens[4:9]) == merged
