"""Remember which exercises are solved, in a file that belongs to the learner.

The file is ``progress.json`` in the folder ``TRANSFORMER_COURSE_HOME``, by default
``~/.transformer_course``: a JSON object whose entry "solved" maps "lesson.exercise" to the UTC time
of the first right answer.
"""

import json
import os
from datetime import UTC, datetime
from pathlib import Path

from transformer_course.files import atomic_write


def progress_file() -> Path:
    """Return the path of the progress file, which need not exist."""
    home = os.environ.get("TRANSFORMER_COURSE_HOME")
    return (Path(home) if home else Path.home() / ".transformer_course") / "progress.json"


def solved() -> dict[str, str]:
    """Return the time of the first right answer of each solved exercise.

    A missing, unreadable or damaged file counts as no progress; nothing is raised.
    """
    return _read() or {}


def record(exercise: str) -> bool:
    """Note that an exercise is solved, and return whether that could be saved.

    The file is read again and replaced in one step, so that neither a reader nor a second notebook
    meets half a file. A damaged file is kept beside the new one.
    """
    entries = _read()
    if entries and exercise in entries:
        return True
    now = datetime.now(UTC).isoformat(timespec="seconds")
    text = json.dumps({"solved": {**(entries or {}), exercise: now}}, indent=1, sort_keys=True)
    try:
        file = progress_file()
        file.parent.mkdir(parents=True, exist_ok=True)
        if entries is None:
            file.replace(file.with_suffix(".damaged.json"))
        with atomic_write(file) as temporary:
            temporary.write_text(text, encoding="utf-8")
    except (OSError, RuntimeError):  # RuntimeError: there is no home folder
        return False
    return True


def _read() -> dict[str, str] | None:
    """Return what the file holds, nothing if there is none, and None if it makes no sense."""
    try:
        entries = json.loads(progress_file().read_text(encoding="utf-8"))["solved"]
        return {name: str(time) for name, time in entries.items()}
    except (FileNotFoundError, NotADirectoryError, RuntimeError):
        return {}
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return None
