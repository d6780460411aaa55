"""Copies for a class hold all of a lesson but its solutions."""

import sys
from pathlib import Path

import nbformat
import pytest

from tools import student
from tools.sources import lesson_sources, notebook_of


def tags(cell):
    return cell.metadata.get("tags", [])


@pytest.mark.parametrize(
    "lesson", [notebook_of(source) for source in lesson_sources()], ids=lambda path: path.stem
)
def test_a_copy_lacks_the_solutions_and_nothing_else(lesson: Path):
    original = nbformat.read(lesson, as_version=4)
    copy = nbformat.reads(student.student_copy(lesson), as_version=4)
    assert copy.cells == [cell for cell in original.cells if "solution" not in tags(cell)]
    assert len(copy.cells) < len(original.cells)
    assert not any("solution()" in cell.source for cell in copy.cells if cell.cell_type == "code")


def test_all_lessons_are_copied(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["student", str(tmp_path / "class")])
    student.main()
    names = {path.name for path in (tmp_path / "class").iterdir()}
    assert names == {notebook_of(source).name for source in lesson_sources()}
    shown = capsys.readouterr().out
    assert all(name in shown for name in names)
