"""The versions of a file that lie beside each other: ``02_attention (new 2).ipynb`` and others."""

import re
from pathlib import Path

NOTEBOOK = ".ipynb"


def series(folder: Path, stem: str, suffix: str = NOTEBOOK) -> list[Path]:
    """Return the versions of a lesson, or another file, that are there, the newest last."""
    numbered = {
        int(number or 1): path
        for path in folder.glob(f"{stem} (new*){suffix}")
        if (match := re.fullmatch(r".* \(new ?(\d*)\)", path.stem))
        for number in [match[1]]
    }
    first = folder / f"{stem}{suffix}"
    return [first] * first.exists() + [numbered[number] for number in sorted(numbered)]


def next_name(present: list[Path], stem: str, suffix: str = NOTEBOOK) -> str:
    """Return the name of the version after those that are there."""
    if not present:
        return f"{stem}{suffix}"
    number = re.search(r"\(new ?(\d*)\)$", present[-1].stem)
    return f"{stem} (new{f' {int(number[1] or 1) + 1}' if number else ''}){suffix}"
