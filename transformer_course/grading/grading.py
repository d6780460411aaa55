"""Grade a folder of submissions, each in a process of its own.

The limits and the guard are there against accidents: an endless loop, a list that fills the memory,
a cell that tidies up its folder. They do not hold off somebody who is bent on doing harm; for that,
grade in a container or on a machine that can be lost.
"""

import contextlib
import json
import multiprocessing
import os
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pandas as pd
import torch
from transformer_course.exercises.submission import Submission, SubmissionError

from transformer_course.checker.comparison import short
from transformer_course.checker.feedback import Feedback, Verdict
from transformer_course.exercises import catalogues

FILE_LIMIT = 2**28  # bytes; no answer has a reason to write a file at all
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
FILE_EVENTS = ("os.chmod", "os.chown", "os.link", "os.mkdir", "os.remove", "os.rename", "os.rmdir")
FILE_EVENTS += ("os.symlink", "os.truncate", "os.utime", "shutil.rmtree")
FORBIDDEN_EVENTS = {
    **dict.fromkeys(("socket.connect", "socket.bind", "socket.getaddrinfo"), "no network"),
    **dict.fromkeys(("os.exec", "os.fork", "os.posix_spawn", "os.spawn"), "no other program"),
    **dict.fromkeys(("os.system", "subprocess.Popen"), "no other program"),
    **dict.fromkeys(("os.kill", "os.killpg"), "no signal to a process"),
}


@dataclass(frozen=True)
class Limits:
    """What one submission may use: seconds of time, GiB of memory.

    Raises
    ------
    ValueError
        If one of them is not above zero.
    """

    seconds: float
    memory: float

    def __post_init__(self) -> None:
        for name, value in asdict(self).items():
            if not value > 0:
                raise ValueError(f"the limit of {name} must be above zero; got {value:g}.")


@dataclass
class Row:
    """What is known about one submission.

    Attributes
    ----------
    submission
        Its path below the graded folder.
    lesson
        The lesson's name; empty if it could not be told.
    exercises
        For each exercise of the lesson: ``verdict``, ``mistakes`` (names of those recognised),
        ``finding`` (in one sentence) and ``feedback`` (all words that the learner sees).
    problem
        Why the submission could not be graded, or not to its end; empty if it could.
    """

    submission: str
    lesson: str = ""
    exercises: dict[str, dict[str, Any]] = field(default_factory=dict)
    problem: str = ""

    @property
    def solved(self) -> int:
        """How many exercises are right."""
        return sum(e["verdict"] == Verdict.RIGHT.value for e in self.exercises.values())

    @property
    def mistakes(self) -> list[str]:
        """The recognised mistakes, each with its exercise."""
        return [f"{name}: {m}" for name, e in self.exercises.items() for m in e["mistakes"]]

    @property
    def findings(self) -> list[str]:
        """What is wrong with each wrong answer: its recognised mistakes, or the first sentence."""
        wrong = {n: e for n, e in self.exercises.items() if e["verdict"] == Verdict.WRONG.value}
        return [f"{name}: {e['finding']}" for name, e in wrong.items()]


def frequent_mistakes(rows: Sequence[Row]) -> list[tuple[str, int]]:
    """Return in how many submissions each mistake was recognised, the most frequent first."""
    counts = Counter(mistake for row in rows for mistake in row.mistakes)
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))


def table(rows: Sequence[Row]) -> pd.DataFrame:
    """Return one line per submission, for a spreadsheet."""
    return pd.DataFrame(
        {
            "submission": row.submission,
            "lesson": row.lesson,
            "solved": row.solved,
            "of": len(catalogues().get(row.lesson, ())),
            "findings": "; ".join(row.findings),
            "problem": row.problem,
        }
        for row in rows
    )


def on_screen(rows: Sequence[Row]) -> str:
    """Return the table in columns that begin at the left, long texts cut."""
    texts = table(rows).astype(str)
    for column in ("findings", "problem"):
        texts[column] = texts[column].map(short)
    aligned = texts.apply(lambda column: column.str.ljust(column.str.len().max()))
    return aligned.to_string(index=False, justify="left")


def to_json(rows: Sequence[Row], limits: Limits) -> str:
    """Return all that is known, with the feedback that each learner would see."""
    content = {"limits": asdict(limits), "submissions": [asdict(row) for row in rows]}
    return json.dumps(content, ensure_ascii=False, indent=1) + "\n"


def submissions(folder: Path) -> list[Path]:
    """Return all notebooks in a folder, and what lies there in the place of one.

    That is each other file, and each folder that holds no notebook, so that nobody is passed over.

    Raises
    ------
    ValueError
        If there is no such folder, or nothing in it.
    """
    if not folder.is_dir():
        raise ValueError(f"{folder} is not a folder; give the one that holds the submissions.")
    found = [path for entry in folder.iterdir() for path in _handed_in(entry)]
    if not found:
        raise ValueError(f"{folder} is empty; put one notebook, or one folder, per learner there.")
    return sorted(found)


def _handed_in(entry: Path) -> list[Path]:
    if entry.name.startswith("."):
        return []
    if not entry.is_dir():
        return [entry]
    notebooks = [
        path
        for path in entry.rglob("*.ipynb")
        if not any(part.startswith(".") for part in path.relative_to(entry).parts)
    ]
    return notebooks or [entry]


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
    context.set_forkserver_preload([__name__, *lessons])
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
        submission = Submission.read(path)
    except (SubmissionError, OSError) as error:
        messages.send(("problem", str(error)))
        return
    messages.send(("lesson", submission.lesson))
    _confine(home, limits)
    for name, feedback in submission.check():
        messages.send(("exercises", {name: _described(feedback)}))
    messages.send(("problem", ""))


def _described(feedback: Feedback) -> dict[str, Any]:
    return {
        "verdict": feedback.verdict.value,
        "mistakes": list(feedback.mistakes),
        "finding": " and ".join(feedback.mistakes) or feedback.parts[0].text(),
        "feedback": repr(feedback),
    }


def _confine(home: str, limits: Limits) -> None:
    """Leave this process one folder to write in, so much memory, and no way to the outside."""
    import resource  # here, because Windows lacks it, and all of a lesson's exercises are imported

    os.environ.update({"HOME": home, "TRANSFORMER_COURSE_HOME": home, "TMPDIR": home})
    os.chdir(home)
    sys.dont_write_bytecode = True
    torch.set_num_threads(1)  # as many processes run at a time as there are processors
    silence = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(silence, stream)
    resource.setrlimit(resource.RLIMIT_DATA, 2 * (round(limits.memory * 2**30),))
    resource.setrlimit(resource.RLIMIT_FSIZE, (FILE_LIMIT, FILE_LIMIT))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    sys.addaudithook(partial(_refuse, os.path.realpath(home)))


def _refuse(home: str, event: str, arguments: tuple) -> None:
    """Raise PermissionError for what no answer needs to do; Python calls this before each event."""
    if event in FORBIDDEN_EVENTS:
        raise PermissionError(f"{FORBIDDEN_EVENTS[event]} while grading")
    if event in FILE_EVENTS:
        paths = [path for path in arguments if isinstance(path, str | bytes | os.PathLike)]
    elif event == "open" and arguments[2] & WRITING and not isinstance(arguments[0], int):
        paths = [arguments[0]]
    else:
        return
    for path in paths:
        real = os.path.realpath(os.fsdecode(path))
        # With the separator: "/tmp/ab" begins with "/tmp/a" and does not lie in it.
        if real not in (home, os.devnull) and not real.startswith(home + os.sep):
            raise PermissionError(f"{real} is not to be changed while grading")
