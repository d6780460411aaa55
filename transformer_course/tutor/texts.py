"""The text of an answer: a Python file, a notebook, or what comes through standard input."""

import json
import sys
from pathlib import Path

from transformer_course.syllabus import lessons_folder
from transformer_course.workspace import laid

STANDARD_INPUT = Path("-")
SHOWN = "standard input"


class NotJudgedError(ValueError):
    """Why an answer cannot be judged, and what to do, in a sentence."""


def shown(path: Path) -> str:
    """Return what a file is called in a sentence."""
    return SHOWN if path == STANDARD_INPUT else str(path)


def cells_of(path: Path) -> list[str]:
    """Return the code cells of a notebook, or the text of any other file as the only cell.

    Raises
    ------
    NotJudgedError
        If it is missing, or neither Python nor a notebook.
    """
    text = _text(path)
    try:
        cells = json.loads(text)["cells"]
        return [laid.source(cell) for cell in cells if cell["cell_type"] == "code"]
    except (ValueError, LookupError, TypeError, RecursionError):
        if path.suffix.lower() != ".ipynb":
            return [text]
        raise NotJudgedError(
            f"{shown(path)} is not a notebook, or a damaged one: open it in JupyterLab and save it "
            "again, or give the answer's code through standard input, with `-` for the file."
        ) from None


def _text(path: Path) -> str:
    try:
        data = sys.stdin.buffer.read() if path == STANDARD_INPUT else path.read_bytes()
    except IsADirectoryError:
        raise NotJudgedError(f"{path} is a folder: name a .py file or a notebook in it.") from None
    except FileNotFoundError:
        raise NotJudgedError(
            f"{path} is not there: name a file in {Path.cwd()} or give its whole path."
        ) from None
    except OSError as error:
        raise NotJudgedError(
            f"{shown(path)} cannot be read ({error.strerror}): see who may read it."
        ) from None
    try:
        return data.decode("utf-8-sig")  # Windows may begin a file with a byte-order mark
    except UnicodeDecodeError:
        raise NotJudgedError(
            f"{shown(path)} is not UTF-8 text: save it again as UTF-8 in your editor."
        ) from None


def set_up_of(lesson: str) -> list[str]:
    """Return the cells of a lesson that import what its exercises need."""
    notebook = json.loads((lessons_folder() / f"{lesson}.ipynb").read_text(encoding="utf-8"))
    cells = (cell for cell in notebook["cells"] if cell["cell_type"] == "code")
    return [laid.source(cell) for cell in cells if "setup" in laid.tags(cell)]
