from collections import Counter

import pytest

from transformer_course.cases import catalogue, experiments
from transformer_course.cases.catalogue import GOAL, cases, names, program_text
from transformer_course.cases.desk import recorded, runs
from transformer_course.exercises import when_it_does_not_work as exercises

KINDS = {"text", "mask", "loss", "step", "decoding", "loading"}
EXPERIMENTS = {name for name in vars(experiments) if not name.startswith("_")}
EXPERIMENTS |= {exercise.name for exercise in exercises.EXERCISES}


@pytest.mark.parametrize("key", cases())
def test_every_edit_matches_once(key):
    case = cases()[key]
    for old, new in case.edits:
        assert program_text(case.program).count(old) == 1, old
        assert new != old
    compile(case.text, case.file_name, "exec")


@pytest.mark.parametrize("key", cases())
def test_what_is_wrong_has_a_name_and_experiments_that_exist(key):
    case = cases()[key]
    assert case.faults
    assert set(case.faults) <= set(names())
    assert set(case.tells) <= EXPERIMENTS
    assert case.par >= max(1, len(case.faults))


def test_there_are_names_that_are_no_case():
    used = {fault for case in cases().values() for fault in case.faults}
    assert len(names()) - len(used) >= 5


def test_every_kind_of_fault_is_there_at_every_level():
    counted = [case for case in cases().values() if case.level]
    assert len(counted) >= 15
    assert {case.kind for case in counted} >= KINDS
    levels = Counter(case.level for case in counted)
    assert set(levels) == {1, 2, 3}
    assert levels[3] >= 3


def test_one_has_two_faults_one_has_none_and_one_is_only_slow():
    assert any(len(case.faults) == 2 for case in cases().values())
    faults = [case.faults for case in cases().values()]
    assert ("too_little_text",) in faults
    assert ("not_finished",) in faults


@pytest.mark.parametrize("key", cases())
def test_the_recorded_score_is_below_what_a_mended_system_reaches(key):
    assert recorded(cases()[key]).score < GOAL - 0.03


@pytest.mark.parametrize("program", catalogue.PROGRAMS)
def test_a_program_without_a_fault_reaches_it_and_is_called_healthy(program):
    assert recorded(catalogue.healthy(program)).score >= GOAL + 0.03
    assert runs()[f"healthy {program}"]["examined"] == {"named": [], "failing": []}


def test_everything_recorded_is_of_a_case_that_there_is():
    healthy = {f"healthy {program}" for program in catalogue.PROGRAMS}
    assert set(runs()) == {*cases(), *healthy}
