"""Files that are whole or not there at all, and the time that is written into them."""

import os
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

TEMPORARY = re.compile(r"\..+\.\d+\.\d+\.tmp")
"""The names of :func:`atomic_write`'s temporary files."""


@contextmanager
def atomic_write(path: Path) -> Iterator[Path]:
    """Yield a temporary path to write to; move it to ``path`` when the block succeeds.

    Whatever happens, a crash or a full disk, ``path`` holds either the old content or the new.

    Raises
    ------
    OSError
        If the folder cannot be written or the disk is full, naming ``path``; the temporary file
        is removed.
    """
    # Neither another process nor another thread may write to the same temporary file.
    temporary = path.with_name(f".{path.name}.{os.getpid()}.{threading.get_ident()}.tmp")
    try:
        yield temporary
        with temporary.open("rb+") as file:  # Windows lets nobody sync what he may not write
            os.fsync(file.fileno())
        temporary.replace(path)
    except OSError as error:
        if error.errno is None:  # it comes from the block, and has words of its own
            raise
        # A full disk comes without a file name, other errors with that of the temporary file.
        raise OSError(error.errno, error.strerror, str(path)) from None
    finally:
        with suppress(OSError):
            temporary.unlink()


def sweep(folder: Path) -> None:
    """Remove the temporary files of killed writers; only for who alone writes to the folder."""
    for path in folder.iterdir():
        if TEMPORARY.fullmatch(path.name):
            path.unlink()


def write_text(path: Path, text: str) -> None:
    """Write UTF-8 text, atomically."""
    with atomic_write(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def now() -> str:
    """Return the UTC time as it is written into files: as texts, two times can be compared."""
    return datetime.now(UTC).isoformat(timespec="seconds")
