"""A notebook is judged as its own checks would judge it in a kernel."""

import gc
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import MagicMock

import nbformat
import pytest

from transformer_course.checker.feedback import Feedback, Verdict
from transformer_course.grading import kernel
from transformer_course.grading.submission import Cell, Submission, SubmissionError
from transformer_course.syllabus import lessons_folder

# Where a cell is too deep for Python's compiler, IPython leaves a coroutine behind.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")

IMPORT = "from transformer_course.exercises import toy_translation as exercise"
RIGHT = """def noam(step, d_model, warmup):
    return d_model**-0.5 * min(step**-0.5, step * warmup**-1.5)"""
CHECK = "exercise.noam.check(noam)"


@pytest.fixture(autouse=True, scope="module")
def left_behind() -> Iterator[None]:
    """Clear away here what kernels leave behind, before another test hears of it."""
    yield
    gc.collect()


@pytest.fixture(autouse=True)
def main_module(monkeypatch):
    """Put back what a kernel takes for its own, and remove what stands for absent modules."""
    monkeypatch.setitem(sys.modules, "__main__", sys.modules["__main__"])
    yield
    for name in [name for name, module in sys.modules.items() if isinstance(module, MagicMock)]:
        del sys.modules[name]


def submission(*sources: str) -> Submission:
    return Submission([Cell(number, source) for number, source in enumerate(sources, start=1)])


def judged(notebook: Submission, seconds: float = 20) -> dict[str, Feedback]:
    heard: dict[str, Feedback] = {}
    notebook.check(heard.__setitem__, seconds)
    return heard


def noam(*sources: str) -> Feedback:
    """Return the feedback on `noam` of a notebook with these code cells."""
    return judged(submission(IMPORT, *sources))["noam"]


def written(path: Path, *sources: str) -> Path:
    cells = [nbformat.v4.new_code_cell(source) for source in sources]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), path)
    return path


def test_every_exercise_of_the_lesson_is_judged():
    handed_in = submission(IMPORT, RIGHT, CHECK)
    verdicts = judged(handed_in)
    assert handed_in.lesson == "toy_translation"
    assert verdicts.keys() == handed_in.exercises.keys()
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
        # What Python refuses only when it compiles
        ("def g(a, a): pass", RIGHT, CHECK),
        ("def g():\n    from math import *", RIGHT, CHECK),
        ("def g():\n    x = 1\n    global x", RIGHT, CHECK),
        ("x = " + " + ".join(["1"] * 3000), RIGHT, CHECK),
        # What IPython knows and Python does not
        (
            "%matplotlib inline\n%load_ext autoreload\n%autoreload 2\n!pip install x\n" + RIGHT,
            CHECK,
        ),
        ("%%time\n" + RIGHT, CHECK),
        ("%%capture\n" + RIGHT, "%%time\n" + CHECK),
        (RIGHT + "\ndisplay(noam(1, 2, 3))", CHECK),
        # Names that no reader of the text can see
        ("from math import *", RIGHT.replace("step**-0.5", "1 / sqrt(step)"), CHECK),
        ("power = {}", "power['of'] = -0.5", RIGHT.replace("-0.5", "power['of']"), CHECK),
        ("exec('power = -0.5')", RIGHT.replace("-0.5", "power"), CHECK),
        # What is not installed here
        ("import no_such_module\nimport math", RIGHT.replace("-0.5", "(-math.sqrt(0.25))"), CHECK),
        ("from google.colab import drive\ndrive.mount('/content')\n" + RIGHT, CHECK),
        # Several checks: the best counts
        (RIGHT, CHECK, RIGHT.replace("min(", "max("), CHECK),
        (
            "from transformer_course.exercises import decoding, toy_translation as lesson",
            RIGHT,
            "lesson.noam.check(noam)",
        ),
    ],
)
def test_a_right_answer_is_found_wherever_it_stands(cells):
    assert noam(*cells).passed


def test_what_the_lesson_brings_is_run_only_where_an_answer_needs_it(monkeypatch):
    lesson = nbformat.read(lessons_folder() / "07_toy_translation.ipynb", as_version=4)
    code = [cell.source for cell in lesson.cells if cell.cell_type == "code"]
    changed = [RIGHT if "def noam(" in source and "..." in source else source for source in code]
    run = []
    monkeypatch.setattr(kernel, "run", lambda shell, source, seconds: run.append(source) or [])
    judged(submission(*changed))
    assert RIGHT in run
    assert any(IMPORT in source for source in run)
    assert any(".check(noam)" in source for source in run)
    assert not any("trainer.train(" in source for source in run)
    assert len(run) < len(code) / 2


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


def test_a_cell_that_fails_is_named_and_the_rest_goes_on():
    handed_in = submission(IMPORT, "import no_such_module", "1 / 0\nx = 1", RIGHT, CHECK)
    assert judged(handed_in)["noam"].passed
    assert handed_in.failures == ["cell 2: ModuleNotFoundError: No module named 'no_such_module'"]


def test_a_cell_that_an_answer_needs_is_named_when_it_fails():
    handed_in = submission(IMPORT, "half = 1 / 0", RIGHT.replace("-0.5", "-half"), CHECK)
    assert "NameError" in repr(judged(handed_in)["noam"])
    assert handed_in.failures == ["cell 2: ZeroDivisionError: division by zero"]


def test_a_cell_that_is_no_python_is_named_as_an_answer_may_be_in_it():
    handed_in = submission(IMPORT, RIGHT.replace("return", "return )"), CHECK)
    assert "NameError" in repr(judged(handed_in)["noam"])
    assert handed_in.failures[0].startswith("cell 2: SyntaxError: unmatched ')', line ")


def test_a_cell_that_does_not_end_stops_nothing_else():
    handed_in = submission(IMPORT, "while True: pass", RIGHT, CHECK)
    assert judged(handed_in, seconds=0.5)["noam"].passed


def test_the_untouched_stub_is_not_attempted():
    assert noam("def noam(step, d_model, warmup): ...", CHECK).verdict is Verdict.NOT_ATTEMPTED


def test_a_known_mistake_is_named():
    assert noam(RIGHT.replace("min(", "max("), CHECK).mistakes == ("the larger branch is taken",)


def test_feedback_quotes_the_learners_line():
    assert "return 1 / 0" in repr(noam("def noam(step, d_model, warmup):\n    return 1 / 0", CHECK))


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_a_notebook_is_read(tmp_path, mark):
    path = written(tmp_path / "any name.ipynb", IMPORT, RIGHT, CHECK)
    path.write_bytes(mark + path.read_bytes())
    assert judged(Submission.read(path))["noam"].passed


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
    with pytest.raises(SubmissionError, match="not a lesson of the course"):
        Submission.read(written(tmp_path / "x.ipynb", "import math", "1 +"))


def test_an_answer_that_presses_stop_ends_nothing_but_itself():
    """Whoever grades a class presses it nowhere."""
    stops = "def noam(step, d_model, warmup):\n    raise KeyboardInterrupt"
    found = judged(submission(IMPORT, stops))
    assert found["noam"].verdict is Verdict.WRONG and len(found) > 1
    assert "KeyboardInterrupt" in found["noam"].finding


@pytest.mark.parametrize(
    "cell",
    [
        "class Mute(Exception):\n    def __str__(self):\n        return 1 / 0\nraise Mute",
        "raise ModuleNotFoundError('x', name=['x'])",
    ],
)
def test_an_odd_exception_costs_no_answer(cell):
    notebook = submission(IMPORT, f"{RIGHT}\n{cell}", CHECK)
    assert judged(notebook)["noam"].passed
    assert len(notebook.failures) == 1


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("identity", [{}, {"id": "twice"}])
def test_cells_without_an_id_or_with_one_twice_are_read_in_silence(identity, tmp_path):
    cells = [
        {"cell_type": "code", "source": source, "metadata": {}, "outputs": []}
        | {"execution_count": None}
        | identity
        for source in (IMPORT, RIGHT, CHECK)
    ]
    path = tmp_path / "a.ipynb"
    content = {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    path.write_text(json.dumps(content), encoding="utf-8")
    assert judged(Submission.read(path))["noam"].passed


@pytest.mark.parametrize("source", [None, 7])
def test_a_cell_without_a_text_is_damage(source, tmp_path):
    path = written(tmp_path / "a.ipynb", IMPORT)
    content = json.loads(path.read_text(encoding="utf-8"))
    content["cells"][0]["source"] = source
    path.write_text(json.dumps(content), encoding="utf-8")
    with pytest.raises(SubmissionError, match="damaged"):
        Submission.read(path)
