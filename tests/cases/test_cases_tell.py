"""What the catalogue says of a case, tried: the experiments tell, and the original mends it."""

from functools import cache
from pathlib import Path

import pytest
import torch

from transformer_course.cases import catalogue, experiments
from transformer_course.cases.catalogue import GOAL, cases, healthy
from transformer_course.cases.desk import Desk
from transformer_course.exercises import when_it_does_not_work as exercises

pytestmark = pytest.mark.exhaustive
FIVE = {each.name: each for each in exercises.EXERCISES}


@pytest.fixture(scope="module", autouse=True)
def one_thread():
    torch.set_num_threads(1)


@pytest.fixture(scope="module")
def desks(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cases")

    @cache
    def desk(key: str, program: str) -> Desk:
        case = healthy(program) if key == catalogue.HEALTHY else cases()[key]
        return Desk(case, Path(folder) / f"{key}-{program}")

    return desk


def outcome(desk: Desk, name: str):
    if name == "loss_by_position":
        known = desk.run(FIVE[name]).max().item()
        exchanged = desk.run(FIVE[name], batch=desk.supply("exchanged_batch")).max().item()
        return {"known": known, "exchanged": exchanged}
    if name in FIVE:
        return desk.run(FIVE[name])
    return desk.run(getattr(experiments, name))


TELLS = [(key, name) for key, case in cases().items() for name in case.tells]


@pytest.mark.parametrize(("key", "name"), TELLS)
def test_what_is_to_tell_tells(desks, key, name):
    program = cases()[key].program
    seen, right = (outcome(desks(each, program), name) for each in (key, catalogue.HEALTHY))
    if name == "loss_by_position":
        assert seen["known"] > right["known"] + 0.5 or seen["exchanged"] < 2 < right["exchanged"]
    elif name == "forced_and_free":
        assert seen[0] != seen[1] or seen[0] < 0.5 < right[0]
    elif name == "steps_to_learn":
        assert seen is None
        assert right
    elif name == "moved_by_padding":
        assert not seen < 0.1  # nan is no number
        assert right < 0.1
    elif name == "what_it_is_fed":
        assert not seen.equals(right)
    elif name == "twice":
        assert seen < 1 == right
    elif name == "known_and_new":
        assert seen["new"] < GOAL <= right["new"]
    elif name == "twice_as_long":
        assert seen["twice as long"] > seen["as it is"] + 0.2
    else:
        assert seen["8 words or more"] < 0.7 < right["8 words or more"]


HARDEST = [key for key, case in cases().items() if case.level == 3]


@pytest.mark.parametrize("key", ["tall_words"])
def test_no_experiment_of_the_five_tells_the_hardest(desks, key):
    desk = desks(key, cases()[key].program)
    assert desk.run(FIVE["still_weights"]) == []
    assert desk.run(FIVE["moved_by_padding"]) < 1e-4
    forced, free = desk.run(FIVE["forced_and_free"])
    assert forced == free
    assert desk.run(FIVE["loss_by_position"], batch=desk.supply("exchanged_batch")).min() > 1
