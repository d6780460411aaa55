"""Train 3,000 captions, German into French, with 1,500 and 6,000 pieces: lesson 13's question.

    python -m tools.own_text_runs          a quarter of an hour on one core that is free

Each run is a command that the lesson's reader gets too, in a folder of its own. It is skipped where
it is finished, and goes on where it was stopped. The test split is looked at when all are finished.
"""

import argparse
import sys
from pathlib import Path
from typing import Any

import pandas as pd

from tools.command import command
from transformer_course import cli
from transformer_course.translation import Translator, bleu_of_counts
from transformer_course.translation.checkpoints import read_json, write_json
from transformer_course.translation.corpora.pair_at_hand import write_captions
from transformer_course.translation.training.looks import (
    End,
    Look,
    looks_in,
    note_look,
    since_the_end,
)
from transformer_course.translation.training.recorded_runs import OWN_TEXT
from transformer_course.translation.training.runs import RUN_FILE, Run, environment, is_finished
from transformer_course.translation.training.state import METRICS_FILE

PIECES, SEEDS = (1500, 6000), (0, 1, 2)
SETTINGS = "little"
CURVE = ["step", "train_loss", "dev_loss", "dev_bleu"]


def main() -> None:
    """Train what is missing, look at the test split, and write what came of it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--work", type=Path, default=Path(".make/own_text_runs"))
    work = parser.parse_args().work
    files = write_captions(work)
    asked = [(pieces, seed) for pieces in PIECES for seed in SEEDS]
    folders = [work / f"{pieces}-{seed}" for pieces, seed in asked]
    for folder, (pieces, seed) in zip(folders, asked, strict=True):
        train(folder, files, pieces, seed)
    write_json(OWN_TEXT, _results(folders))


def train(folder: Path, files: tuple[Path, Path], pieces: int, seed: int) -> None:
    """Train a run to its end; leave the program if it is stopped."""
    begun = (folder / RUN_FILE).is_file()
    if begun and is_finished(folder):
        print(f"{folder}: already there", flush=True)
        return
    new = ["--source", files[0], "--target", files[1], "--settings", SETTINGS]
    new += ["--set", f"text.subwords={pieces}", "--seed", seed]
    arguments = ["train", "--output", folder, *(["--resume"] if begun else new)]
    if status := cli.main(list(map(str, arguments))):
        sys.exit(status)


def _results(folders: list[Path]) -> dict[str, Any]:
    """Put the runs together; raise ValueError if they were not trained on one kind of machine."""
    stored = [read_json(folder / RUN_FILE) for folder in folders]
    if len({(run["machine"], run["precision"]) for run in stored}) > 1:
        raise ValueError("the runs were not trained alike; empty the folder and begin again.")
    corpus = Run.read(folders[0]).load_corpus()
    looks = [_look(folder) for folder in folders]
    return {
        "command": command("tools.own_text_runs"),
        **environment(),
        "languages": looks[0].languages,
        "pairs": {name: len(split) for name, split in corpus.splits.items()},
        "settings": SETTINGS,
        "signature": looks[0].signature,
        "runs": [_row(*each) for each in zip(folders, stored, looks, strict=True)],
    }


def _look(folder: Path) -> Look:
    """Return the look at a run's test split; look if nobody did yet."""
    if looks := since_the_end(looks_in(folder), End.read(folder).at):
        return looks[0]
    translator, test = Translator.load(folder), Run.read(folder).load_corpus().split("test")
    said = translator.translate([pair.source for pair in test])
    return note_look(folder, command("tools.own_text_runs"), 1, translator, test, said)


def _row(folder: Path, stored: dict[str, Any], look: Look) -> dict[str, Any]:
    history = pd.read_csv(folder / METRICS_FILE)
    return {
        "pieces": stored["recipe"]["subwords"],
        "seed": stored["recipe"]["training"]["seed"],
        "date": stored["date"],
        "minutes": round(stored["result"]["seconds"] / 60, 1),
        "parameters": stored["parameters"],
        "curve": history[CURVE].round(3).to_dict("records"),
        "dev_bleu": stored["result"]["dev_bleu"],
        "test_bleu": bleu_of_counts(look.table.sum(axis=0)),
        "counts": [" ".join(map(str, row)) for row in look.counts],
    }


if __name__ == "__main__":
    main()
