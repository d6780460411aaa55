"""The model answer with its decision points open."""

import pytest
from bs4 import BeautifulSoup

from transformer_course.checker.gaps import NOTHING
from transformer_course.exercises import catalogues

from .doubling import double

EXERCISES = [
    pytest.param(exercise, id=f"{lesson}.{name}")
    for lesson, exercises in catalogues().items()
    for name, exercise in exercises.items()
]


def filled(gaps, fragments):
    """Return the answer with a fragment in each gap."""
    text = gaps.text
    for gap, fragment in reversed(list(zip(gaps.gaps, fragments, strict=True))):
        text = text[: gap.start] + fragment + text[gap.stop :]
    return text


def test_gaps_are_where_known_mistakes_edit_the_answer():
    gaps = double.gaps()
    assert "return x[1]" in gaps.code
    choices = [choice for gap in gaps.gaps for choice in gap.choices]
    assert {choice.mistake.name for choice in choices if choice.mistake} == {
        "added",
        "cut",
        "squared",
        "tripled",
    }


def test_of_too_many_gaps_those_with_most_choices_stay(monkeypatch):
    softmax = catalogues()["start_here"]["softmax"]
    most = max(len(gap.choices) for gap in softmax.gaps().gaps)
    monkeypatch.setattr("transformer_course.checker.gaps.MOST_GAPS", 1)
    (gap,) = softmax.gaps().gaps
    assert len(gap.choices) == most


def test_the_line_after_a_gap_stays_a_line_of_its_own():
    gaps = catalogues()["transformer"]["sees_no_future"].gaps()
    assert "\n[1]\n    source = " in gaps.code


@pytest.mark.parametrize("exercise", EXERCISES)
def test_the_right_choices_make_the_answer_and_no_other_does(exercise):
    gaps = exercise.gaps()
    assert gaps.gaps
    right = [next(c.fragment for c in gap.choices if c.mistake is None) for gap in gaps.gaps]
    assert filled(gaps, right) == exercise.solution().code
    for number, gap in enumerate(gaps.gaps):
        assert len({choice.fragment for choice in gap.choices}) == len(gap.choices)
        for choice in gap.choices:
            chosen = [*right[:number], choice.fragment, *right[number + 1 :]]
            assert (filled(gaps, chosen) == exercise.solution().code) == (choice.mistake is None)


@pytest.mark.parametrize("exercise", EXERCISES)
def test_each_choice_is_a_fold_that_says_what_it_is(exercise):
    gaps = exercise.gaps()
    page = BeautifulSoup(gaps._repr_html_(), "html.parser")
    folds = page.find_all("details")
    choices = [choice for gap in gaps.gaps for choice in gap.choices]
    assert [fold.summary.text for fold in folds] == [choice.shown for choice in choices]
    assert [fold.p.text for fold in folds] == [c.verdict.replace("`", "") for c in choices]
    assert not page.find_all(["script", "input"])


def test_without_html_choices_have_letters_and_a_key():
    text = repr(double.gaps())
    assert "[1]" in text and "  a) " in text and ": Right." in text


def test_an_empty_fragment_is_said():
    gaps = catalogues()["attention"]["scaled_dot_product_attention"].gaps()
    assert NOTHING in repr(gaps)
