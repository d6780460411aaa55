import math
import random
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean

import pytest
import sacrebleu
from hypothesis import given
from hypothesis import strategies as st

from tests.real_texts import EUROPARL, MULTI30K, needs_europarl, needs_multi30k
from transformer_course.translation.corpora.text_files import iterate_lines
from transformer_course.translation.evaluation.bleu import (
    bleu_from_scratch,
    brevity_penalty,
    check_equal_numbers,
    clipped_counts,
    ngrams,
)

TEST_SETS = [
    MULTI30K / "test_2016_flickr.fr.gz",
    MULTI30K / "test_2016_flickr.de.gz",
    EUROPARL / "europarl-v7.fr-en.fr",
    EUROPARL / "europarl-v7.fr-en.en",
]
# Few word types, so that n-grams match, repeat and are clipped.
SENTENCES = st.lists(st.sampled_from("abc"), max_size=9)
PAIRS = st.lists(st.tuples(SENTENCES, SENTENCES), min_size=1, max_size=5)


def words(*sentences: str) -> list[list[str]]:
    return [sentence.split() for sentence in sentences]


def of_sacrebleu(
    candidates: Sequence[list[str]], references: Sequence[list[str]], max_n: int = 4
) -> float:
    """BLEU, 0 to 1, of words as they stand, nothing smoothed."""
    metric = sacrebleu.BLEU(
        force=True, tokenize="none", smooth_method="none", max_ngram_order=max_n
    )
    texts = [[" ".join(sentence) for sentence in side] for side in (candidates, references)]
    return metric.corpus_score(texts[0], [texts[1]]).score / 100


def test_ngrams_overlap() -> None:
    assert ngrams(["a", "b", "a", "b"], 2) == {("a", "b"): 2, ("b", "a"): 1}


def test_sentence_shorter_than_n_has_no_ngram() -> None:
    assert ngrams(["a", "b"], 3) == {}
    assert clipped_counts(["a", "b"], ["a", "b"], 3) == (0, 0)


def test_word_counts_no_more_often_than_in_the_reference() -> None:
    """The example of Papineni et al., section 2.1: 2/7 where plain precision is 7/7."""
    candidate, reference = words("the the the the the the the", "the cat is on the mat")
    assert clipped_counts(candidate, reference, 1) == (2, 7)
    assert clipped_counts(candidate, reference, 2) == (0, 6)


@pytest.mark.parametrize(
    ("n", "counts"),
    [
        (1, (5, 6)),  # all but "d"
        (2, (3, 5)),  # the second "a b" and "c d" have no partner
        (3, (2, 4)),  # b a b, a b c
        (4, (1, 3)),  # b a b c
    ],
)
def test_counts_by_hand(n: int, counts: tuple[int, int]) -> None:
    candidate, reference = words("a b a b c d", "b a b c c a")
    assert clipped_counts(candidate, reference, n) == counts


@pytest.mark.parametrize("n", [0, -1])
def test_ngrams_have_words(n: int) -> None:
    with pytest.raises(ValueError, match=f"at least 1 word; got n = {n}"):
        clipped_counts(["a"], ["a"], n)


def test_only_short_candidates_pay() -> None:
    assert brevity_penalty(4, 6) == pytest.approx(math.exp(-0.5))  # 1 - 6/4
    assert brevity_penalty(6, 6) == 1
    assert brevity_penalty(9, 6) == 1


def test_silence_earns_nothing() -> None:
    assert brevity_penalty(0, 6) == 0
    assert bleu_from_scratch([[]], words("a b c d")) == 0


def test_one_word_too_many_by_hand() -> None:
    """6/7 * 5/6 * 4/5 * 3/4 = 3/7, and no penalty."""
    candidates, references = words("the cat sat on the mat today"), words("the cat sat on the mat")
    assert bleu_from_scratch(candidates, references) == pytest.approx((3 / 7) ** (1 / 4))


def test_prefix_pays_for_its_brevity_alone() -> None:
    candidates, references = words("the cat sat on"), words("the cat sat on the mat")
    assert bleu_from_scratch(candidates, references) == pytest.approx(math.exp(-0.5))


def test_counts_are_pooled_before_shares_are_taken() -> None:
    """8/10 * 4/8 * 3/6 * 2/4 = 1/10; the sentences alone have 1 and 0."""
    candidates, references = words("a b c d e", "a x c y e"), words("a b c d e", "a b c d e")
    alone = [bleu_from_scratch([c], [r]) for c, r in zip(candidates, references, strict=True)]
    assert fmean(alone) == 0.5
    assert bleu_from_scratch(candidates, references) == pytest.approx(0.1 ** (1 / 4))


def test_lengths_are_pooled_before_brevity_is_judged() -> None:
    candidates, references = words("a b c d", "a b c d e f"), words("a b c d e", "a b c d e")
    pooled = (9 / 10 * 7 / 8 * 5 / 6 * 3 / 4) ** (1 / 4)  # ten words of ten: no penalty
    assert bleu_from_scratch(candidates, references) == pytest.approx(pooled)


def test_without_four_words_in_a_row_bleu_is_zero() -> None:
    candidates, references = words("a b c x"), words("a b c d")
    assert bleu_from_scratch(candidates, references) == 0
    assert bleu_from_scratch(candidates, references, max_n=3) > 0


@given(PAIRS, st.integers(1, 5))
def test_it_is_that_of_sacrebleu(pairs: list[tuple[list[str], list[str]]], max_n: int) -> None:
    candidates, references = ([*side] for side in zip(*pairs, strict=True))
    ours = bleu_from_scratch(candidates, references, max_n)
    assert ours == pytest.approx(of_sacrebleu(candidates, references, max_n), abs=1e-12)


def corrupted(sentence: list[str], share: float, generator: random.Random) -> list[str]:
    """Drop, double or move each word with the given probability."""
    result: list[str] = []
    for word in sentence:
        change = generator.choice(["drop", "double", "move"])
        if generator.random() >= share:
            result.append(word)
        elif change == "double":
            result += [word, word]
        elif change == "move":
            result.insert(generator.randrange(len(result) + 1), word)
    return result


@needs_multi30k
@needs_europarl
@pytest.mark.parametrize("path", TEST_SETS, ids=lambda path: path.name)
def test_it_is_that_of_sacrebleu_on_whole_test_sets(path: Path) -> None:
    references = words(*iterate_lines(path))
    generator = random.Random(0)
    found = []
    for share in (0.1, 0.6):
        candidates = [corrupted(reference, share, generator) for reference in references]
        found.append(bleu_from_scratch(candidates, references))
        assert found[-1] == pytest.approx(of_sacrebleu(candidates, references), abs=1e-12)
    assert 0 < found[1] < found[0] < 1


def test_unequal_numbers_are_refused() -> None:
    with pytest.raises(ValueError, match="got 2 translations and 1 references"):
        bleu_from_scratch(words("a", "b"), words("a"))
    with pytest.raises(ValueError, match="got 1 translations and 2 references"):
        bleu_from_scratch(words("a"), words("a", "b"))


def test_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="got 0 translations and 0 references; give at least one"):
        check_equal_numbers([], [])


def test_no_ngrams_at_all_are_refused() -> None:
    with pytest.raises(ValueError, match="got max_n = 0"):
        bleu_from_scratch(words("a"), words("a"), max_n=0)


@pytest.mark.parametrize(
    ("candidates", "references"), [(["le chat"], [["le", "chat"]]), ([["le", "chat"]], ["le chat"])]
)
def test_text_is_refused(unchecked_signatures: None, candidates: list, references: list) -> None:
    with pytest.raises(TypeError, match="list of words; got the text 'le chat'"):
        bleu_from_scratch(candidates, references)
