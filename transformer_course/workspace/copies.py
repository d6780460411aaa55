"""Copies of the lessons to work in: without stored outputs, for a class without solutions.

Only the standard library is imported, because the build of the package runs this file too.
"""

import json
from pathlib import Path
from typing import Any

Notebook = dict[str, Any]
"""A notebook as its file holds it, in JSON."""


def lesson_copy(lesson: Path, solutions: bool = True) -> Notebook:
    """Return a lesson's notebook without its outputs, and without its links to Colab and Kaggle.

    Parameters
    ----------
    solutions
        Whether the cells that show a solution stay.
    """
    notebook = json.loads(lesson.read_text(encoding="utf-8"))
    left_out = {"links"} if solutions else {"links", "solution"}
    notebook["cells"] = [cell for cell in notebook["cells"] if left_out.isdisjoint(tags(cell))]
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            cell |= {"outputs": [], "execution_count": None}
    return notebook


def tags(cell: dict[str, Any]) -> list[str]:
    """Return the tags of a cell."""
    return cell["metadata"].get("tags", [])


def notebook_text(notebook: Notebook) -> str:
    """Return the content of a notebook's file."""
    return json.dumps(notebook, ensure_ascii=False, indent=1) + "\n"
