"""The translators of captions that ship with the package keep what is said of them."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from tests.real_texts import MULTI30K, needs_multi30k
from transformer_course.translation import (
    Translator,
    bleu_tokenized_lowercase,
    multi30k_corpus,
    shipped_checkpoint,
)
from transformer_course.translation.training.recipes import LONG_RUN, PIECES_RUN
from transformer_course.translation.training.runs import Run
from transformer_course.translation.translator import CAPTIONS, SHIPPED

PAIRS = ("en-fr", "en-de")
RECIPE_OF = {"multi30k-en-fr": LONG_RUN, "multi30k-en-de": PIECES_RUN}


@pytest.fixture(scope="module", params=PAIRS)
def folder(request: pytest.FixtureRequest) -> Path:
    return shipped_checkpoint(f"multi30k-{request.param}")


def test_the_captions_are_translated_as_they_were(folder: Path) -> None:
    captions = CAPTIONS.read_text(encoding="utf-8").splitlines()
    expected = (folder / "captions.txt").read_text(encoding="utf-8").splitlines()
    translations = Translator.load(folder).translate(captions, beam=5)
    assert len(captions) == len(expected) == 100
    # Another processor rounds differently, which may tip a close decision or two.
    assert sum(a != b for a, b in zip(translations, expected, strict=True)) <= 2


def test_it_was_made_by_its_recipe(folder: Path) -> None:
    recipe = RECIPE_OF[folder.name]
    assert Run.read(folder).recipe == replace(recipe, training=replace(recipe.training, threads=1))


def test_it_is_small(folder: Path) -> None:
    translator = Translator.load(folder)
    assert sum(weight.numel() for weight in translator.model.parameters()) <= 2_700_000
    assert sum(file.stat().st_size for file in folder.iterdir()) <= 6_000_000


@pytest.mark.exhaustive
@needs_multi30k
def test_its_recorded_score_is_reproduced(folder: Path) -> None:
    pair = folder.name.removeprefix("multi30k-")
    recorded = json.loads((folder / "run.json").read_text(encoding="utf-8"))["scores"]["beam_5"]
    test = multi30k_corpus(pair, MULTI30K).split("test")
    translations = Translator.load(folder).translate([each.source for each in test], beam=5)
    references = [each.target for each in test]
    score = bleu_tokenized_lowercase(translations, references, pair[-2:])
    assert score == pytest.approx(recorded["bleu_tokenized_lowercase"], abs=0.1)


def test_another_name_is_refused_with_those_that_ship() -> None:
    with pytest.raises(ValueError, match=r"no translator 'multi30k-en-it' ships.*use .*toy"):
        shipped_checkpoint("multi30k-en-it")


def test_the_card_says_what_was_measured() -> None:
    card = (SHIPPED / "README.md").read_text(encoding="utf-8").splitlines()
    cells = {
        row.split("|")[1].strip(): [c.strip() for c in row.split("|")[3:5]]
        for row in card
        if row.startswith("| ")
    }
    scores = [
        json.loads((shipped_checkpoint(f"multi30k-{pair}") / "run.json").read_text())["scores"]
        for pair in PAIRS
    ]
    for name, figure in (
        ("BLEU (sacreBLEU, 13a, cased, beam 5)", "sacrebleu"),
        ("BLEU as older papers report it", "bleu_tokenized_lowercase"),
    ):
        assert cells[name] == [f"{each['beam_5'][figure]:.1f}" for each in scores]
