"""A small course of two lessons, in versions that follow each other, and a learner's folder."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, writes

from transformer_course.workspace import outline, update

ATTENTION = "02_attention.ipynb"


def exercise(name: str, stub: str = "    ...  # your code here") -> list:
    metadata = {"tags": ["exercise"], "exercise": name}
    return [
        new_markdown_cell(f"### Exercise 1: `{name}`\n\n*5 minutes.* Write it."),
        new_code_cell(f"def {name}(x):\n{stub}", metadata=metadata),
        new_code_cell(f"exercise.{name}.check({name})"),
        new_code_cell(f"exercise.{name}.solution()", metadata={"tags": ["solution"]}),
    ]


@pytest.fixture
def publish(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Return a function that puts a new version of a lesson into the course."""
    lessons = tmp_path / "lessons"
    lessons.mkdir()
    for module in (update, outline):
        monkeypatch.setattr(module, "lessons_folder", lambda: lessons)
    outline.exercises_of.cache_clear()

    def published(*cells: object, name: str = ATTENTION) -> None:
        notebook = new_notebook(cells=[new_markdown_cell("# A lesson"), *cells])
        for cell in notebook.cells:
            if cell.cell_type == "code":
                cell.execution_count = 7
        (lessons / name).write_text(writes(notebook), encoding="utf-8")

    yield published
    outline.exercises_of.cache_clear()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return the path of a workspace that is not made yet."""
    return tmp_path / "my-course"


def edit(path: Path, number: int, source: str) -> None:
    """Write into a cell, as JupyterLab does."""
    notebook = json.loads(path.read_text(encoding="utf-8"))
    notebook["cells"][number]["source"] = source.splitlines(keepends=True)
    path.write_text(json.dumps(notebook), encoding="utf-8")


def sources(path: Path) -> list[str]:
    """Return the text of each cell."""
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return ["".join(cell["source"]) for cell in cells]
