"""Copies for a class hold all of a lesson but its solutions, outputs and links to hosts."""

import sys
from pathlib import Path

import nbformat
import pytest

from tools import student
from tools.sources import lesson_sources, notebook_of
from transformer_course.workspace.copies import lesson_copy
from transformer_course.workspace.laid import source as source_of


def tags(cell):
    return cell.metadata.get("tags", [])


def texts(cell):
    """What a reader finds in a cell; which cells are folded is another matter."""
    return cell.cell_type, source_of(cell), cell.metadata | {"jupyter": None}


@pytest.mark.parametrize(
    "lesson", [notebook_of(source) for source in lesson_sources()], ids=lambda path: path.stem
)
def test_a_copy_lacks_solutions_and_links_and_nothing_else(lesson: Path):
    original = nbformat.read(lesson, as_version=4)
    copy = nbformat.from_dict(lesson_copy(lesson, solutions=False))
    kept = [cell for cell in original.cells if not {"solution", "links"} & set(tags(cell))]
    assert [texts(cell) for cell in copy.cells] == [texts(cell) for cell in kept]
    assert len(copy.cells) < len(original.cells)
    code = [cell for cell in copy.cells if cell.cell_type == "code"]
    assert not any("solution()" in source_of(cell) for cell in code)
    assert not any(cell.outputs or cell.execution_count for cell in code)


def test_all_lessons_are_copied(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["student", str(tmp_path / "class")])
    student.main()
    names = {path.name for path in (tmp_path / "class").iterdir()}
    assert names == {notebook_of(source).name for source in lesson_sources()}
    shown = capsys.readouterr().out
    assert all(name in shown for name in names)
