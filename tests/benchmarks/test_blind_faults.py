"""The benchmark of other people's faults counts as it says."""

import pytest

from benchmarks.blind_faults import verdict
from tools.by_others import faults_of, module_with

PROGRAM, FAULT = "torch_stacks", 0


@pytest.mark.parametrize(
    ("named", "failed", "wanted"),
    [
        (["fitting"], {"future": "all"}, "rightly"),
        (["fitting", "no_such_fault"], {"future": "all"}, "wrongly"),
        ([], {"future": "all"}, "an experiment fails"),
        ([], {}, "not seen"),
    ],
)
def test_verdict(named: list[str], failed: dict[str, str], wanted: str) -> None:
    (fitting, *_) = faults_of(PROGRAM)[FAULT]["names"]
    named = [fitting if name == "fitting" else name for name in named]
    row = {"program": PROGRAM, "fault": FAULT, "named": named, "failed": failed}
    assert verdict(row) == wanted


def test_edit_that_fits_nowhere_is_refused() -> None:
    with pytest.raises(ValueError, match="0 times"):
        module_with(PROGRAM, [("stands nowhere in this program", "")])
