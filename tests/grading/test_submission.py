"""Answers are found in a notebook, and only what they need is run."""

from pathlib import Path

import nbformat
import pytest

from transformer_course.checker.feedback import Feedback, Verdict
from transformer_course.grading.submission import Cell, Submission, SubmissionError

IMPORT = "from transformer_course.exercises import toy_translation as exercise"
RIGHT = """def noam(step, d_model, warmup):
    return d_model**-0.5 * min(step**-0.5, step * warmup**-1.5)"""
CHECK = "exercise.noam.check(noam)"


def noam(*sources: str) -> Feedback:
    """Return the feedback on `noam` of a notebook with these code cells."""
    cells = [Cell(number, source) for number, source in enumerate((IMPORT, *sources), start=1)]
    return dict(Submission(cells).check())["noam"]


def written(path: Path, *sources: str) -> Path:
    cells = [nbformat.v4.new_code_cell(source) for source in sources]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), path)
    return path


def test_every_exercise_of_the_lesson_is_judged():
    verdicts = dict(Submission([Cell(1, IMPORT), Cell(2, RIGHT), Cell(3, CHECK)]).check())
    submission = Submission([Cell(1, IMPORT)])
    assert submission.lesson == "toy_translation"
    assert verdicts.keys() == submission.exercises.keys()
    assert verdicts.pop("noam").passed
    assert not any(feedback.passed for feedback in verdicts.values())


@pytest.mark.parametrize(
    "cells",
    [
        (RIGHT, CHECK),
        (RIGHT,),  # the check was deleted
        (f"{RIGHT}\n{CHECK}",),
        (RIGHT.replace("noam", "mine"), "exercise.noam.check(mine)"),
        (RIGHT, CHECK, 'exercise.noam.check("noam")'),  # shown in lesson 0
        (RIGHT, CHECK, "noam = 3"),  # reused for something else after the check
        ("def noam(step, d_model, warmup): ...", CHECK, RIGHT, CHECK),
        ("%matplotlib inline\n!ls", RIGHT, CHECK),
        (f"{RIGHT}\nprint(no_such_name)", CHECK),
        ("def noam(:", RIGHT, CHECK),
    ],
)
def test_a_right_answer_is_found_wherever_it_stands(cells):
    assert noam(*cells).passed


def test_helpers_are_run_and_nothing_else(tmp_path):
    trace = tmp_path / "trace"
    feedback = noam(
        "import math",
        "def root(x):\n    return math.sqrt(x)",
        f"open({str(trace)!r}, 'w')",
        "def rise(step, warmup):\n    return step / warmup / root(warmup)",
        "def noam(step, d_model, warmup):\n"
        "    return min(1 / root(step), rise(step, warmup)) / root(d_model)",
        CHECK,
        "raise RuntimeError",
    )
    assert feedback.passed
    assert not trace.exists()


def test_a_name_means_what_it_meant_at_its_place():
    feedback = noam("power = -0.5", RIGHT.replace("-0.5", "power"), CHECK, "power = 7")
    assert feedback.passed


@pytest.mark.parametrize(
    ("cells", "words"),
    [
        ((), "cannot be found"),
        (("def noam(:", CHECK), "cannot be found"),
        (("raise SystemExit", "1 / 0\n" + RIGHT, CHECK), "cannot be found: NameError"),
    ],
)
def test_a_missing_answer_is_said_to_be_missing(cells, words):
    feedback = noam(*cells)
    assert feedback.verdict is Verdict.WRONG
    assert words in repr(feedback)


def test_the_untouched_stub_is_not_attempted():
    assert noam("def noam(step, d_model, warmup): ...", CHECK).verdict is Verdict.NOT_ATTEMPTED


def test_a_known_mistake_is_named():
    assert noam(RIGHT.replace("min(", "max("), CHECK).mistakes == ("the larger branch is taken",)


def test_feedback_quotes_the_learners_line():
    assert "return 1 / 0" in repr(noam("def noam(step, d_model, warmup):\n    return 1 / 0", CHECK))


def test_a_stop_is_not_swallowed():
    with pytest.raises(KeyboardInterrupt):
        noam(f"{RIGHT}\nraise KeyboardInterrupt", CHECK)


def test_a_notebook_is_read(tmp_path):
    submission = Submission.read(written(tmp_path / "any name.ipynb", IMPORT, RIGHT, CHECK))
    assert dict(submission.check())["noam"].passed


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "empty"),
        (b" \n", "empty"),
        (b"{", "not a notebook"),
        (b"[]", "not a notebook"),
        (b"\xff\xfe\x00", "not UTF-8"),
        (b'{"cells": 3, "nbformat": 4, "nbformat_minor": 5, "metadata": {}}', "not a notebook"),
    ],
)
def test_another_file_is_refused_with_a_reason(tmp_path, content, words):
    path = tmp_path / "x.ipynb"
    path.write_bytes(content)
    with pytest.raises(SubmissionError, match=words):
        Submission.read(path)


def test_another_notebook_is_refused(tmp_path):
    with pytest.raises(SubmissionError, match="no lesson of the course"):
        Submission.read(written(tmp_path / "x.ipynb", "import math", "1 +"))
