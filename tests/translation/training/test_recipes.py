import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tools.sources import ROOT
from transformer_course.model import TransformerConfig
from transformer_course.translation.corpora.registry import CORPORA
from transformer_course.translation.training.recipe import NAMES, Recipe, setting
from transformer_course.translation.training.recipes import (
    RECIPES,
    meanings,
    read_recipe,
    recipe_for,
    recipe_names,
    shipped_recipe,
)
from transformer_course.translation.training.settings import TrainingSettings

TINY = shipped_recipe("tiny")


def test_every_corpus_has_a_recipe() -> None:
    assert RECIPES.keys() == CORPORA.keys()
    assert all(recipe_for(corpus) is RECIPES[corpus] for corpus in CORPORA)


def test_unknown_corpus_is_refused() -> None:
    with pytest.raises(ValueError, match="no corpus 'wmt99'; use one of toy, files"):
        recipe_for("wmt99")


@pytest.mark.parametrize("name", recipe_names())
def test_recipe_is_printed_and_read_again(name: str, tmp_path: Path) -> None:
    """Whatever is in the place of what is not given."""
    recipe = shipped_recipe(name)
    path = tmp_path / "my.toml"
    path.write_text(recipe.in_words(meanings()), encoding="utf-8")
    other = shipped_recipe("toy" if name != "toy" else "base")
    again = read_recipe(path, other)
    assert again.settings() == recipe.settings()
    assert TransformerConfig(37, 37, **again.sizes) == TransformerConfig(37, 37, **recipe.sizes)


def test_every_setting_has_its_meaning() -> None:
    assert {section: [*names] for section, names in meanings().items()} == NAMES


def test_base_is_the_papers() -> None:
    sizes = shipped_recipe("base").sizes
    paper = TransformerConfig(max_len=sizes["max_len"])
    assert TransformerConfig(**sizes) == paper


def test_file_that_says_little_leaves_the_rest(tmp_path: Path) -> None:
    path = tmp_path / "my.toml"
    path.write_text("[training]\nsteps = 7\nlearning_rate = 1\n", encoding="utf-8-sig")
    recipe = read_recipe(path, TINY)
    assert (recipe.training.steps, recipe.training.learning_rate) == (7, 1.0)
    assert recipe.sizes == TINY.sizes
    path.write_text('like = "base"\n[text]\nsubwords = 0\n', encoding="utf-8")
    assert read_recipe(path, TINY) == shipped_recipe("base").changed({"text": {"subwords": 0}})


def test_zero_is_none_where_nothing_may_be_given() -> None:
    some = TINY.changed({"training": {"patience": 3}, "text": {"subwords": 500}})
    assert (some.training.patience, some.subwords) == (3, 500)
    none = some.changed({"training": {"patience": 0}, "text": {"subwords": 0}})
    assert (none.training.patience, none.subwords) == (None, None)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("[trainin]", r"my\.toml: there is no section trainin; did you mean training\?"),
        ("steps = 5", "there is no section steps; use model, text, training"),
        ("model = 5", r"model is a section: write \[model\]"),
        ("[training]\nstep = 5", r"no setting training\.step; did you mean training\.steps\?"),
        ("[text]\npad_id = 5", r"no setting text\.pad_id; use subwords, min_frequency"),
        ("[model]\npad_id = 5", r"no setting model\.pad_id; use d_model, heads"),
        ("[training]\nsteps = 'many'", r"training\.steps must be a whole number; got 'many'"),
        ("[training]\nsteps = 5.0", "must be a whole number; got 5.0"),
        ("[training]\nsteps = true", "must be a whole number; got True"),
        ("[training]\nfast = 1", "must be true or false; got 1"),
        ("[training]\nwarmup = 'x'", "must be a number; got 'x'"),
        ("[training]\nsteps = 0", "steps must be a whole number of at least 1"),
        ("[training]\nwarmup = 2.0", "warmup must be between 0 and 1"),
        ("[training]\nseed = -1", "seed must be between 0"),
        ("[text]\nsubwords = 'many'", 'must be a whole number or "auto"'),
        ("[model]\nheads = 7", "d_model must be divisible by heads.*d_model=128, heads=7"),
        ("[model]\nd_model = 5\nheads = 5", "d_model must be a positive even number"),
        ("[model]\ndropout = 1.5", r"dropout must be in \[0, 1\)"),
        ("[model]\nd_model = 0", "d_model must be a whole number of at least 1"),
        ("[model]\npositions = 'relative'", "positions must be one of"),
        ("like = 'huge'", "no settings 'huge' ship.*use base, little, multi30k, .*tiny"),
        ("[training", r"my\.toml is not TOML .*`transformer-course settings` prints"),
    ],
)
def test_what_cannot_be_is_refused_in_a_sentence(tmp_path: Path, text: str, complaint: str) -> None:
    path = tmp_path / "my.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=complaint):
        read_recipe(path, TINY)


def test_reading_recipes_does_not_load_the_compiler() -> None:
    """It takes seconds, and every command and every lesson reads them."""
    code = (
        "import sys, transformer_course.translation.training.recipes; "
        "sys.exit('torch._dynamo' in sys.modules)"
    )
    subprocess.run(
        [sys.executable, "-c", code], env=os.environ | {"PYTHONPATH": str(ROOT)}, check=True
    )


def test_other_encodings_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "my.toml"
    path.write_text("[training]", encoding="utf-16")
    with pytest.raises(ValueError, match=r"my\.toml is not UTF-8 text"):
        read_recipe(path, TINY)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("training.steps=500", {"training": {"steps": 500}}),
        ("training.learning_rate = 1e-3", {"training": {"learning_rate": 0.001}}),
        ("model.norm_first=true", {"model": {"norm_first": True}}),
        ("training.schedule=noam", {"training": {"schedule": "noam"}}),
        ('text.subwords="auto"', {"text": {"subwords": "auto"}}),
    ],
)
def test_single_settings_are_read(text: str, value: dict) -> None:
    assert setting(text) == value
    Recipe(TrainingSettings()).changed(value)


@pytest.mark.parametrize("text", ["steps=500", "training.steps", "", "="])
def test_single_settings_of_another_form_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"written as section\.name=value"):
        setting(text)


def test_printed_settings_are_toml() -> None:
    read = tomllib.loads(TINY.in_words(meanings()))
    assert read["text"] == {"subwords": "auto", "min_frequency": 1, "most_words": 100}
