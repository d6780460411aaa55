"""Models and mistakes of other people, who had read the page for users and not the faults.

Each folder of ``by_others`` is one implementation; ``faults.toml`` has twelve ways in which its
author broke it, as edits, in the author's words. ``names`` are the faults that may be named then,
which somebody decided who read the author's words; none is asked for, and no other may come.
"""

import sys
import tomllib
from pathlib import Path
from types import ModuleType

import pytest
import torch

from transformer_course.examine import examine

FOLDER = Path(__file__).parent / "by_others"
IMPLEMENTATIONS = sorted(folder.name for folder in FOLDER.iterdir())
OFTEN = "torch_stacks"
FAULTS = {
    f"{name}, {number}": (name, fault)
    for name in IMPLEMENTATIONS
    for number, fault in enumerate(
        tomllib.loads((FOLDER / name / "faults.toml").read_text(encoding="utf-8"))["fault"]
    )
}


pytestmark = pytest.mark.filterwarnings("ignore")  # what other people's code is warned of


@pytest.fixture(autouse=True)
def one_thread() -> None:
    torch.set_num_threads(1)


def module_with(name: str, edits: list[list[str]]) -> ModuleType:
    text = (FOLDER / name / "healthy.py").read_text(encoding="utf-8")
    for old, new in edits:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    module = ModuleType("by_others")
    sys.modules[module.__name__] = module  # dataclasses look their module up
    exec(compile(text, f"{name}.py", "exec"), vars(module))
    return module


@pytest.mark.parametrize(
    "name",
    [n if n == OFTEN else pytest.param(n, marks=pytest.mark.exhaustive) for n in IMPLEMENTATIONS],
)
def test_right_model_is_healthy(name: str) -> None:
    found = examine(module_with(name, []).make, 600)
    assert found.healthy, str(found)


@pytest.mark.parametrize("which", FAULTS)
def test_broken_model_can_be_made(which: str) -> None:
    name, fault = FAULTS[which]
    assert callable(module_with(name, fault["edits"]).make)


@pytest.mark.exhaustive
@pytest.mark.parametrize("which", FAULTS)
def test_no_other_fault_is_named(which: str) -> None:
    name, fault = FAULTS[which]
    found = examine(module_with(name, fault["edits"]).make, 600)
    given = {each.key for each in found.faults}
    assert given <= {*fault["names"]}, str(found)
