"""What a training step costs as sentences, batch, vocabulary and model grow, one at a time."""

import time
from dataclasses import dataclass, replace
from statistics import median
from typing import Any

import torch

from benchmarks.peers import SIZES
from benchmarks.tables import in_turn, options, table, write_tables
from benchmarks.training_speed import FAST, KINDS, Contestant, new_model, training_flops
from transformer_course.model import TransformerConfig
from transformer_course.translation import BOS, EOS, PAD
from transformer_course.translation.corpora.batches import Batch

START = {"tokens in a sentence": 32, "sentences in a batch": 32, "vocabulary": 8000, "layers": 3}
GROWTH = {
    "tokens in a sentence": (16, 32, 64, 128, 256),
    "sentences in a batch": (8, 16, 32, 64, 128),
    "vocabulary": (2000, 4000, 8000, 16000, 32000),
    "layers": (1, 2, 3, 6, 12),
}


@dataclass(frozen=True)
class Case:
    """One step: a model and a batch without padding."""

    config: TransformerConfig
    batch: Batch


def case(changed: str, value: int) -> Case:
    """Return the usual step with one quantity changed."""
    sizes = START | {changed: value}
    config = replace(
        SIZES["small"],
        source_vocab=sizes["vocabulary"],
        target_vocab=sizes["vocabulary"],
        encoder_layers=sizes["layers"],
        decoder_layers=sizes["layers"],
    )
    words = sizes["tokens in a sentence"] - 1  # one more is the end or the begin token
    generator = torch.Generator().manual_seed(0)
    shape = (sizes["sentences in a batch"], 2, words)
    ids = torch.randint(EOS + 1, sizes["vocabulary"], shape, generator=generator).tolist()
    return Case(config, Batch.from_pairs([tuple(pair) for pair in ids], BOS, EOS, PAD))


def step_seconds(cases: dict[int, Case], rounds: int) -> dict[int, list[float]]:
    """Time the steps in turn; the first of each is not counted."""
    contestants = {
        value: Contestant(KINDS[FAST], new_model(c.config)) for value, c in cases.items()
    }
    seconds: dict[int, list[float]] = {value: [] for value in cases}
    for value, contestant in contestants.items():
        contestant.step(cases[value].batch)
    for number in range(rounds):
        for value in in_turn(list(cases), number):
            start = time.perf_counter()
            contestants[value].step(cases[value].batch)
            seconds[value].append(time.perf_counter() - start)
    return seconds


def measure(changed: str, rounds: int) -> list[dict[str, Any]]:
    """Return a row for each value of one quantity."""
    cases = {value: case(changed, value) for value in GROWTH[changed]}
    rows: list[dict[str, Any]] = []
    for value, seconds in step_seconds(cases, rounds).items():
        operations = training_flops(cases[value].config, cases[value].batch)
        rows.append({"value": value, "seconds": median(seconds), "operations": operations})
    return rows


def section(changed: str, rows: list[dict[str, Any]]) -> str:
    """Write the table of one quantity; costs are relative to the row before."""
    shown = []
    for before, row in zip([None, *rows[:-1]], rows, strict=True):
        shown.append(
            {
                changed: row["value"],
                "seconds per step": row["seconds"],
                "times the row before": before and row["seconds"] / before["seconds"],
                "operations, times": before and row["operations"] / before["operations"],
                "10^9 operations per second": row["operations"] / row["seconds"] / 1e9,
            }
        )
    return f"## {changed}\n\n{table(shown)}"


SMALL, USUAL = SIZES["small"], ", ".join(f"{name} {value:,}" for name, value in START.items())
NOTES = f"""\
Our fast training step in 32 bits: loss, gradient, clipping, optimizer. The model has \
{SMALL.d_model} / {SMALL.heads} heads / {SMALL.d_ff}. The rest is, unless a table changes it: \
{USUAL} (in the encoder, and as many in the decoder). Source and target have the same length, and \
there is no padding. Operations are those of the matrix products."""


def main() -> None:
    """Measure, print and write."""
    arguments = options(__doc__, rounds=7).parse_args()
    torch.set_num_threads(arguments.threads)
    results, sections = {}, [NOTES]
    for changed in GROWTH:
        results[changed] = measure(changed, arguments.rounds)
        sections.append(section(changed, results[changed]))
        print(sections[-1], flush=True)
    write_tables("scaling", arguments, results, "What a training step costs", sections)


if __name__ == "__main__":
    main()
