"""Notebooks and their sources: the same cells, with outputs and without.

The source, ``notebooks/text/NAME.md`` (MyST Markdown), is what authors edit; the notebook,
``notebooks/NAME.ipynb``, is built from it. Which of the two is newer never matters.
"""

import copy
import hashlib
from collections import Counter
from functools import cache
from pathlib import Path

import jupytext
import nbformat
from nbformat import NotebookNode

ROOT = Path(__file__).parent.parent
KERNEL = {"display_name": "Python 3", "language": "python", "name": "python3"}


def lesson_sources() -> list[Path]:
    """Return the sources of all lessons, in order."""
    return sorted((ROOT / "notebooks" / "text").glob("*.md"))


def notebook_of(source: Path) -> Path:
    """Return where the notebook of a source stands: one folder up."""
    return source.parent.parent / f"{source.stem}.ipynb"


def outcomes_of(source: Path) -> Path:
    """Return where the outputs of a lesson stand that its notebook does not show."""
    return ROOT / "book" / "outcomes" / f"{source.stem}.json"


def cell_key(cell: NotebookNode) -> str:
    """Return by what the outputs of a cell are found again; it depends on the source alone."""
    return hashlib.sha256(cell.source.encode()).hexdigest()[:12]


def read_source(source: Path) -> NotebookNode:
    """Return the notebook that a source describes, without outputs."""
    notebook = copy.deepcopy(_parsed(source.read_text(encoding="utf-8")))
    notebook.metadata = nbformat.from_dict({"kernelspec": KERNEL})
    return notebook


@cache  # several texts of the book ask for each source
def _parsed(text: str) -> NotebookNode:
    return jupytext.reads(text, fmt="md:myst")


def source_text(notebook: NotebookNode) -> str:
    """Return the one way to write a notebook's cells as MyST Markdown."""
    bare = nbformat.v4.new_notebook(cells=notebook.cells)
    # Without the filter, jupytext writes its own version into each source.
    bare.metadata["jupytext"] = {"notebook_metadata_filter": "-all"}
    return jupytext.writes(bare, fmt="md:myst")


def read_notebook(path: Path) -> NotebookNode:
    """Return a stored notebook."""
    return nbformat.read(path, as_version=4)


def as_stored(notebook: NotebookNode) -> NotebookNode:
    """Return a notebook as its file gives it back: nbformat sorts the keys of metadata."""
    return nbformat.reads(notebook_text(notebook), as_version=4)


def notebook_text(notebook: NotebookNode) -> str:
    """Return a notebook's file content, the same for the same cells and outputs."""
    _assign_ids(notebook)
    return nbformat.writes(notebook) + "\n"


def write_if_changed(path: Path, text: str) -> bool:
    """Write a text file unless it already reads so; return whether it was written."""
    if path.exists() and path.read_text(encoding="utf-8") == text:
        return False
    path.write_text(text, encoding="utf-8")
    return True


def _assign_ids(notebook: NotebookNode) -> None:
    """Give each cell an id that depends on nothing but its content.

    jupytext draws ids at random, which would change every cell in every build.
    """
    seen: Counter[str] = Counter()
    for cell in notebook.cells:
        content = f"{cell.cell_type}:{cell.source}"
        seen[content] += 1
        cell.id = hashlib.sha256(f"{seen[content]}:{content}".encode()).hexdigest()[:12]
