from dataclasses import FrozenInstanceError

import pytest

from transformer_course.translation.corpora.corpus import (
    Corpus,
    SentencePair,
    fingerprint,
    languages_of_pair,
)

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


@pytest.mark.parametrize(
    "other",
    [
        [],
        [PAIR, PAIR],
        [SentencePair("the cat sleeps", "le chat")],
        [SentencePair("the cat", "le chat dort")],
        [SentencePair("le chat dort", "the cat sleeps")],
    ],
)
def test_another_text_has_another_fingerprint(other):
    assert fingerprint([SentencePair(PAIR.source, PAIR.target)]) == fingerprint([PAIR])
    assert fingerprint(other) != fingerprint([PAIR])


def test_a_pair_needs_no_alignment():
    assert SentencePair("no", "non").alignment == ()


def test_a_pair_does_not_change():
    with pytest.raises(FrozenInstanceError):
        PAIR.target = "le chien dort"


def test_long_training_pairs_are_left_out_and_counted(corpus):
    long_source = SentencePair("the small cat sleeps", "le chat dort")
    long_target = SentencePair("the cat sleeps", "le petit chat dort")
    pairs = [PAIR, long_source, long_target]
    small = Corpus("small", "en", "fr", {"train": pairs, "dev": pairs}, {"a side is blank": 1})
    shortened = small.without_long(3)
    assert shortened.split("train") == [PAIR]
    assert shortened.split("dev") == pairs
    assert shortened.left_out == {"a side is blank": 1, "over 3 words, in train": 2}
    assert small.split("train") == pairs
    assert corpus.without_long(3) == corpus
    assert corpus.left_out == {}


def test_pair_is_split_into_its_languages():
    assert languages_of_pair("fr-en", ["en-fr", "fr-en"]) == ("fr", "en")


@pytest.mark.parametrize("pair", ["en-de", "enfr", "", "en-fr-de"])
def test_unknown_pair_is_refused_with_the_known_ones(pair):
    with pytest.raises(ValueError, match=r"use one of en-fr, fr-en"):
        languages_of_pair(pair, ["en-fr", "fr-en"])


def test_a_text_of_long_lines_alone_is_refused() -> None:
    pairs = [SentencePair("a b c", "d e f")] * 3
    corpus = Corpus("files", "en", "fr", {"train": pairs, "dev": pairs})
    with pytest.raises(ValueError, match="all 3 training pairs have over 2 words on a side: put"):
        corpus.without_long(2)


def test_what_is_held_out_has_a_fingerprint_of_its_own() -> None:
    pairs = [SentencePair(letter, letter) for letter in "abc"]
    corpus = Corpus("files", "en", "fr", {"train": pairs[:1], "dev": pairs[1:2], "test": pairs[2:]})
    other = Corpus("files", "en", "fr", {"train": [], "dev": pairs[1:2], "test": pairs[2:]})
    assert corpus.held_out == other.held_out
    assert corpus.held_out != Corpus("files", "en", "fr", {"train": pairs, "dev": []}).held_out
