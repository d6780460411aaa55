"""``my_transformer.py`` on disk: read, written and kept, so that nothing in it is ever lost."""

import contextlib
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from types import ModuleType

from filelock import FileLock

from transformer_course.checker.time_limits import TIME_LIMIT, TimeLimitReached
from transformer_course.files import write_text
from transformer_course.own import sections
from transformer_course.own.location import NAME
from transformer_course.own.modules import module_of

HISTORY = "my_transformer.history"
LOCK_SECONDS = 10
NAMED = 3
"""Missing parts that a message names."""


class FileError(ValueError):
    """A file that cannot be used as ``my_transformer.py``."""


def read(path: Path) -> str:
    """Return the text of a learner's file; a byte-order mark, as Windows writes one, is left out.

    Raises
    ------
    FileError
        If it is not UTF-8.
    OSError
        If it cannot be read.
    """
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise FileError(f"{path} is not UTF-8 text, so it is not a {NAME}") from None


def check_sections(text: str, path: Path) -> None:
    """Raise FileError if a text lacks the section of a part."""
    missing = [name for name in sections.parts() if name not in sections.sections(text)]
    if missing:
        first, more = ", ".join(missing[:NAMED]), len(missing) - NAMED
        names = f"{first} and {more} more" if more > 0 else first
        raise FileError(
            f"{path} has no section for {names}: a section begins with a line such as "
            f"`# --- {sections.parts()[missing[0]]}: {missing[0]} (yours) ---`"
        )


def executed(text: str, path: Path) -> ModuleType:
    """Return a version of the file as a module of its own.

    Raises
    ------
    FileError
        If it lacks a part, or does not run.
    """
    check_sections(text, path)
    try:
        return module_of(text, "my_transformer_tried", f"{path} (tried)")
    except KeyboardInterrupt:
        raise
    except TimeLimitReached:
        raise FileError(
            f"{path} does not end within {TIME_LIMIT:g} seconds when it is imported: does a loop "
            "never stop, or does it train at once? What is to run alone belongs into `main`"
        ) from None
    except SystemExit as error:
        raise FileError(
            f"{path} ends Python when it is imported (exit status {error.code}); take that out"
        ) from None
    except BaseException as error:
        raise FileError(f"{path} does not run: {type(error).__name__}: {error}") from None


def yours(path: Path) -> list[str]:
    """Return the names of the parts in a file that the learner wrote."""
    return sections.yours(read(path))


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Keep other notebooks from writing the file meanwhile.

    Raises
    ------
    OSError
        If another one keeps hold of it, or the folder cannot be written.
    """
    with FileLock(path.with_name(f".{path.name}.lock"), timeout=LOCK_SECONDS):
        yield


def replace(path: Path, text: str) -> None:
    """Write the file anew; keep both versions in its history.

    Raises
    ------
    OSError
        If it cannot be written; it is then as it was.
    """
    if path.exists():
        _keep(path, read(path))
    write_text(path, text)
    _keep(path, text)


def _keep(path: Path, text: str) -> None:
    """Put a version into the history, unless it is the newest there."""
    folder = path.with_name(HISTORY)
    folder.mkdir(exist_ok=True)
    versions = _versions(path)
    if not versions or _text(versions[0]) != text:
        write_text(folder / f"{_now()}.py", text)


def _now() -> str:
    """Return the time in UTC, so that names compare; without colons, which Windows refuses."""
    return f"{datetime.now(UTC):%Y-%m-%d %H.%M.%S.%f}"


def _versions(path: Path) -> list[Path]:
    """Return the versions of the history, the newest first."""
    return sorted(path.with_name(HISTORY).glob("*.py"), reverse=True)


def repair(path: Path) -> str | None:
    """Make sure that the file is there and runs; say in a sentence what had to be done.

    A file that does not run is put aside, and the newest version that does takes its place.

    Raises
    ------
    OSError
        If something had to be done and the folder cannot be written.
    """
    if path.exists() and _completed(path) is None and _problem(path) is None:
        return None
    with locked(path):
        return _repaired(path)


def _repaired(path: Path) -> str | None:
    if not path.exists() and not _versions(path):
        write_text(path, sections.template())
    if new := _completed(path):
        return _brought_up_to_date(path, new)
    problem = _problem(path)
    if problem is None:
        return None
    aside = ""
    if path.exists():
        broken = path.with_name(f"my_transformer (does not run) {_now()}.py")
        path.rename(broken)
        aside = f" It is kept as {broken.name}."
    versions = (sections.completed(_text(version)) for version in _versions(path))
    text = next((text for text in versions if _runs(text)), sections.template())
    write_text(path, text)
    count = len(sections.yours(text))
    parts = f"{count} part{'' if count == 1 else 's'}"
    return f"{problem}.{aside} A new one was made from {HISTORY}, with {parts} of yours."


def _completed(path: Path) -> str | None:
    """Return a file of an earlier version with what this one has more; None if nothing is missing.

    A file that lacks more sections than the newest version of its history was cut, and is left
    alone, as is one that cannot be read.
    """
    versions = _versions(path)
    if not path.exists() or not versions:
        return None
    try:
        text = read(path)
    except FileError:
        return None
    have = sections.sections(text).keys()
    new = sections.completed(text)
    if new == text or have != sections.sections(_text(versions[0])).keys() or not _runs(new):
        return None
    return new


def _brought_up_to_date(path: Path, new: str) -> str:
    """Write the completed text; say what it has more."""
    missing = sections.parts().keys() - sections.sections(read(path)).keys()
    replace(path, new)
    added = f"has a new section for {', '.join(sorted(missing))}" if missing else "is up to date"
    return f"{path.name} {added}; everything else is as it was."


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8-sig", errors="replace")


def _problem(path: Path) -> str | None:
    """Say what is wrong with the file."""
    if not path.exists():
        return f"{path.name} is missing"
    try:
        executed(read(path), Path(path.name))
    except FileError as error:
        return str(error)
    return None


def _runs(text: str) -> bool:
    try:
        executed(text, Path(NAME))
    except FileError:
        return False
    return True
