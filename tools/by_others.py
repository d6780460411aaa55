"""Models and mistakes of other people, who had read the page for users and not the faults.

Each folder of ``tests/examine/by_others`` is one implementation; ``faults.toml`` has twelve ways in
which its author broke it, as edits, in the author's words. ``names`` are the faults that may be
named then, which somebody decided who read the author's words.
"""

import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

FOLDER = Path(__file__).parents[1] / "tests" / "examine" / "by_others"
IMPLEMENTATIONS = sorted(folder.name for folder in FOLDER.iterdir())


def faults_of(name: str) -> list[dict[str, Any]]:
    """Return an implementation's faults: the author's words, edits, and what may be named."""
    return tomllib.loads((FOLDER / name / "faults.toml").read_text(encoding="utf-8"))["fault"]


def module_with(name: str, edits: Sequence[tuple[str, str]] = ()) -> ModuleType:
    """Run an implementation with edits; its ``make`` returns the subject.

    Raises
    ------
    ValueError
        If what is to be replaced does not stand there exactly once.
    """
    text = (FOLDER / name / "healthy.py").read_text(encoding="utf-8")
    for old, new in edits:
        if text.count(old) != 1:
            raise ValueError(f"{name}: {old!r} stands there {text.count(old)} times, not once")
        text = text.replace(old, new)
    module = ModuleType("by_others")
    sys.modules[module.__name__] = module  # dataclasses look their module up
    exec(compile(text, f"{name}.py", "exec"), vars(module))
    return module
