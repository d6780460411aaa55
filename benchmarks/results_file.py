"""Write down what was measured, with all that is needed to measure it again."""

from pathlib import Path
from typing import Any

from tools.command import command
from transformer_course.translation.checkpoints import read_json, write_json
from transformer_course.translation.training.runs import environment

RESULTS = Path(__file__).parent / "results"


def recorded_runs(name: str) -> list[dict[str, Any]]:
    """Return the runs of ``NAME.json``; none where it is not there yet."""
    file = RESULTS / f"{name}.json"
    return read_json(file)["runs"] if file.exists() else []


def write_results(name: str, results: dict[str, Any], folder: Path = RESULTS) -> None:
    """Write ``NAME.json`` with the command, the machine and the date."""
    folder.mkdir(parents=True, exist_ok=True)
    how = {"command": command(f"benchmarks.{name}")} | environment()
    write_json(folder / f"{name}.json", how | results)
