"""Captions that are changed: the same word on both sides, and most captions as they are."""

import random

import pytest

from benchmarks.fragile_training import changed, counted, named
from transformer_course.translation.corpora.corpus import SentencePair

CHANCE = random.Random(0)


@pytest.mark.parametrize(
    ("language", "target"), [("fr", "Un homme dort."), ("de", "Ein Mann schläft.")]
)
def test_name_stands_on_both_sides(language: str, target: str) -> None:
    pair = named(SentencePair("A man is sleeping.", target), language, CHANCE)
    name = pair.source.split()[0]
    assert name.istitle() and pair.source == f"{name} is sleeping."
    assert pair.target.split() == [name, *target.split()[2:]]


def test_number_stands_on_both_sides() -> None:
    pair = counted(SentencePair("Two dogs run.", "Deux chiens courent."), "fr", CHANCE)
    number = pair.source.split()[0]
    assert number.isdigit() and pair.target == f"{number} chiens courent."


@pytest.mark.parametrize(
    ("source", "target"),
    [("A man is sleeping.", "Quelqu'un dort."), ("A mannequin stands.", "Un homme est là.")],
)
def test_nothing_is_put_where_one_side_begins_otherwise(source: str, target: str) -> None:
    assert named(SentencePair(source, target), "fr", CHANCE) is None


def test_most_captions_stay_and_the_same_seed_changes_the_same() -> None:
    pairs = [SentencePair("A man is sleeping.", "Un homme dort.")] * 1000
    found = changed(pairs, "fr", seed=1)
    assert found == changed(pairs, "fr", seed=1)
    assert 0.5 < sum(pair == pairs[0] for pair in found) / len(found) < 0.8
