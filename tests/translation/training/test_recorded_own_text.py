"""The recorded runs of lesson 13 say what their counts say."""

from statistics import fmean

import pytest

from transformer_course.translation import bleu_of_counts, own_text_runs
from transformer_course.translation.training.recipes import recipe_names

RECORDED = own_text_runs()


def test_two_sides_have_three_seeds_each() -> None:
    runs = [(run["pieces"], run["seed"]) for run in RECORDED["runs"]]
    assert runs == [(pieces, seed) for pieces in (1500, 6000) for seed in range(3)]
    assert RECORDED["settings"] in recipe_names()


@pytest.mark.parametrize("run", RECORDED["runs"], ids=lambda run: f"{run['pieces']}-{run['seed']}")
def test_score_follows_from_the_counts(run: dict) -> None:
    assert run["counts"].shape == (RECORDED["pairs"]["test"], 10)
    assert bleu_of_counts(run["counts"].sum(axis=0)) == pytest.approx(run["test_bleu"])
    assert run["curve"][-1]["dev_bleu"] == pytest.approx(run["dev_bleu"], abs=1e-3)


def test_all_runs_are_judged_on_the_same_references() -> None:
    lengths = [run["counts"][:, 9].tolist() for run in RECORDED["runs"]]
    assert all(of_run == lengths[0] for of_run in lengths)
    assert fmean(lengths[0]) > 5
