"""The parts by which answers call each other are the right ones."""

import ast

import pytest

from transformer_course.exercises import catalogues, own

EXERCISES = {name: each for lesson in catalogues().values() for name, each in lesson.items()}


# For the softmax the course takes torch's own, which the exercise wants written.
PARTS = [name for name in EXERCISES if hasattr(own, name) and name != "softmax"]


@pytest.mark.parametrize("name", PARTS)
def test_part_passes_the_check_of_its_exercise(name):
    feedback = EXERCISES[name].check(getattr(own, name))
    assert feedback.passed, feedback


@pytest.mark.parametrize("name", EXERCISES)
def test_every_part_that_an_answer_calls_is_there(name):
    called = {
        node.attr
        for node in ast.walk(ast.parse(EXERCISES[name].solution().code))
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)
        if node.value.id == "own"
    }
    assert called <= vars(own).keys()
