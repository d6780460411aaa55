"""Lay the lessons out in a folder, and bring them up to date without touching what is edited.

The notebooks of a lesson are a series: ``02_attention.ipynb``, ``02_attention (new).ipynb``,
``02_attention (new 2).ipynb``. Only the last of them can be replaced, and only while the learner
has not edited it; else a new version becomes the next one.
"""

import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from transformer_course.files import write_text
from transformer_course.own.location import RECORDS
from transformer_course.syllabus import lessons_folder
from transformer_course.workspace import laid
from transformer_course.workspace.copies import Notebook, lesson_copy, notebook_text
from transformer_course.workspace.series import next_name, series
from transformer_course.workspace.texts import update_texts

DEFAULT = "my-course"
"""Name of the folder for a learner who names none."""

RENAMED: dict[str, str] = {}
"""Exercises that were renamed since an earlier version: old name, new name.

A part of ``my_transformer.py`` keeps its name for ever, because learners' code calls it.
"""

KEPT = (
    "## From an earlier version\n\nThe course no longer has the exercises below. What you wrote "
    "for them is kept here; nothing in this lesson needs it."
)


def workspace(folder: Path | None) -> Path:
    """Return the folder to work in: the one named, the present one if it is one, or a new one."""
    if folder is not None:
        return folder.absolute()
    return Path.cwd() if (Path.cwd() / RECORDS).is_dir() else Path.cwd() / DEFAULT


def update(folder: Path) -> list[str]:
    """Lay out what is missing in a workspace or newer than what is there; make it if necessary.

    No file that the learner has edited is changed, and none is removed.

    Returns
    -------
    list[str]
        A line for each file that something happened to.

    Raises
    ------
    ValueError
        If the folder is not empty and not a workspace.
    OSError
        If it cannot be read or written.
    """
    _claim(folder)
    lines = (_update_lesson(folder, lesson) for lesson in sorted(lessons_folder().glob("*.ipynb")))
    return [*filter(None, lines), *update_texts(folder)]


def _claim(folder: Path) -> None:
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"{folder} is a file; give the name of a folder, new or empty.")
    if folder.is_dir() and not (folder / RECORDS).is_dir():
        strangers = sorted(path.name for path in folder.iterdir() if path.name[0] != ".")
        if strangers:
            raise ValueError(
                f"{folder} holds files of its own, such as {strangers[0]}, and was not made by "
                "this command; give the name of a folder that is new or empty."
            )
    (folder / RECORDS).mkdir(parents=True, exist_ok=True)


def _update_lesson(folder: Path, lesson: Path) -> str:
    """Lay one lesson out, if that is due; say in a line what happened."""
    shipped = laid.mark_stubs(lesson_copy(lesson))
    newest = laid.version(shipped)
    present = series(folder, lesson.stem)
    new = folder / next_name(present, lesson.stem)
    if not present:
        write_text(new, notebook_text(laid.stamp(shipped, newest)))
        return f"{new.name}: laid out."
    last = present[-1]
    notebook = next(_readable([last]), None)
    if notebook and newest in (laid.lesson_of(notebook), laid.version(notebook)):
        return ""
    answers = _answers(present)
    text = notebook_text(laid.stamp(_filled(shipped, answers), newest))
    if notebook is None:
        write_text(new, text)
        fresh = "the lesson with your earlier answers" if answers else "a fresh lesson"
        return f"{last.name}: damaged, so it stays as it is; {fresh} is in {new.name}."
    if not laid.is_edited(notebook):
        write_text(last, text)
        return f"{last.name}: replaced by the new version."
    write_text(new, text)
    return f"{last.name}: yours, so it stays; the new version, with your answers, is {new.name}."


def _answers(present: list[Path]) -> dict[str, str]:
    """Return the answers in the newest version that was edited and can be read."""
    readable = [*_readable(present)]
    edited = [notebook for notebook in readable if laid.is_edited(notebook)]
    newest = (edited or readable)[-1:]
    return laid.answers(*newest) if newest else {}


def _readable(paths: list[Path]) -> Iterator[Notebook]:
    for path in paths:
        with suppress(laid.DamagedNotebookError):
            yield laid.read(path)


def _filled(lesson: Notebook, answers: dict[str, str]) -> Notebook:
    """Put answers into the exercises of a lesson; those of lost exercises come to its end."""
    left = dict(answers)
    for old, new in RENAMED.items():
        if old in left:
            left[new] = re.sub(rf"\b{old}\b", new, left.pop(old))
    for cell in laid.exercise_cells(lesson):
        cell["source"] = left.pop(cell["metadata"]["exercise"], cell["source"])
    if left:
        lesson["cells"].append(_cell("markdown", KEPT, {}))
    for exercise, text in left.items():
        # Tagged as an exercise, so that the next version finds it again.
        cell = _cell("code", text, {"tags": ["exercise"], "exercise": exercise})
        lesson["cells"].append(cell | {"outputs": [], "execution_count": None})
    return lesson


def _cell(kind: str, text: str, metadata: dict[str, object]) -> dict[str, object]:
    return {"cell_type": kind, "id": laid.cell_id(text), "metadata": metadata, "source": text}
