"""The cases, as ``cases.toml`` has them."""

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from transformer_course.cases.program import Program, WithParts, WithTorch
from transformer_course.own.export import exported
from transformer_course.own.sections import TEMPLATE

HERE = Path(__file__).parent
GOAL = 0.9
"""The share of new numbers that a mended translator says rightly."""
HEALTHY = "healthy"


@dataclass(frozen=True)
class Case:
    """A broken translator.

    Attributes
    ----------
    key, title, level
        What it is called; 1 is easy, 3 is hard.
    program
        Which program it was made of.
    story
        What its author says.
    kind
        Where the fault is, for the teacher.
    edits
        What was changed in the program: old text, new text.
    faults
        What is wrong, by the names in :func:`names`.
    tells
        Experiments that show it.
    par
        How many experiments it takes somebody who thinks.
    mended
        What was wrong, and how it is mended.
    """

    key: str
    title: str
    level: int
    program: str
    story: str
    kind: str
    edits: tuple[tuple[str, str], ...]
    faults: tuple[str, ...]
    tells: tuple[str, ...]
    par: int
    mended: str

    @property
    def text(self) -> str:
        """The file's text."""
        text = program_text(self.program)
        for old, new in self.edits:
            text = text.replace(old, new)
        return text

    @property
    def file_name(self) -> str:
        """What the file is called."""
        return PROGRAMS[self.program][0]

    @property
    def kind_of_program(self) -> type[Program]:
        """What runs the file."""
        return PROGRAMS[self.program][1]


PROGRAMS: dict[str, tuple[str, type[Program]]] = {
    "with_torch": ("translator.py", WithTorch),
    "with_parts": ("my_translator.py", WithParts),
}


@cache
def program_text(name: str) -> str:
    """Return a program without a fault."""
    if name == "with_parts":
        return exported(TEMPLATE.read_text(encoding="utf-8"))
    return (HERE / "programs" / f"{name}.py").read_text(encoding="utf-8")


@cache
def cases() -> dict[str, Case]:
    """Return the cases by their key, in the order of the lesson."""
    return {entry["key"]: _case(entry) for entry in _content()["case"]}


@cache
def names() -> dict[str, str]:
    """Return what a case may be said to have: a name, and what it means."""
    return _content()["names"]


def healthy(program: str) -> Case:
    """Return a program without a fault as a case."""
    return Case(f"{HEALTHY} {program}", "Healthy", 0, program, "", "none", (), (), (), 0, "")


def _content() -> dict[str, Any]:
    return tomllib.loads((HERE / "cases.toml").read_text(encoding="utf-8"))


def _case(entry: dict[str, Any]) -> Case:
    lists = {key: tuple(entry[key]) for key in ("faults", "tells")}
    edits = tuple((old, new) for old, new in entry["edits"])
    texts = {key: " ".join(entry[key].split()) for key in ("story", "mended")}
    return Case(**entry | lists | texts | {"edits": edits})
