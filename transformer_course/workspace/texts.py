"""What an assistant finds in the learner's folder: how to be a tutor there.

Like a notebook, each text says itself what it was when it was laid out: its last line holds a
digest of the others.
"""

import hashlib
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from transformer_course.files import write_text
from transformer_course.workspace.series import next_name, series

RULES = Path(__file__).with_name("for_assistants.md")
"""Not under the name that it gets: assistants of those who write the course would obey it."""

POINTER = "@AGENTS.md\n"
"""All of CLAUDE.md: Claude Code reads the file that it names."""

SUFFIX = ".md"
STAMP = re.compile(r"\s*<!-- transformer-course: (\w+) -->\s*\Z")


def texts() -> dict[str, str]:
    """Return the texts by their name without the suffix."""
    rules = RULES.read_text(encoding="utf-8")
    return {"AGENTS": rules.replace("{{ command }}", command()), "CLAUDE": POINTER}


def command() -> str:
    """Return how this installation of the course is called from any folder."""
    script = Path(sys.executable).with_name("transformer-course")
    there = next((path for path in (script, script.with_suffix(".exe")) if path.exists()), None)
    words = [str(there)] if there else [sys.executable, "-m", "transformer_course"]
    return subprocess.list2cmdline(words) if os.name == "nt" else shlex.join(words)


def update_texts(folder: Path) -> Iterator[str]:
    """Lay out each text that is missing or newer than what is there; yield a line for each."""
    for stem, text in texts().items():
        present = series(folder, stem, SUFFIX)
        new = folder / next_name(present, stem, SUFFIX)
        if not present:
            write_text(new, stamped(text))
            yield f"{new.name}: laid out."
            continue
        last = present[-1]
        body, stamp = _read(last)
        if _digest(text) in (stamp, _digest(body)):
            continue
        if stamp == _digest(body):
            write_text(last, stamped(text))
            yield f"{last.name}: replaced by the new version."
        else:
            write_text(new, stamped(text))
            yield f"{last.name}: yours, so it stays; the new version is {new.name}."


def stamped(text: str) -> str:
    """Return a text with the line at its end that says what it was when it was laid out."""
    return f"{text.rstrip()}\n\n<!-- transformer-course: {_digest(text)} -->\n"


def _read(path: Path) -> tuple[str, str]:
    """Return a text without its stamp, and the stamp; empty if there is none."""
    text = path.read_text(encoding="utf-8", errors="replace")
    stamp = STAMP.search(text)
    return (text[: stamp.start()], stamp[1]) if stamp else (text, "")


def _digest(text: str) -> str:
    return hashlib.sha256(text.strip().encode()).hexdigest()[:16]
