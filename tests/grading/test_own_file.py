"""The learner's file in grading: what notebooks build on, and a submission of its own."""

import json
from pathlib import Path

import nbformat
import pytest

from transformer_course import grading
from transformer_course.cli import main
from transformer_course.grading import Limits, Row
from transformer_course.own.location import NAME, RECORDS
from transformer_course.own.sections import parts, template, with_section

LIMITS = Limits(seconds=60, memory=3)
SET_UP = """\
from transformer_course.notebook import setup; own = setup("02_attention")
from transformer_course.exercises import {} as exercise
"""
ATTENTION = """\
import torch
def scaled_dot_product_attention(query, key, value, mask=None):
    scores = query @ key.transpose(-2, -1) / query.shape[-1] ** 0.5
    if mask is not None:
        scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
    weights = own.softmax(scores)
    weights = weights if mask is None else weights * mask
    return weights @ value, weights
"""
JOINS = """\
def softmax(scores):
    return (scores - scores.logsumexp(dim=-1, keepdim=True)).exp()
assert "in your translator" in str(exercise.softmax.check(softmax))
"""
SEES_NOTHING = """\
from pathlib import Path
from transformer_course.own.file import yours
assert yours(Path(own.__file__)) == []
"""
SOFTMAX = "def softmax(scores):\n    return (scores - scores.logsumexp(dim=-1, keepdim=True)).exp()"
FEED_FORWARD = """\
class FeedForward(nn.Module):
    def __init__(self, d_model, d_ff):
        super().__init__()
        self.expand = nn.Linear(d_model, d_ff)
        self.contract = nn.Linear(d_ff, d_model)

    def forward(self, x):
        return self.contract(self.expand(x))
"""


def hand_in(path: Path, lesson: str, *sources: str) -> None:
    cells = [nbformat.v4.new_code_cell(source) for source in (SET_UP.format(lesson), *sources)]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), path)


def own_file(**answers: str) -> str:
    text = template()
    for name, answer in answers.items():
        text = with_section(text, name, answer, "yours, 2026-11-23")
    return text


def graded(folder: Path) -> dict[str, Row]:
    rows = grading.grade(folder, grading.submissions(folder), LIMITS, processes=1)
    return {row.submission: row for row in rows}


@pytest.fixture
def group(tmp_path: Path) -> Path:
    folder = tmp_path / "class"
    folder.mkdir()
    return folder


def test_answers_build_on_a_file_that_is_nobody_elses(group, tmp_path, monkeypatch):
    workspace = tmp_path / "workspace"
    (workspace / RECORDS).mkdir(parents=True)
    wrong = "def softmax(scores):\n    return scores * 0"
    (workspace / NAME).write_text(own_file(softmax=wrong), encoding="utf-8")
    before = {path: path.read_bytes() for path in workspace.rglob("*") if path.is_file()}
    monkeypatch.chdir(workspace)
    hand_in(group / "a.ipynb", "start_here", JOINS)
    hand_in(group / "b.ipynb", "attention", SEES_NOTHING + ATTENTION)
    rows = graded(group)
    assert rows["a.ipynb"].solved == rows["b.ipynb"].solved == 1, [
        row.findings for row in rows.values()
    ]
    assert {path: path.read_bytes() for path in workspace.rglob("*") if path.is_file()} == before
    assert len(list(group.iterdir())) == 2


def test_a_right_answer_does_not_join_the_graders_file(group):
    hand_in(group / "a.ipynb", "start_here", SOFTMAX)
    feedback = graded(group)["a.ipynb"].exercises["softmax"]["feedback"]
    assert "Well done" in feedback
    assert "your translator" not in feedback


def test_each_part_of_a_file_is_judged_if_it_is_the_learners(group, tmp_path, capsys):
    text = own_file(softmax=SOFTMAX, FeedForward=FEED_FORWARD)
    (group / "anna").mkdir()
    (group / "anna" / f"1234 {NAME}").write_text(text, encoding="utf-8")
    output = tmp_path / "out.json"
    assert main(["grade", str(group), "--json", str(output), "--processes", "1"]) == 0
    assert "1 x FeedForward: there is no ReLU" in capsys.readouterr().out
    row = json.loads(output.read_text(encoding="utf-8"))
    assert (row["lesson"], row["of"], row["problem"]) == ("my_transformer", len(parts()), "")
    judged = {name: (e["lesson"], e["verdict"]) for name, e in row["exercises"].items()}
    assert judged == {
        "softmax": ("start_here", "Right"),
        "FeedForward": ("feed_forward", "Not yet"),
    }


def test_what_is_no_such_file_or_hostile_becomes_a_row(group):
    victim = group / "victim.ipynb"
    hand_in(victim, "start_here")
    bad = {
        "essay.py": (
            "print('hello')",
            "essay.py has no section for softmax, ",
        ),
        "cut.py": (template() + "def broken(", "does not run: SyntaxError"),
        "loops.py": (template() + "while True: pass", "does not end within 5 seconds"),
        "ends.py": (template() + "import os; os._exit(0)", "ends Python when it is imported"),
        "deletes.py": (
            template() + f"Path({str(victim)!r}).unlink()",
            "must not be changed while grading",
        ),
    }
    for name, (text, _) in bad.items():
        (group / name).write_text(text, encoding="utf-8")
    rows = graded(group)
    for name, (_, words) in bad.items():
        assert words in rows[name].problem
        assert rows[name].solved == 0
    assert victim.exists()


def test_of_a_workspace_the_history_is_not_handed_in(group):
    workspace = group / "anna" / "my-course"
    for name in (NAME, f"my_transformer.history/{NAME[:-3]} 2026.py", f"{RECORDS}/{NAME}"):
        (workspace / name).parent.mkdir(parents=True, exist_ok=True)
        (workspace / name).write_text(template(), encoding="utf-8")
    assert grading.submissions(group) == [workspace / NAME]
