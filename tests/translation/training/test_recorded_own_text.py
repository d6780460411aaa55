"""The recorded runs of lesson 13 say what their counts say."""

from pathlib import Path
from statistics import fmean

import pytest

from transformer_course.translation import bleu_of_counts, own_text_runs
from transformer_course.translation.training.recipes import recipe_names, shipped_recipe
from transformer_course.translation.training.recorded_runs import scores_by_pairs

RECORDED = own_text_runs()
ROOT = Path(__file__).parents[3]


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


def test_page_on_ones_own_text_says_what_is_recorded() -> None:
    page = (ROOT / "book" / "own_text.md").read_text(encoding="utf-8")
    for name in ("little", "tiny", "small"):
        assert f"`{name}`: {shipped_recipe(name).training.steps:,} steps" in page.replace(
            f"`--settings {name}`", f"`{name}`"
        )
    runs = RECORDED["runs"]
    low, high = (
        fmean(run["test_bleu"] for run in runs if run["pieces"] == pieces)
        for pieces in (1500, 6000)
    )
    minutes = [run["minutes"] for run in runs]
    assert (
        f"BLEU {low:.0f} to {high:.0f} with {RECORDED['pairs']['train']:,} pairs, German into "
        f"French, in {min(minutes):.0f} to {max(minutes):.0f} minutes" in page
    )
    sizes = {run["pairs"]: [] for run in scores_by_pairs()}
    for run in scores_by_pairs():
        sizes[run["pairs"]].append(run)
    means = {size: f"{fmean(run['bleu'] for run in of):.0f}" for size, of in sizes.items()}
    assert {len(of) for of in sizes.values()} == {3}  # "three seeds each"
    most = max(sizes)
    minutes = [run["minutes"] for run in sizes[most]]
    assert (
        f"BLEU {means[10_000]} with 10,000 pairs and {means[most]} with {most:,} (three seeds "
        f"each), English into French, the latter in {min(minutes):.0f} to "
        f"{max(minutes):.0f} minutes" in page
    )
    assert (
        f"BLEU {means[1000]} with 1,000 captions and {means[3000]} with 3,000, three seeds each, "
        f"English into French" in page
    )
    lesson = (ROOT / "notebooks" / "text" / "09_real_translation.md").read_text(encoding="utf-8")
    said = f"Captions gave BLEU {means[3000]} with 3,000 pairs and {means[most]} with {most:,}."
    assert said in lesson
    losses = [[look["dev_loss"] for look in run["curve"]] for run in runs if run["pieces"] == 6000]
    assert [of_run.index(min(of_run)) for of_run in losses] == [2, 2, 2]  # of six looks
    bleus = [[look["dev_bleu"] for look in run["curve"]] for run in runs if run["pieces"] == 6000]
    assert all(max(of_run[3:]) > of_run[2] for of_run in bleus)
