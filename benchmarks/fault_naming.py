"""How often an examination names what is wrong, and how often it names something else.

Three measurements. *Right subjects* of every maker: no fault may be named. *Faults on a maker whose
trials the signatures do not know*: the outcomes of ``fault_trials.json`` (``python -m
tools.signatures``), each maker judged by what the others showed. *Pairs*: two faults at once, drawn
at random. Faults of other people are measured by ``benchmarks.blind_faults``.
"""

import argparse
import json
import random
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import torch

from benchmarks.results_file import write_results
from tools.patients import MAKERS
from tools.signatures import TRIALS, WAYS, Trial, read_trials, seen_in, try_all
from transformer_course.examine import adapters, examine
from transformer_course.examine.diagnosis import (
    LEFT_OUT,
    Diagnosis,
    Signature,
    diagnose,
    signatures_of,
)
from transformer_course.examine.faults import FAULTS
from transformer_course.model import Transformer, TransformerConfig

OF_WAY = {way.__name__: key for key, fault in FAULTS.items() for way in fault.ways}
RIGHTLY, AMONG, WRONGLY, NOTHING = "rightly", "among candidates", "wrongly", "nothing named"


Outcomes = dict[str, str]


def diagnosed(outcomes: Outcomes, known: Sequence[Signature] | None = None) -> Diagnosis:
    """Diagnose outcomes of a trial, which say where an experiment was left out."""
    return diagnose({n: w for n, w in outcomes.items() if w != LEFT_OUT}, known)


def verdict(
    outcomes: Outcomes, keys: Sequence[str], known: Sequence[Signature] | None = None
) -> str:
    """Say how a broken subject was named: any wrong name makes it wrong."""
    found = diagnosed(outcomes, known)
    named = {fault.key for fault in found.faults}
    if named - {*keys}:
        return WRONGLY
    if named:
        return RIGHTLY
    candidates = {fault.key for fault in found.candidates}
    if candidates:
        return AMONG if candidates & {*keys} else WRONGLY
    return NOTHING


def right_subjects(seeds: int, processes: int) -> dict[str, Any]:
    """Examine right subjects of all makers; list the wrong outcomes."""
    trials = [(maker, [], seed) for maker in MAKERS for seed in range(100, 100 + seeds)]
    results = try_all(trials, processes)
    found = [(trial, diagnosed(outcomes)) for trial, outcomes in zip(trials, results, strict=True)]
    return {
        "subjects": len(trials),
        "named": [[trial, [f.key for f in each.faults]] for trial, each in found if each.faults],
        "wrong outcomes": [[trial, each.unexplained] for trial, each in found if each.unexplained],
    }


def unknown_makers() -> dict[str, Any]:
    """Judge the trials of each maker by what the other makers showed."""
    rows = read_trials(TRIALS)
    counts: Counter[str] = Counter()
    not_rightly = []
    for maker in {row["maker"] for row in rows}:
        known = signatures_of(seen_in([row for row in rows if row["maker"] != maker]))
        for row in rows:
            if row["maker"] == maker and row["ways"]:
                key = OF_WAY[row["ways"][0]]
                said = verdict(row["outcomes"], [key], known)
                counts[said] += 1
                if said != RIGHTLY:
                    not_rightly.append([maker, row["ways"][0], said])
    return {"trials": counts.total(), **counts, "not rightly": sorted(not_rightly)}


def pairs(count: int, processes: int) -> dict[str, Any]:
    """Break right subjects in two ways at once."""
    chance = random.Random(0)
    every = [two for two in combinations(WAYS, 2) if OF_WAY[two[0]] != OF_WAY[two[1]]]
    drawn = chance.sample(every, 3 * count)[: 3 * count // 2]
    trials: list[Trial] = [(chance.choice([*MAKERS]), list(two), 200) for two in drawn]
    # Some makers lack what a fault breaks: half as many again are tried, and the first are taken.
    counts: Counter[str] = Counter()
    not_rightly = []
    for trial, outcomes in _possible(trials, count, processes):
        said = verdict(outcomes, [OF_WAY[way] for way in trial[1]])
        counts[said] += 1
        if said != RIGHTLY:
            not_rightly.append([*trial, said])
    return {"trials": counts.total(), **counts, "not rightly": not_rightly}


def _possible(
    trials: Sequence[Trial], count: int, processes: int
) -> Iterator[tuple[Trial, dict[str, str]]]:
    results = zip(trials, try_all(trials, processes), strict=True)
    yield from [(trial, found) for trial, found in results if found is not None][:count]


def seconds() -> dict[str, Any]:
    """Time a small subject and one of the paper's base size, and say what there was no time for."""
    torch.manual_seed(0)
    small = MAKERS["course, post-norm"]().subject()
    base = adapters.course(Transformer(TransformerConfig()))
    times: dict[str, Any] = {}
    for name, subject in (("width 32", small), ("base, 60 seconds given", base)):
        began = time.perf_counter()
        found = examine(subject, 60.0)
        times[name] = round(time.perf_counter() - began, 1)
        left = [n for n, why in found.observed.left_out.items() if "time" in why]
        times[f"{name}: no time left for"] = left
    return times


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and write ``results/fault_naming.json``."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--pairs", type=int, default=100)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--output", type=Path, default=None)
    options = parser.parse_args(arguments)
    results = {
        "seconds": seconds(),
        "unknown makers": unknown_makers(),
        "right subjects": right_subjects(options.seeds, options.processes),
        "pairs": pairs(options.pairs, options.processes),
    }
    folder = {"folder": options.output} if options.output else {}
    write_results("fault_naming", results, **folder)
    print(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
