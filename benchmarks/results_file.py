"""Write down what was measured, with all that is needed to measure it again."""

import os
import platform
import sys
from datetime import date
from pathlib import Path
from typing import Any

import torch

from transformer_course.translation.checkpoints import write_json

RESULTS = Path(__file__).parent / "results"


def write_results(name: str, results: dict[str, Any]) -> None:
    """Write ``results/NAME.json`` with the command, the machine and the date."""
    circumstances = {
        "command": f"python -m benchmarks.{name} {' '.join(sys.argv[1:])}".strip(),
        "date": date.today().isoformat(),
        "machine": f"{platform.machine()}, {os.cpu_count()} processors",
        "torch": str(torch.__version__),
    }
    RESULTS.mkdir(exist_ok=True)
    write_json(RESULTS / f"{name}.json", circumstances | results)
