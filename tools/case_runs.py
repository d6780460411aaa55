"""Train each case of lesson 12, and its programs without a fault; write down what one sees.

    python -m tools.case_runs        seven minutes on one core

A case whose text has not changed since is not trained again.
"""

import argparse
from pathlib import Path
from typing import Any

import torch

from tools.command import command
from transformer_course.cases.catalogue import PROGRAMS, cases, healthy
from transformer_course.cases.desk import RECORDED, Desk
from transformer_course.examine import ExaminationError, examine
from transformer_course.translation.checkpoints import write_json
from transformer_course.translation.training.runs import environment


def main() -> None:
    """Train all, and write the results."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--work", type=Path, default=Path(".make/cases"))
    options = parser.parse_args()
    torch.set_num_threads(1)
    runs: dict[str, Any] = {}
    for case in [*map(healthy, PROGRAMS), *cases().values()]:
        desk = Desk(case, options.work / case.key.replace(" ", "-"))
        desk.lay()
        run = desk.measured()
        seen = {"score": run.score, "said": run.said, "curve": run.curve}
        runs[case.key] = seen | {"examined": _examined(desk)}
        print(f"{case.key}: {run.score:.0%}", flush=True)
    how = {"command": command("tools.case_runs")} | environment()
    write_json(RECORDED, how | {"seed": 0, "runs": runs})


def _examined(desk: Desk) -> dict[str, list[str]]:
    """Return which faults an examination names, and which of its experiments fail."""
    try:
        found = examine(desk.subject)
    except ExaminationError as error:
        return {"named": [], "failing": [str(error)]}
    named = [fault.name for fault in found.faults]
    return {"named": named, "failing": sorted(found.observed.failing)}


if __name__ == "__main__":
    main()
