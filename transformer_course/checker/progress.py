"""Remember which exercises are solved, in a file that belongs to the learner.

It is ``progress.jsonl`` in the folder ``TRANSFORMER_COURSE_HOME``, by default
``~/.transformer_course``. Each line is a JSON object with the name of an exercise and the UTC time
of the first right answer. A line is only ever added at the end, so that two notebooks can write at
the same time, and a line that makes no sense does not spoil the others.

If you learn on two machines, copy the file of one into the folder of the other under a name such as
``progress-laptop.jsonl``: all files ``progress*.jsonl`` of the folder count. What is remembered of
the cases of lesson 12 is kept in the same way, in ``cases.jsonl``, and so is what tells each wrong
answer from others, in ``tries.jsonl``.
"""

import json
import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from transformer_course.files import now

PROGRESS = "progress"
TRIES = "tries"
NOT_SAVED = (
    "This is not saved: set the environment variable `TRANSFORMER_COURSE_HOME` to a folder "
    "that can be written."
)


def progress_file(kind: str = PROGRESS) -> Path:
    """Return the path of the file of a kind, which need not exist.

    Raises
    ------
    RuntimeError
        If there is no home folder.
    """
    home = os.environ.get("TRANSFORMER_COURSE_HOME")
    return (Path(home) if home else Path.home() / ".transformer_course") / f"{kind}.jsonl"


def solved() -> dict[str, str]:
    """Return the time of the first right answer of each solved exercise, ``"lesson.exercise"``.

    A file that is missing or cannot be read counts as no progress; nothing is raised.
    """
    times: dict[str, str] = {}
    answers = entries(PROGRESS, "exercise", "solved")
    for exercise, time in sorted(answers, key=lambda entry: entry[1]):
        times.setdefault(exercise, time)
    return times


def record(exercise: str) -> bool:
    """Note that an exercise is solved, and return whether that could be saved."""
    if exercise in solved():
        return True
    return add(PROGRESS, {"exercise": exercise, "solved": now()})


def record_try(exercise: str, answer: str) -> None:
    """Note a wrong answer by what tells it from others; one that cannot be saved is forgotten."""
    add(TRIES, {"exercise": exercise, "answer": answer, "tried": now()})


def tries() -> dict[str, int]:
    """Return how many different wrong answers each exercise has had, ``"lesson.exercise"``."""
    return Counter(exercise for exercise, _ in set(entries(TRIES, "exercise", "answer")))


def add(kind: str, entry: dict[str, Any]) -> bool:
    """Add a line to the file of a kind, and return whether that could be saved."""
    try:
        _append(progress_file(kind), json.dumps(entry))
    except (OSError, RuntimeError):  # RuntimeError: there is no home folder
        return False
    return True


def entries(kind: str, *keys: str) -> Iterator[tuple[str, ...]]:
    """Yield what each line of a kind that makes sense has under some keys."""
    for line in _lines(kind):
        try:
            entry = json.loads(line)
            yield tuple(str(entry[key]) for key in keys)
        except (ValueError, LookupError, TypeError):
            continue


def _append(path: Path, line: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab+") as file:
        end = file.seek(0, os.SEEK_END)
        file.seek(max(0, end - 1))
        # An earlier line may have been cut short, by a full disk for example.
        start = "" if file.read() in (b"", b"\n") else "\n"
        file.write(f"{start}{line}\n".encode())


def _lines(kind: str) -> Iterator[bytes]:
    for file in _files(kind):
        try:
            yield from file.read_bytes().splitlines()
        except OSError:
            continue


def _files(kind: str) -> list[Path]:
    try:
        return sorted(progress_file(kind).parent.glob(f"{kind}*.jsonl"))
    except (OSError, RuntimeError):
        return []
