"""Grade a folder from the command line: each row is kept as soon as it is known."""

import contextlib
import io
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

from tqdm import tqdm

from transformer_course.checker.comparison import short
from transformer_course.files import write_text
from transformer_course.grading.limits import Limits
from transformer_course.grading.processes import grade, shown, submissions
from transformer_course.grading.table import (
    Row,
    class_predictions,
    clusters,
    frequent_mistakes,
    on_screen,
    read_rows,
    to_csv,
    to_line,
)


def grade_folder(
    folder: Path,
    limits: Limits,
    processes: int,
    *,
    csv: Path | None = None,
    lines: Path | None = None,
    resume: bool = False,
) -> None:
    """Grade all submissions in a folder, print the table, and write what is asked for.

    Parameters
    ----------
    folder, limits, processes
        See :func:`~transformer_course.grading.grade`.
    csv
        Where the table goes, for a spreadsheet.
    lines
        Where each row goes when it is known, as a line of JSON.
    resume
        Whether to grade only what ``lines`` lacks.

    Raises
    ------
    ValueError
        If there is nothing to grade, or ``lines`` does not fit ``resume``.
    OSError
        If a file cannot be written; the table is printed all the same.
    """
    paths = submissions(folder)
    rows = _graded_before(lines, resume)
    known = {row.submission for row in rows}
    paths = [path for path in paths if shown(path, folder) not in known]
    graded = grade(folder, paths, limits, processes)
    try:
        with _opened(csv), _opened(lines) as kept:
            for row in tqdm(graded, total=len(paths), unit="file", desc="grading", leave=False):
                rows.append(row)
                kept.write(to_line(row))
                kept.flush()
    finally:
        rows.sort(key=lambda row: row.submission)
        _print(rows)
        if csv and rows:
            write_text(csv, to_csv(rows))


def _graded_before(lines: Path | None, resume: bool) -> list[Row]:
    begun = lines is not None and lines.exists() and lines.stat().st_size > 0
    if not resume and begun:
        raise ValueError(
            f"{lines} holds an earlier grading; --resume goes on with it, a new name starts afresh."
        )
    if not resume:
        return []
    if not begun:
        raise ValueError("--resume needs --json FILE, the file of the grading that was cut short.")
    rows = read_rows(lines)
    write_text(lines, "".join(map(to_line, rows)))  # without half a line at its end
    return rows


@contextlib.contextmanager
def _opened(path: Path | None) -> Iterator[TextIO]:
    """Open a file to append to: it is better refused before an hour of work than after it."""
    if path is None:
        yield io.StringIO()
    else:
        with path.open("a", encoding="utf-8") as file:
            yield file


def _print(rows: list[Row]) -> None:
    if not rows:
        return
    print(on_screen(rows))
    print("(Long texts are cut here; --csv and --json keep them whole.)")
    if mistakes := frequent_mistakes(rows):
        print("\nMistakes that have a name:")
        print(*(f"{count} x {mistake}" for mistake, count in mistakes), sep="\n")
    if groups := clusters(rows):
        print("\nNo known mistake explains these, and each group computes the same thing:")
        print(*groups, sep="\n")
    for question, expected in class_predictions(rows):
        print(f"\nWhat the class expected: {question}")
        print(*(f"{count} x {short(words)}" for words, count in expected), sep="\n")
