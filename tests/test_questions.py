"""The numbers that the starred questions ask for."""

import re
from pathlib import Path

import pytest
import torch

from transformer_course.questions import RIGHT_NUMBERS, check_numbers

LESSONS = Path(__file__).parents[1] / "notebooks" / "text"
STARRED = re.compile(r"^(\d+)\. ★", re.MULTILINE)


@pytest.mark.parametrize("path", sorted(LESSONS.glob("*.md")), ids=lambda path: path.stem)
def test_each_starred_question_has_its_number(path: Path) -> None:
    asked = [int(number) for number in STARRED.findall(path.read_text(encoding="utf-8"))]
    assert asked == list(RIGHT_NUMBERS[path.stem]() if asked else [])


@pytest.mark.parametrize("lesson", RIGHT_NUMBERS)
def test_right_numbers_are_right_and_others_not_yet(
    lesson: str, capsys: pytest.CaptureFixture[str]
) -> None:
    right = RIGHT_NUMBERS[lesson]()
    check_numbers(lesson, right)
    check_numbers(lesson, {question: 1.1 * number for question, number in right.items()})
    expected = [f"question {n}: {said}" for said in ("right", "not yet") for n in right]
    assert capsys.readouterr().out.splitlines() == expected


def test_a_number_may_be_rounded_unless_it_is_a_whole_one(
    capsys: pytest.CaptureFixture[str],
) -> None:
    check_numbers("02_attention", {5: 0.213, 4: 16.1})
    assert capsys.readouterr().out == "question 5: right\nquestion 4: not yet\n"


def test_what_is_not_answered_is_not_judged(capsys: pytest.CaptureFixture[str]) -> None:
    check_numbers("02_attention", {3: ..., 5: ...})
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    ("numbers", "message"),
    [
        ({1: 3}, "question 1 asks for no number; these do: 2, 3, 4, 5"),
        ({3: "16"}, "question 3 asks for a number; got '16'"),
        ({3: torch.ones(2)}, "question 3 asks for a number; got tensor"),
        ({3: 10**400}, "question 3 asks for a number"),
    ],
)
def test_what_is_no_number_is_said(numbers: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        check_numbers("02_attention", numbers)


def test_an_unknown_lesson_is_said() -> None:
    with pytest.raises(ValueError, match="no lesson '2' asks for numbers; these do: 00_start_here"):
        check_numbers("2", {1: 3})
