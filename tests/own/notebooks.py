"""A learner's notebook without Jupyter: cells that leave their text where IPython leaves it."""

import itertools
from types import ModuleType
from typing import Any

import torch
from torch import nn

from transformer_course.checker.answers import make_quotable
from transformer_course.own.file import NAME
from transformer_course.own.modules import fill
from transformer_course.own.sections import template

_numbers = itertools.count()


class Notebook:
    """Names, and cells that are run one after another."""

    def __init__(self, own: ModuleType) -> None:
        self.names: dict[str, Any] = {"__name__": "__main__", "own": own, "torch": torch, "nn": nn}

    def run(self, cell: str) -> None:
        file = f"/tmp/ipykernel_1/{next(_numbers)}.py"
        make_quotable(cell, file)
        exec(compile(cell, file, "exec"), self.names)

    def __getitem__(self, name: str) -> Any:
        return self.names[name]


def own_module(folder) -> ModuleType:
    """Write a fresh file into a folder and return it as a module."""
    path = folder / NAME
    path.write_text(template(), encoding="utf-8")
    own = ModuleType("my_transformer")
    fill(own, template(), str(path))
    own.__file__ = str(path)
    return own
