"""Models and mistakes of other people: no fault is named that is not there."""

import pytest
import torch

from tools.by_others import IMPLEMENTATIONS, faults_of, module_with
from transformer_course.examine import examine

OFTEN = "torch_stacks"
FAULTS = {
    f"{name}, {number}": (name, fault)
    for name in IMPLEMENTATIONS
    for number, fault in enumerate(faults_of(name))
}


pytestmark = pytest.mark.filterwarnings("ignore")  # what other people's code is warned of


@pytest.fixture(autouse=True)
def one_thread() -> None:
    torch.set_num_threads(1)


@pytest.mark.parametrize(
    "name",
    [n if n == OFTEN else pytest.param(n, marks=pytest.mark.exhaustive) for n in IMPLEMENTATIONS],
)
def test_right_model_is_healthy(name: str) -> None:
    found = examine(module_with(name).make, 600)
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
