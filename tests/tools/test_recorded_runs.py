"""Seeds that are trained one after the other end in one file."""

from copy import deepcopy

import pytest

from tools.recorded_runs import MEANS, joined
from transformer_course.translation import recorded_run


@pytest.fixture
def recorded():
    return recorded_run("en-de", "short")


def cut(results, *numbers):
    """Return results of some of the seeds only, as if these had been trained."""
    left = deepcopy(results)
    left["seeds"] = [row for row in left["seeds"] if row["seed"] in numbers]
    left["settings"]["training"]["seed"] = numbers[0]
    return left


def test_seeds_that_are_added_give_what_all_at_once_give(recorded):
    together = joined(cut(recorded, 0, 2), cut(recorded, 1))
    assert together["seeds"] == recorded["seeds"]
    assert together["curve"] == recorded["curve"]
    assert {name: together[name] for name in MEANS} == {name: recorded[name] for name in MEANS}


def test_a_seed_that_was_trained_anew_takes_the_place_of_the_old(recorded):
    new = cut(recorded, 0) | {"curve": []}
    new["seeds"][0]["beam_5"]["chrf"] += 3
    together = joined(recorded, new)
    assert [row["seed"] for row in together["seeds"]] == [0, 1, 2]
    assert together["chrf"] == pytest.approx(recorded["chrf"] + 1, abs=0.01)
    assert together["curve"] == []


def test_seeds_of_two_recipes_are_not_put_together(recorded):
    new = cut(recorded, 1)
    new["settings"]["subwords"] += 1000
    with pytest.raises(ValueError, match="seed 0, 2 was trained otherwise; name it"):
        joined(recorded, new)


def test_all_seeds_anew_may_follow_another_recipe(recorded):
    new = deepcopy(recorded)
    new["settings"]["subwords"] += 1000
    assert joined(recorded, new) == new
