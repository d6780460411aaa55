"""Try every known fault on right subjects of several makers; keep what is seen.

``python -m tools.signatures`` writes ``transformer_course/examine/faults/signatures.json``: for
each fault the outcomes that its ways to break have on all makers, and those of the right subjects.
"""

import argparse
import datetime
import json
import platform
import warnings
from collections.abc import Sequence
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import torch
from tqdm import tqdm

from tools.command import command
from tools.patients import MAKERS
from transformer_course.examine.diagnosis import LEFT_OUT, RIGHT
from transformer_course.examine.examination import observe
from transformer_course.examine.faults import FAULTS
from transformer_course.examine.patient import NoSuchOrgan, Patient
from transformer_course.files import write_text

FILE = Path(__file__).parents[1] / "transformer_course" / "examine" / "faults" / "signatures.json"
TRIALS = Path(__file__).parents[1] / "benchmarks" / "results" / "fault_trials.json"
WAYS = {way.__name__: way for fault in FAULTS.values() for way in fault.ways}

Row = dict[str, Any]
"""A trial and its outcomes."""
ENOUGH = 1000.0
"""Seconds: no outcome may depend on what else the machine does."""

Trial = tuple[str, Sequence[str], int]
"""A maker, the ways in which its subject is broken, and a seed."""


def patient(maker: str, ways: Sequence[str], seed: int) -> Patient:
    """Return a subject of a maker, broken.

    Raises
    ------
    NoSuchOrgan
        If the maker's model has nothing of the kind.
    """
    torch.manual_seed(seed)
    made = MAKERS[maker]()
    for way in ways:
        WAYS[way](made)
    return made


def tried(trial: Trial) -> dict[str, str] | None:
    """Return the outcome of each experiment; None if the maker's model cannot be broken so."""
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    maker, ways, seed = trial
    try:
        subject = patient(maker, ways, seed).subject()
    except NoSuchOrgan:
        return None
    observed = observe(subject, ENOUGH)
    return observed.words | dict.fromkeys(observed.left_out, LEFT_OUT)


def try_all(trials: Sequence[Trial], processes: int) -> list[dict[str, str] | None]:
    """Try many, with a bar."""
    with get_context("spawn").Pool(processes) as pool:
        return [*tqdm(pool.imap(tried, trials), total=len(trials), desc="trying faults")]


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the signatures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--makers", nargs="*", default=[*MAKERS], help="only these, likewise")
    parser.add_argument(
        "--ways", nargs="*", help="only these; what was seen of the others is kept as it was"
    )
    parser.add_argument("--output", type=Path, default=FILE)
    parser.add_argument("--trials", type=Path, default=TRIALS, help="all outcomes, one by one")
    options = parser.parse_args(arguments)
    trials = [
        (maker, [way] if way else [], seed)
        for way in options.ways or [RIGHT, *WAYS]
        for maker in options.makers
        for seed in range(options.seeds)
    ]
    results = try_all(trials, options.processes)
    rows = [
        {"maker": maker, "ways": ways, "seed": seed, "outcomes": outcomes}
        for (maker, ways, seed), outcomes in zip(trials, results, strict=True)
        if outcomes is not None
    ]
    if options.trials.is_file():
        rows += _others(options.trials, {(maker, *ways) for maker, ways, _ in trials})
    rows = _in_order(rows)
    write_trials(options.trials, rows)
    _write(rows, options.output)


def read_trials(file: Path) -> list[Row]:
    """Return the trials of a file, each with its outcomes by experiment."""
    content = json.loads(file.read_text(encoding="utf-8"))
    names = content["experiments"]
    return [
        row | {"outcomes": {n: w for n, w in zip(names, row["outcomes"], strict=True) if w}}
        for row in content["trials"]
    ]


def write_trials(file: Path, rows: Sequence[Row]) -> None:
    """Write trials, one in a line, their outcomes in the order of the experiments; "" for none."""
    names = sorted({name for row in rows for name in row["outcomes"]})
    short = (row | {"outcomes": [row["outcomes"].get(name, "") for name in names]} for row in rows)
    lines = (json.dumps(row, ensure_ascii=False, separators=(",", ":")) for row in short)
    head = json.dumps(names, ensure_ascii=False)
    write_text(file, f'{{"experiments": {head},\n"trials": [\n' + ",\n".join(lines) + "\n]}\n")


def _others(trials: Path, now: set[tuple[str, ...]]) -> list[Row]:
    """Return what was seen earlier of other makers and ways, if they are still there."""
    return [
        row
        for row in read_trials(trials)
        if (row["maker"], *row["ways"]) not in now
        and row["maker"] in MAKERS
        and WAYS.keys() >= {*row["ways"]}
    ]


def _in_order(rows: list[Row]) -> list[Row]:
    ways, makers = [RIGHT, *WAYS], [*MAKERS]

    def place(row: Row) -> tuple[int, int, int]:
        return ways.index((row["ways"] or [RIGHT])[0]), makers.index(row["maker"]), row["seed"]

    return sorted(rows, key=place)


def seen_in(rows: Sequence[Row]) -> dict[str, dict[str, list[str]]]:
    """Return for each fault, and for right subjects, the outcomes that each experiment had."""
    of_way = {way.__name__: key for key, fault in FAULTS.items() for way in fault.ways}
    seen: dict[str, dict[str, set[str]]] = {}
    for row in rows:
        key = of_way[row["ways"][0]] if row["ways"] else RIGHT
        for experiment, word in row["outcomes"].items():
            seen.setdefault(key, {}).setdefault(experiment, set()).add(word)
    return {
        key: {name: sorted(words) for name, words in sorted(found.items())}
        for key, found in sorted(seen.items())
    }


def _write(rows: Sequence[Row], output: Path) -> None:
    content = {
        "made": {
            "by": command("tools.signatures"),
            "trials": len(rows),
            "makers": sorted({row["maker"] for row in rows}),
            "on": f"{platform.machine()}, torch {torch.__version__}",
            "date": f"{datetime.datetime.now():%Y-%m-%d}",
        },
        "outcomes": seen_in(rows),
    }
    write_text(output, json.dumps(content, ensure_ascii=False, indent=1) + "\n")


if __name__ == "__main__":
    main()
