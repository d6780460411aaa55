"""What an examination says of faults that other people made, who had not seen the list of faults.

    python -m benchmarks.blind_faults IMPLEMENTATION ...

A fault is named rightly if one of the names that fit the author's words comes, and no other; where
nothing is named, a failing experiment may show it. ``results/blind_faults.json`` holds the latest
round as it came, before anything was mended for it; what was mended since, the tests hold.
"""

import argparse
import warnings
from collections import Counter
from multiprocessing import get_context
from typing import Any

import torch
from tqdm import tqdm

from benchmarks.results_file import write_results
from tools.by_others import IMPLEMENTATIONS, faults_of, module_with
from tools.signatures import ENOUGH
from transformer_course.examine import examine

Trial = tuple[str, int | None]
"""An implementation, and which of its faults; none for the right program."""


def tried(trial: Trial) -> dict[str, Any]:
    """Examine one program; say what was named, and which experiments failed."""
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    name, number = trial
    edits = [] if number is None else faults_of(name)[number]["edits"]
    found = examine(module_with(name, edits).make, ENOUGH)
    return {
        "program": name,
        "fault": number,
        "named": [fault.key for fault in found.faults],
        "failed": found.observed.failing,
    }


def verdict(row: dict[str, Any]) -> str:
    """Say in a word how a broken program was judged."""
    fitting = {*faults_of(row["program"])[row["fault"]]["names"]}
    if {*row["named"]} - fitting:
        return "wrongly"
    if row["named"]:
        return "rightly"
    return "an experiment fails" if row["failed"] else "not seen"


def main() -> None:
    """Examine all programs of some implementations; print and write what came."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("implementations", nargs="+", choices=IMPLEMENTATIONS)
    parser.add_argument("--processes", type=int, default=2)
    options = parser.parse_args()
    trials: list[Trial] = [
        (name, number)
        for name in options.implementations
        for number in (None, *range(len(faults_of(name))))
    ]
    with get_context("spawn").Pool(options.processes) as pool:
        rows = [*tqdm(pool.imap(tried, trials), total=len(trials), desc="examining")]
    right = [row for row in rows if row["fault"] is None]
    broken = [row | {"verdict": verdict(row)} for row in rows if row["fault"] is not None]
    results = {
        "right programs": right,
        "faults": len(broken),
        **Counter(row["verdict"] for row in broken),
        "each": broken,
    }
    print({key: value for key, value in results.items() if key != "each"})
    write_results("blind_faults", results)


if __name__ == "__main__":
    main()
