"""What was laid out, and what the learner has made of it.

A notebook carries this itself, in its metadata, which JupyterLab keeps: which version of the
lesson it is, its cells as they were laid out, and each stub. So a notebook may be copied, renamed
or put into another folder, and no list elsewhere can be lost or wrong. Cells are compared by their
text: outputs, metadata and empty cells, which running a notebook adds, are not edits.
"""

import hashlib
import json
from pathlib import Path
from typing import Any

from transformer_course.workspace.copies import Notebook, tags

KEY = "transformer_course"
STUB = "stub"


class DamagedNotebookError(ValueError):
    """A file that cannot be read as a notebook, cut short for example."""


def read(path: Path) -> Notebook:
    """Read a notebook.

    Raises
    ------
    DamagedNotebookError
        If the file is not a notebook of format 4.
    OSError
        If it cannot be read.
    """
    try:
        notebook = json.loads(path.read_text(encoding="utf-8"))
        version(notebook), answers(notebook), lesson_of(notebook)
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        raise DamagedNotebookError(f"{path} is not a notebook, or a damaged one.") from None
    return notebook


def version(notebook: Notebook) -> str:
    """Return a digest of the text of all cells that have any."""
    cells = [(cell["cell_type"], source(cell).strip()) for cell in notebook["cells"]]
    return _digest(json.dumps([cell for cell in cells if cell[1]]))


def stamp(notebook: Notebook, lesson: str) -> Notebook:
    """Note in a notebook what it is when it is laid out, and return it.

    Parameters
    ----------
    lesson
        The :func:`version` of the lesson that it was made from.
    """
    notebook["metadata"][KEY] = {"lesson": lesson, "laid": version(notebook)}
    return notebook


def lesson_of(notebook: Notebook) -> str:
    """Return the version of the lesson that a notebook was made from; empty if unknown."""
    return _note(notebook).get("lesson", "")


def is_edited(notebook: Notebook) -> bool:
    """Tell whether the learner has changed a cell's text since the notebook was laid out."""
    return _note(notebook).get("laid") != version(notebook)


def is_run(notebook: Notebook) -> bool:
    """Tell whether a cell of the notebook was ever run."""
    return any(cell.get("execution_count") for cell in notebook["cells"])


def mark_stubs(notebook: Notebook) -> Notebook:
    """Note in each exercise's cell that its present text is the stub, and return the notebook."""
    for cell in exercise_cells(notebook):
        cell["metadata"][STUB] = _digest(source(cell).strip())
    return notebook


def answers(notebook: Notebook) -> dict[str, str]:
    """Return what the learner wrote in place of stubs, by the name of the exercise."""
    written: dict[str, list[str]] = {}
    for cell in exercise_cells(notebook):
        text = source(cell).strip()
        if text and _digest(text) != cell["metadata"].get(STUB):
            written.setdefault(cell["metadata"]["exercise"], []).append(text)
    # A cell that was split in two has its metadata twice.
    return {exercise: "\n\n\n".join(texts) for exercise, texts in written.items()}


def exercise_cells(notebook: Notebook) -> list[dict[str, Any]]:
    """Return the cells where the learner answers."""
    return [
        cell
        for cell in notebook["cells"]
        if "exercise" in tags(cell) and "exercise" in cell["metadata"]
    ]


def source(cell: dict[str, Any]) -> str:
    """Return a cell's text, which a file may hold as one string or as lines."""
    text = cell["source"]
    return text if isinstance(text, str) else "".join(text)


def cell_id(text: str) -> str:
    """Return an id for a cell that depends on nothing but its text."""
    return _digest(text)[:12]


def _note(notebook: Notebook) -> dict[str, str]:
    return notebook["metadata"].get(KEY, {})


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]
