"""Remember which exercises are solved, in a file that belongs to the learner.

The file is ``progress.json`` in the folder ``TRANSFORMER_COURSE_HOME``, by default
``~/.transformer_course``: a JSON object that maps "lesson.exercise" to the UTC time of the first
right answer.
"""

import json
import os
import tempfile
from datetime import UTC, datetime
from pathlib import Path


def progress_file() -> Path:
    """Return the path of the progress file, which need not exist."""
    home = os.environ.get("TRANSFORMER_COURSE_HOME")
    return (Path(home) if home else Path.home() / ".transformer_course") / "progress.json"


def solved() -> dict[str, str]:
    """Return the time of the first right answer of each solved exercise.

    A missing, unreadable or damaged file counts as no progress; it never raises.
    """
    try:
        entries = json.loads(progress_file().read_text(encoding="utf-8"))
        return {str(name): str(when) for name, when in entries["solved"].items()}
    except (OSError, ValueError, RuntimeError, LookupError, TypeError, AttributeError):
        return {}


def record(exercise: str) -> bool:
    """Note that an exercise is solved; return whether that could be saved.

    The file is read again and replaced in one step, so that a reader or a second notebook never
    meets half a file. A damaged file is kept beside the new one.
    """
    try:
        file = progress_file()
        entries = solved()
        if exercise in entries:
            return True
        file.parent.mkdir(parents=True, exist_ok=True)
        if not entries and file.exists():
            file.replace(file.with_suffix(".damaged.json"))
        entries[exercise] = datetime.now(UTC).isoformat(timespec="seconds")
        _replace(file, json.dumps({"solved": entries}, indent=1, sort_keys=True))
    except (OSError, RuntimeError):  # RuntimeError: no home folder at all
        return False
    return True


def _replace(file: Path, text: str) -> None:
    handle, temporary = tempfile.mkstemp(dir=file.parent, prefix=file.name, suffix=".tmp")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as stream:
            stream.write(text)
        Path(temporary).replace(file)
    except OSError:
        Path(temporary).unlink(missing_ok=True)
        raise
