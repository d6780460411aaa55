"""What the checker says of answers that were written without it; see written.py."""

import pytest

from tests.exercises.written import FOLDER, Written, written

SAMPLE = 16  # one answer of so many is judged in every run of the tests


def answers():
    for folder in sorted(FOLDER.iterdir()):
        for answer in written(folder.name):
            often = folder.name == "round_1" and answer.number % SAMPLE == 1
            marks = () if often else pytest.mark.exhaustive
            yield pytest.param(answer, id=f"{folder.name}-{answer}", marks=marks)


@pytest.mark.parametrize("answer", list(answers()))
def test_the_checker_says_what_a_teacher_would(answer: Written) -> None:
    feedback = answer.judge()
    assert feedback.passed == answer.right, feedback
    assert set(feedback.mistakes) == set(answer.named or answer.wrongly_named), feedback
    assert answer.said in repr(feedback)


def test_every_answer_is_found() -> None:
    for path in FOLDER.glob("*/*.md"):
        headings = path.read_text(encoding="utf-8").count("\n### ")
        assert sum(a.lesson == path.stem for a in written(path.parent.name)) == headings
