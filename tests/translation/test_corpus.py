from dataclasses import FrozenInstanceError

import pytest

from transformer_course.translation.corpus import Corpus, SentencePair

PAIR = SentencePair("the cat sleeps", "le chat dort", ((0, 0), (1, 1), (2, 2)))


@pytest.fixture
def corpus() -> Corpus:
    return Corpus("small", "en", "fr", {"train": [PAIR], "dev": []})


def test_a_split_is_found_by_its_name(corpus):
    assert corpus.split("train") == [PAIR]
    assert corpus.split("dev") == []


def test_an_unknown_split_is_refused_with_the_known_ones(corpus):
    with pytest.raises(ValueError, match=r"'small' has no split 'tset'; use one of train, dev"):
        corpus.split("tset")


def test_a_pair_needs_no_alignment():
    assert SentencePair("no", "non").alignment == ()


def test_a_pair_does_not_change():
    with pytest.raises(FrozenInstanceError):
        PAIR.target = "le chien dort"
