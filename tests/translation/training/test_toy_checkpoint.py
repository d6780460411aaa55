"""The toy translator that ships with the package keeps what its run.json says."""

import json

import pytest

from transformer_course.translation import (
    RECIPES,
    Translator,
    evaluate,
    toy_checkpoint,
    toy_corpus,
)
from transformer_course.translation.training.runs import Run


@pytest.fixture(scope="module")
def translator() -> Translator:
    return Translator.load(toy_checkpoint())


def test_it_translates_the_sentence_of_the_readme(translator):
    assert translator.translate(["the small cat does not sleep"]) == ["le petit chat ne dort pas"]


def test_it_was_made_by_the_recipe_as_it_is_now():
    run = Run.read(toy_checkpoint())
    assert run.corpus == "toy"
    assert run.recipe == RECIPES["toy"]


@pytest.mark.exhaustive
@pytest.mark.parametrize("split", ["test", "test_combinations"])
def test_its_recorded_scores_are_reproduced(translator, split):
    recorded = json.loads((toy_checkpoint() / "run.json").read_text(encoding="utf-8"))
    scores = evaluate(translator, toy_corpus().split(split))
    # Another processor rounds differently, which may tip a translation or two of a thousand.
    expected = recorded["scores"][split]
    assert {name: scores[name] for name in expected} == pytest.approx(expected, rel=0.003)
    assert scores["exact_match"] >= 0.99
    assert scores["alignment_accuracy"] >= 0.95


def test_it_is_small():
    assert sum(file.stat().st_size for file in toy_checkpoint().iterdir()) < 2_000_000
