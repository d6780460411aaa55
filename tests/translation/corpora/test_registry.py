"""A corpus is registered once, and everything that lists corpora agrees."""

import inspect

import pytest

from transformer_course.cli import main
from transformer_course.translation.corpora.registry import CORPORA, OPTIONS
from transformer_course.translation.training.recipes import RECIPES
from transformer_course.translation.training.runs import Run


@pytest.mark.parametrize("name", CORPORA)
def test_every_option_is_an_argument(name):
    kind = CORPORA[name]
    assert set(kind.options.values()) <= inspect.signature(kind.make).parameters.keys()
    assert set(kind.needs) <= kind.options.keys()


def test_every_corpus_has_a_recipe_and_every_option_a_place_in_a_run():
    assert RECIPES.keys() == CORPORA.keys()
    assert set(OPTIONS) <= Run.__dataclass_fields__.keys()


def test_the_command_line_names_them_all(capsys):
    with pytest.raises(SystemExit):
        main(["train", "--help"])
    said = capsys.readouterr().out
    assert all(f" {name}" in said for name in CORPORA)
    assert all(f"--{option}" in said for option in OPTIONS)
