"""Every exercise of every catalogue, judged by the same rules; a new one needs no new test code.

At least two right answers of each exercise, written differently, stand in variants/<lesson>.py.
"""

import importlib
import importlib.util
import random
from itertools import islice
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from tools.mistake import not_named
from transformer_course.checker.diagnosis import PAIRS_TRIED, Evidence, diagnose
from transformer_course.checker.global_state import untouched_globals
from transformer_course.checker.outcomes import same_behaviour
from transformer_course.exercises import catalogues

OFTEN = 24  # one mistake of so many goes through a whole check in every run
EXERCISES = [
    pytest.param(exercise, id=f"{lesson}.{name}")
    for lesson, exercises in catalogues().items()
    for name, exercise in exercises.items()
]
MISTAKES = [
    pytest.param(
        exercise,
        mistake,
        id=f"{exercise.name}: {mistake.name}",
        marks=pytest.mark.exhaustive if number % OFTEN else (),
    )
    for exercises in catalogues().values()
    for exercise in exercises.values()
    for number, mistake in enumerate(exercise.mistakes)
]
each_exercise = pytest.mark.parametrize("exercise", EXERCISES)


def written_differently(exercise):
    file = Path(__file__).parent / "variants" / f"{exercise.task.lesson}.py"
    spec = importlib.util.spec_from_file_location(f"variants_{exercise.task.lesson}", file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def variants(exercise):
    return written_differently(exercise).VARIANTS[exercise.name]


def outcomes(exercise, candidate):
    with untouched_globals():
        cases = range(len(exercise.task.cases))
        return [exercise.observer.run_case(candidate, number) for number in cases]


def alike(one, other):
    return all(map(same_behaviour, one, other))


@each_exercise
def test_reference_passes_without_an_exception(exercise):
    assert [o.error for o in outcomes(exercise, exercise.task.reference)] == [None] * len(
        exercise.task.cases
    )
    assert exercise.check(exercise.task.reference).passed


@each_exercise
def test_published_solution_passes(exercise):
    names = vars(importlib.import_module(exercise.task.answer.__module__)).copy()
    exec(exercise.solution().code, names)
    feedback = exercise.check(names[exercise.name])
    assert feedback.passed, feedback


@each_exercise
def test_differently_written_right_answers_pass(exercise):
    right = variants(exercise)
    assert len(right) >= 2
    for variant in right:
        feedback = exercise.check(variant)
        assert feedback.passed, feedback


@each_exercise
def test_right_numbers_without_gradients_are_rejected(exercise):
    """A part of the model must let training through, however it is written."""
    losing = getattr(written_differently(exercise), "LOSE_GRADIENTS", {})
    for variant in losing.get(exercise.name, []):
        assert not exercise.check(variant).passed, variant


@each_exercise
def test_exercise_is_complete(exercise):
    assert len(exercise.task.hints) == 3
    assert len(exercise.mistakes) >= 5
    names = [mistake.name for mistake in exercise.mistakes]
    assert len(set(names)) == len(names)
    for mistake in exercise.mistakes:
        assert mistake.name == mistake.name.strip(" .")
        assert mistake.record.observed.endswith((".", "?"))
        assert mistake.record.change.endswith((".", "?"))


@each_exercise
def test_an_answer_is_written_once(exercise):
    """A mistake is an edit of the model answer; at most one in ten is another algorithm."""
    for mistake in exercise.mistakes:
        assert bool(mistake.edits) != bool(mistake.record.body), mistake.name
    bodies = [mistake.name for mistake in exercise.mistakes if mistake.record.body]
    assert len(bodies) <= len(exercise.mistakes) / 10


@each_exercise
def test_no_mistake_uses_a_name_that_is_not_there(exercise):
    """An edit may need an import; without it, it would be known by the wrong exception."""
    wanted = [mistake for mistake in exercise.mistakes if "NameError" in mistake.record.observed]
    for mistake in exercise.mistakes:
        with untouched_globals():
            cases = range(len(exercise.task.cases))
            errors = [exercise.catalogue.outcome(mistake, case).error for case in cases]
        names = [error for error in errors if error and issubclass(error[0], NameError)]
        assert mistake in wanted or not names, (mistake.name, names)


@each_exercise
def test_every_mistake_is_told_from_the_others(exercise):
    """Two mistakes that compute the same would both get the name of the first."""
    assert list(not_named(exercise)) == []


@pytest.mark.parametrize(("exercise", "mistake"), MISTAKES)
def test_whoever_makes_a_mistake_is_told_its_name(exercise, mistake):
    """The same through a whole check, guards and words included."""
    feedback = exercise.check(mistake.candidate)
    assert not feedback.passed
    assert feedback.mistakes == (mistake.name,)


def named_pairs(exercise, pairs):
    """Yield those that compute something else than every other pair and mistake.

    Two mistakes may make up for each other; such a pair is right.
    """
    wanted = outcomes(exercise, exercise.task.reference)
    for pair in pairs:
        with untouched_globals():  # as in a check, where a warning is not an error
            seen = [exercise.catalogue.outcome(pair, case) for case in range(len(wanted))]
            found = diagnose(exercise.catalogue, Evidence(seen, wanted, "", range(len(wanted))))
        if found and found.mistakes == pair.mistakes and not alike(seen, wanted):
            yield pair


def assert_both_are_named(exercise, pairs):
    for pair in pairs:
        feedback = exercise.check(pair.candidate)
        assert feedback.mistakes == tuple(mistake.name for mistake in pair.mistakes)


@each_exercise
def test_some_pairs_of_mistakes_are_named(exercise):
    commonest = exercise.catalogue.pairs[:PAIRS_TRIED]
    pairs = random.Random(0).sample(commonest, len(commonest))
    named = list(islice(named_pairs(exercise, pairs), 2))
    assert len(named) == 2
    assert_both_are_named(exercise, named)


@pytest.mark.exhaustive
@pytest.mark.timeout(1200)
@each_exercise
def test_most_pairs_of_mistakes_are_named(exercise):
    """A pair that computes the same as another pair, or as one mistake alone, has no name."""
    named = list(named_pairs(exercise, exercise.catalogue.pairs[:PAIRS_TRIED]))
    assert len(named) >= 5
    assert_both_are_named(exercise, named)


def noise(tensor, generator):
    return tensor + 0.5 + torch.rand(tensor.shape, generator=generator).to(tensor.dtype)


def one_element(tensor, generator):
    changed = tensor.clone().flatten()
    changed[torch.randint(len(changed), (), generator=generator)] += 1
    return changed.reshape(tensor.shape)


def slightly_larger(tensor, generator):
    return tensor * 1.01 + 0.001


def shorter(tensor, generator):
    return tensor[..., :-1] if tensor.dim() else tensor[None]


PERTURBATIONS = [
    one_element,
    pytest.param(noise, marks=pytest.mark.exhaustive),
    pytest.param(slightly_larger, marks=pytest.mark.exhaustive),
    pytest.param(shorter, marks=pytest.mark.exhaustive),
]


def perturbed_value(value, perturb, generator):
    if isinstance(value, Tensor):
        if not value.is_floating_point():
            return value + 1  # some elements may be free, such as ids that padding hides
        return perturb(value, generator)
    if isinstance(value, tuple | list):
        return type(value)(perturbed_value(part, perturb, generator) for part in value)
    if isinstance(value, dict):
        return {key: perturbed_value(part, perturb, generator) for key, part in value.items()}
    if isinstance(value, bool):
        return not value
    return value * 1.01 + 0.001


def perturbed(candidate, perturb, generator):
    if isinstance(candidate, type) and issubclass(candidate, nn.Module):

        class Perturbed(candidate):
            def forward(self, *inputs):
                return perturbed_value(super().forward(*inputs), perturb, generator)

        return Perturbed
    return lambda *inputs: perturbed_value(candidate(*inputs), perturb, generator)


@pytest.mark.parametrize("perturb", PERTURBATIONS)
@each_exercise
def test_perturbed_right_answers_are_rejected(exercise, perturb):
    assert_perturbed_is_rejected(exercise, perturb, exercise.task.answer)


@pytest.mark.exhaustive
@pytest.mark.parametrize("perturb", PERTURBATIONS)
@each_exercise
def test_perturbed_variants_are_rejected(exercise, perturb):
    for right in variants(exercise):
        assert_perturbed_is_rejected(exercise, perturb, right)


def assert_perturbed_is_rejected(exercise, perturb, right):
    feedback = exercise.check(perturbed(right, perturb, torch.Generator().manual_seed(0)))
    assert not feedback.passed, feedback
