"""Faults are named where all that decides agrees, and only there."""

import pytest
import torch

from tools.patients import course
from tools.signatures import WAYS, patient
from transformer_course.examine.diagnosis import (
    diagnose,
    signatures,
)
from transformer_course.examine.examination import observe
from transformer_course.examine.experiment import EXPERIMENTS, failing
from transformer_course.examine.faults import FAULTS

RIGHT = {name: each.healthy[0] for name, each in EXPERIMENTS.items()}
OF_WAY = {way.__name__: fault for fault in FAULTS.values() for way in fault.ways}


def outcomes_of(*keys: str) -> dict[str, str]:
    """Return what faults decide, as one subject would show it; all else is as it should be."""
    words = dict(RIGHT)
    for signature in signatures():
        if signature.fault.key in keys:
            words |= {name: fits[0] for name, fits in signature.fault.only.items()}
            words |= {name: min(seen) for name, seen in signature.decisive.items()}
    return words


def test_nothing_is_wrong_with_what_is_right() -> None:
    found = diagnose(RIGHT)
    assert (found.faults, found.candidates, dict(found.unexplained)) == ((), (), {})


def test_all_faults_have_been_tried() -> None:
    assert {signature.fault.key for signature in signatures()} == FAULTS.keys()


def test_right_subjects_have_no_wrong_outcome() -> None:
    for name, words in signatures()[0].usual.items():
        assert {w for w in words if w != "-"} <= set(EXPERIMENTS[name].healthy), name


@pytest.mark.parametrize("signature", signatures(), ids=lambda each: each.fault.key)
def test_each_fault_is_named_by_what_it_decides(signature) -> None:
    words = outcomes_of(signature.fault.key)
    assert failing(words), "nothing that is wrong decides for it"
    found = diagnose(words)
    assert found.faults == (signature.fault,)


def test_two_faults_that_both_show_are_both_named() -> None:
    found = diagnose(outcomes_of("future_seen", "padding_counted"))
    assert {fault.key for fault in found.faults} == {"future_seen", "padding_counted"}


def test_what_no_fault_explains_is_not_named() -> None:
    words = RIGHT | {"one word": "no"}
    found = diagnose(words)
    assert (found.faults, found.candidates) == ((), ())
    assert dict(found.unexplained) == {"one word": "no"}


def test_known_fault_beside_something_unknown_is_not_named() -> None:
    words = outcomes_of("padding_counted") | {"one word": "no"}
    found = diagnose(words)
    assert found.faults == ()
    assert found.unexplained.keys() == {"one word", "padding in the loss"}


def test_without_what_would_tell_them_apart_candidates_are_said() -> None:
    """Of three that count padding two do more, which was not examined."""
    words = outcomes_of("padding_counted")
    for name in ("words in the loss", "sure and wrong", "sure and right"):
        del words[name]
    found = diagnose(words)
    assert {"padding_counted", "end_ignored"} <= {fault.key for fault in found.candidates}
    assert "words in the loss" in found.telling


@pytest.fixture(scope="module", autouse=True)
def one_thread() -> None:
    torch.set_num_threads(1)


def named(way: str) -> tuple[str, ...]:
    observed = observe(patient("course, post-norm", [way], 1).subject(), 600)
    return tuple(fault.key for fault in diagnose(observed.words).faults)


@pytest.mark.parametrize("way", ["heads_by_view", "softmax_twice", "stops_with_the_first"])
def test_broken_subject_is_told_what_is_wrong(way: str) -> None:
    assert named(way) == (OF_WAY[way].key,)


@pytest.mark.exhaustive
@pytest.mark.parametrize("way", WAYS)
def test_every_broken_subject_is_told_what_is_wrong(way: str) -> None:
    assert named(way) == (OF_WAY[way].key,)


def test_right_subject_is_healthy() -> None:
    torch.manual_seed(1)
    assert observe(course().subject(), 600).failing == {}
