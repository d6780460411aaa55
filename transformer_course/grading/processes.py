"""Grade a folder of submissions, each in a process of its own."""

import contextlib
import multiprocessing
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from transformer_course.checker.feedback import Feedback
from transformer_course.exercises import catalogues
from transformer_course.grading.limits import Limits, confine
from transformer_course.grading.submission import SubmissionError, read
from transformer_course.grading.table import Row
from transformer_course.own.location import NAME

SET_UP = "transformer_course.notebook"
"""What the first cell of each lesson imports."""


def submissions(folder: Path) -> list[Path]:
    """Return all notebooks and ``my_transformer.py`` in a folder, and what lies in their place.

    That is each other file, and each folder that holds neither, so that nobody is passed over.

    Raises
    ------
    ValueError
        If there is no such folder, or nothing in it.
    """
    if not folder.is_dir():
        raise ValueError(f"{folder} is not a folder; give the one that holds the submissions.")
    found = [path for entry in folder.iterdir() for path in _handed_in(entry)]
    if not found:
        raise ValueError(
            f"{folder} is empty; put one notebook, one {NAME}, or one folder per learner there."
        )
    return sorted(found)


def _handed_in(entry: Path) -> list[Path]:
    if entry.name.startswith("."):
        return []
    if not entry.is_dir():
        return [entry]
    # Where files are collected, a learner's name is often put before that of the file.
    found = [path for pattern in ("*.ipynb", f"*{NAME}") for path in entry.rglob(pattern)]
    hidden = [path for path in found if any(p[0] == "." for p in path.relative_to(entry).parts)]
    return [path for path in found if path not in hidden] or [entry]


def grade(folder: Path, paths: Sequence[Path], limits: Limits, processes: int) -> Iterator[Row]:
    """Yield a row for each submission, in their order.

    Parameters
    ----------
    folder
        Holds the submissions; nothing in it is changed.
    paths
        The submissions, as :func:`submissions` returns them.
    limits
        What each may use.
    processes
        How many are graded at a time.

    Raises
    ------
    ValueError
        If ``processes`` is below 1.
    """
    if processes < 1:
        raise ValueError(f"the number of processes must be at least 1; got {processes}.")
    if "forkserver" not in multiprocessing.get_all_start_methods():
        raise ValueError("grading needs Linux or macOS; on Windows, use WSL.")
    context = multiprocessing.get_context("forkserver")
    # What takes seconds to import is imported once, and each submission gets a copy of that.
    lessons = [f"{catalogues.__module__}.{lesson}" for lesson in catalogues()]
    context.set_forkserver_preload([__name__, *lessons, SET_UP])
    with ThreadPoolExecutor(processes) as pool:
        yield from pool.map(partial(_grade_one, context, folder, limits), paths)


def _grade_one(context: Any, folder: Path, limits: Limits, path: Path) -> Row:
    """Grade one submission in a new process, and end that process whatever it does."""
    row = Row(str(path.relative_to(folder)))
    ours, theirs = context.Pipe(duplex=False)
    with TemporaryDirectory() as home:
        process = context.Process(target=_child, args=(path.resolve(), home, limits, theirs))
        process.start()
        theirs.close()  # so that its end closes the pipe
        try:
            _follow(ours, row, limits.seconds)
        finally:
            process.kill()
            process.join()
    return row


def _follow(messages: Connection, row: Row, seconds: float) -> None:
    """Fill in the row as the process reports, so that what came before an accident counts."""
    row.problem = "its process broke off: it ran out of memory, or ended Python"
    with contextlib.suppress(EOFError):
        messages.recv()  # it has begun, and so does its time
        until = time.monotonic() + seconds
        while messages.poll(max(0.0, until - time.monotonic())):
            attribute, value = messages.recv()
            if attribute == "exercises":
                row.exercises |= value
            else:
                setattr(row, attribute, value)
            if attribute == "problem":
                return
        row.problem = f"did not end within {seconds:g} seconds"


def _child(path: Path, home: str, limits: Limits, messages: Connection) -> None:
    """Grade a submission; the last message is the problem, empty if there is none."""
    messages.send("begun")
    try:
        _report(path, home, limits, messages)
    except (SubmissionError, OSError) as error:
        messages.send(("problem", str(error)))
    else:
        messages.send(("problem", ""))


def _report(path: Path, home: str, limits: Limits, messages: Connection) -> None:
    """Send what is found out, as soon as it is."""
    submission = read(path)
    messages.send(("lesson", submission.lesson))
    messages.send(("of", len(submission.exercises)))
    confine(home, limits)
    for name, feedback in submission.check():
        lesson = submission.exercises[name].task.lesson
        messages.send(("exercises", {name: _described(lesson, feedback)}))


def _described(lesson: str, feedback: Feedback) -> dict[str, Any]:
    return {
        "lesson": lesson,
        "verdict": feedback.verdict.value,
        "mistakes": list(feedback.mistakes),
        "finding": feedback.finding,
        "computed": feedback.computed,
        "feedback": repr(feedback),
    }
