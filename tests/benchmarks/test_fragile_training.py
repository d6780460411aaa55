"""Captions that are changed: the same word on both sides, and most captions as they are."""

import json
import random
from collections.abc import Iterable

import pytest

from benchmarks.fragile_input import CAPITALS
from benchmarks.fragile_training import changed, counted, named
from benchmarks.results_file import RESULTS
from transformer_course.translation.corpora.corpus import SentencePair
from transformer_course.translation.translator import SHIPPED

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


def recorded(captions: str) -> list[dict]:
    runs = json.loads((RESULTS / "fragile_training.json").read_text(encoding="utf-8"))["runs"]
    return [run for run in runs if run["captions"] == captions]


def listed(values: Iterable[float]) -> str:
    return ", ".join(map(str, values))


def test_card_says_what_is_recorded() -> None:
    card = " ".join((SHIPPED / "README.md").read_text(encoding="utf-8").split())
    with_names, without = recorded("changed"), recorded("as they are")
    assert [run["seed"] for run in with_names] == [run["seed"] for run in without] == [0, 1, 2]

    def counts(name: str, runs: list[dict]) -> str:
        return listed(run["survive"][name] for run in runs)

    names = [counts("names", runs) for runs in (with_names, without)]
    assert f"Names that survive: {names[0]}; with captions as they are: {names[1]}." in card
    negations = [counts("negation", runs) for runs in (with_names, without)]
    assert f"Negations: {negations[0]} and {negations[1]}." in card
    assert f"In capitals: {counts(CAPITALS, with_names)} and 0 each time." in card
    assert {run["survive"][CAPITALS] for run in without} == {0}
    assert {run["survive"]["other numbers"] for run in with_names + without} == {10}
    bleu = [listed(round(run["bleu"]["test"], 1) for run in runs) for runs in (with_names, without)]
    assert f"BLEU on the test split is {bleu[0]} and {bleu[1]}." in card
