"""A known fault: a way to break a right subject, and what to say to whoever did that."""

import importlib
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from transformer_course.examine.patient import Patient

FOLDER = Path(__file__).parent
ROOMS = ("masks", "attention", "wiring", "batches", "steps", "searches", "texts")


@dataclass(frozen=True)
class Fault:
    """A way to break a subject.

    Attributes
    ----------
    key
        A word for programs.
    name
        The fault in a few words.
    observed
        What gives it away.
    change
        One sentence on what to change.
    """

    key: str
    name: str
    observed: str
    change: str
    ways: tuple[Callable[[Patient], None], ...]
    """Each breaks a patient so that the same is seen."""
    only: dict[str, list[str]]
    """For some experiments, the outcomes beside which this fault is possible at all."""


def _faults() -> Iterator[Fault]:
    for room in ROOMS:
        module = importlib.import_module(f"transformer_course.examine.faults.{room}")
        content = tomllib.loads((FOLDER / f"{room}.toml").read_text(encoding="utf-8"))
        for key, words in content.items():
            ways = tuple(getattr(module, way) for way in words.pop("ways", [key]))
            only = words.pop("only", {})
            prose = {name: " ".join(text.split()) for name, text in words.items()}
            yield Fault(key, **prose, ways=ways, only=only)


FAULTS: dict[str, Fault] = {fault.key: fault for fault in _faults()}
