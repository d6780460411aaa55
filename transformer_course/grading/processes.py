"""Grade a folder of submissions, each in a process of its own."""

import contextlib
import json
import multiprocessing
import os
import shutil
import signal
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from multiprocessing.connection import Connection, wait
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from transformer_course.checker.feedback import Feedback
from transformer_course.exercises import catalogues
from transformer_course.grading.capstone import is_capstone
from transformer_course.grading.limits import Limits, confine
from transformer_course.grading.submission import SubmissionError, read
from transformer_course.grading.table import Row, plain
from transformer_course.own.location import NAME

SET_UP = "transformer_course.notebook"
"""What the first cell of each lesson imports."""

GLANCE = 0.25  # seconds between two looks at a process
START = 60  # seconds that a process may take until it begins
SAID = 2**23  # bytes that a process may send
TABLES = (".csv", ".json", ".jsonl")  # what grading writes is handed in by nobody
CELL = 1 / 3  # of the time limit is what one cell may take


def submissions(folder: Path) -> list[Path]:
    """Return all notebooks, ``my_transformer.py`` and folders with a card in a folder.

    What lies in their place is returned, too: each other file, and each folder that holds none of
    these, so that nobody is overlooked.

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
    if _is_hidden(Path(entry.name)):
        return []
    if not entry.is_dir():
        return [] if entry.suffix in TABLES else [entry]
    # Where files are collected, a learner's name is often put before that of the file.
    seen = [path for path in entry.rglob("*") if not _is_hidden(path.relative_to(entry))]
    files = [path for path in seen if path.name.lower().endswith((".ipynb", NAME))]
    cards = [path for path in (entry, *seen) if path.is_dir() and is_capstone(path)]
    return [*cards, *files] or [entry]


def _is_hidden(path: Path) -> bool:
    """Whether it, or a folder that it lies in, is hidden; a zip of macOS has such a folder."""
    return any(part.startswith(".") or part == "__MACOSX" for part in path.parts)


def grade(folder: Path, paths: Sequence[Path], limits: Limits, processes: int) -> Iterator[Row]:
    """Return a row for each submission, as soon as it is graded.

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
        If ``processes`` is below 1, or this is Windows.
    """
    if processes < 1:
        raise ValueError(f"the number of processes must be at least 1; got {processes}.")
    if "forkserver" not in multiprocessing.get_all_start_methods():
        raise ValueError("grading needs Linux or macOS; on Windows, use WSL.")
    return _graded(folder, paths, limits, processes)


def _graded(folder: Path, paths: Sequence[Path], limits: Limits, processes: int) -> Iterator[Row]:
    context = multiprocessing.get_context("forkserver")
    # What takes seconds to import is imported once, and each submission gets a copy of that.
    lessons = [f"{catalogues.__module__}.{lesson}" for lesson in catalogues()]
    context.set_forkserver_preload([__name__, *lessons, SET_UP])
    stopped = threading.Event()
    pool = ThreadPoolExecutor(processes)
    try:
        waiting = [pool.submit(_grade_one, context, folder, limits, p, stopped) for p in paths]
        for done in as_completed(waiting):
            yield done.result()
    finally:  # whoever stops it waits for nobody
        stopped.set()
        pool.shutdown(cancel_futures=True)


def shown(path: Path, folder: Path) -> str:
    """Return the name of a submission below the graded folder; a zip may hold any bytes."""
    return plain(os.fsencode(path.relative_to(folder)).decode("utf-8", "backslashreplace"))


def _grade_one(
    context: Any, folder: Path, limits: Limits, path: Path, stopped: threading.Event
) -> Row:
    """Grade a copy of a submission in a new process, and end that process whatever it does."""
    row = Row(shown(path, folder))
    with TemporaryDirectory() as private:
        home = Path(private, "home")
        home.mkdir()
        try:
            copy = path if path.is_dir() else Path(shutil.copy(path, private))
        except OSError as error:
            row.problem = f"it cannot be read: {error.strerror or error}"
            return row
        ours, theirs = context.Pipe(duplex=False)
        process = context.Process(target=_child, args=(copy, str(home), limits, theirs))
        process.start()
        theirs.close()  # so that its end closes the pipe
        try:
            _follow(ours, process.pid, row, limits, stopped)
        finally:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)  # and what it has left behind
            process.kill()
            process.join()
            ours.close()
    return row


def _follow(
    ours: Connection, process: int, row: Row, limits: Limits, stopped: threading.Event
) -> None:
    """Fill in the row as the process reports, so that what came before an accident counts."""
    row.problem = "its process broke off: it ran out of memory, or ended Python"
    until, too_late = time.monotonic() + START, f"did not begin within {START:g} seconds"
    lines = _lines(ours)
    while time.monotonic() < until and not stopped.is_set():
        if _resident(process) > limits.memory:
            row.problem = f"it used more than {limits.memory:g} GiB of memory"
            return
        try:
            message = json.loads(next(lines) or "null")
            if message == "begun":
                until = time.monotonic() + limits.seconds
                too_late = f"did not end within {limits.seconds:g} seconds"
            elif message is not None and row.take(message):
                return
        except StopIteration:
            return
        except ValueError:  # no JSON, or not what a row holds
            row.problem = "its process sent something that is not a result"
            return
    row.problem = "stopped" if stopped.is_set() else too_late


def _lines(ours: Connection) -> Iterator[bytes]:
    """Yield what comes through a pipe, line by line, and nothing where a glance finds nothing."""
    buffer, size = b"", 0
    while True:
        if not wait([ours], GLANCE):
            yield b""
            continue
        chunk = os.read(ours.fileno(), 2**16)
        size += len(chunk)
        if not chunk:
            return
        if size > SAID:
            raise ValueError
        *lines, buffer = (buffer + chunk).split(b"\n")
        yield from lines


def _resident(process: int) -> float:
    """Return how much memory a process holds in GiB, shared memory too; 0 where nobody knows."""
    try:
        pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
    except (OSError, IndexError):
        return 0.0
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**30


def _child(path: Path, home: str, limits: Limits, messages: Connection) -> None:
    """Grade a submission; the last message is the problem, empty if there is none."""
    os.setsid()  # so that all that it starts can be ended with it
    # What else is open belongs to the process that makes all others.
    os.closerange(3, messages.fileno())
    os.closerange(messages.fileno() + 1, os.sysconf("SC_OPEN_MAX"))

    def send(message: Any) -> None:
        os.write(messages.fileno(), json.dumps(message).encode() + b"\n")

    send("begun")
    try:
        _report(path, home, limits, send)
    except (SubmissionError, OSError) as error:
        send({"problem": str(error)})
    else:
        send({"problem": ""})


def _report(path: Path, home: str, limits: Limits, send: Any) -> None:
    """Send what is found out, as soon as it is."""
    submission = read(path)
    send({"lesson": submission.lesson, "of": len(submission.exercises)})
    send({"predictions": dict(submission.predictions)})
    confine(home, limits)

    def report(name: str, feedback: Feedback) -> None:
        send({"exercises": {name: _described(submission.lesson_of(name), feedback)}})

    submission.check(report, limits.seconds * CELL)
    send({"failures": list(submission.failures)})


def _described(lesson: str, feedback: Feedback) -> dict[str, Any]:
    return {
        "lesson": lesson,
        "verdict": feedback.verdict.value,
        "mistakes": list(feedback.mistakes),
        "finding": feedback.finding,
        "computed": feedback.computed,
        "feedback": repr(feedback),
    }
