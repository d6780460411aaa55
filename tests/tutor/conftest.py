"""Answers in files, and the tutor's command without a process for each."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from transformer_course.syllabus import lessons_folder
from transformer_course.tutor import command, judge
from transformer_course.workspace import laid

Judge = Callable[..., dict[str, Any]]


@pytest.fixture
def in_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Judge here: a process for each answer takes seconds."""
    monkeypatch.setattr(command, "found_out", judge.judged)


@pytest.fixture
def file(tmp_path: Path) -> Callable[[str], Path]:
    """Return a function that writes an answer into a file."""

    def written(text: str, name: str = "answer.py") -> Path:
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return path

    return written


@pytest.fixture
def notebook(tmp_path: Path) -> Callable[[dict[str, str], str], Path]:
    """Return a function that writes a lesson with answers in the place of stubs."""

    def written(answers: dict[str, str], lesson: str = "02_attention") -> Path:
        path = tmp_path / f"{lesson}.ipynb"
        text = (lessons_folder() / path.name).read_text(encoding="utf-8")
        content = json.loads(text)
        for cell in laid.exercise_cells(content):
            name = cell["metadata"]["exercise"]
            cell["source"] = answers.get(name, cell["source"])
        path.write_text(json.dumps(content), encoding="utf-8")
        return path

    return written


def cells(*texts: str) -> Iterator[dict[str, Any]]:
    """Yield code cells as a notebook's file holds them."""
    for text in texts:
        yield {"cell_type": "code", "source": text.splitlines(keepends=True), "metadata": {}}
