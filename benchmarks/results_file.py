"""Write down what was measured, with all that is needed to measure it again."""

import sys
from pathlib import Path
from typing import Any

from transformer_course.translation.checkpoints import write_json
from transformer_course.translation.training.runs import environment

RESULTS = Path(__file__).parent / "results"


def write_results(name: str, results: dict[str, Any], folder: Path = RESULTS) -> None:
    """Write ``NAME.json`` with the command, the machine and the date; of paths only their names."""
    arguments = (Path(each).name if Path(each).is_absolute() else each for each in sys.argv[1:])
    command = f"python -m benchmarks.{name} {' '.join(arguments)}".strip()
    folder.mkdir(parents=True, exist_ok=True)
    write_json(folder / f"{name}.json", {"command": command} | environment() | results)
