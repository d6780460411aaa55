"""Train on fewer captions and write down what is reached, to know how much text one needs.

    python -m tools.captions_by_pairs --data FOLDER          about five hours on one core

With all captions there are the recorded runs of lesson 9, whose settings are the same. What stands
in the results is not trained again; a run that was stopped goes on in its folder.
"""

import argparse
import random
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

from tools.command import command
from tools.recorded_runs import train_to_the_end
from transformer_course.translation.checkpoints import write_json
from transformer_course.translation.corpora.corpus import Corpus
from transformer_course.translation.evaluation.evaluate import evaluate
from transformer_course.translation.training.recipes import shipped_recipe
from transformer_course.translation.training.recorded_runs import (
    BY_PAIRS,
    recorded_run,
    scores_by_pairs,
)
from transformer_course.translation.training.runs import Run, environment

PAIR, BEAM = "en-fr", 5
TINY = shipped_recipe("tiny")
SIZES, SEEDS = (1000, 3000, 10_000), (0, 1, 2)


def main() -> None:
    """Train what is missing; write all that is there."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="folder with the Multi30k files")
    parser.add_argument("--work", type=Path, default=Path(".make/captions_by_pairs"))
    options = parser.parse_args()
    recorded = scores_by_pairs() if BY_PAIRS.is_file() else []
    runs = _with_all(options.data) + [run for run in recorded if run["pairs"] in SIZES]
    for seed, size in product(SEEDS, SIZES):
        if (size, seed) in {(run["pairs"], run["seed"]) for run in runs}:
            continue
        run = _trained(options.work / f"{size}-{seed}", size, seed, options.data)
        print(run, flush=True)
        runs.append(run)
        runs.sort(key=lambda run: (run["pairs"], run["seed"]))
        how = {"command": command("tools.captions_by_pairs")} | environment()
        write_json(BY_PAIRS, how | {"runs": runs})


def _with_all(data: Path | None) -> list[dict[str, Any]]:
    """Return the recorded runs, from all captions."""
    captions = len(Run("multi30k", TINY, pair=PAIR, data=data).load_corpus().split("train"))
    recorded = recorded_run(PAIR, "short")
    return [
        _row(captions, seed["seed"], seed["steps"], seed["minutes"], seed["beam_5"])
        for seed in recorded["seeds"]
    ]


def _row(
    pairs: int, seed: int, steps: int, minutes: float, scores: dict[str, Any]
) -> dict[str, Any]:
    """Return what is written of a run."""
    reached = {"bleu": scores["sacrebleu"], "chrf": scores["chrf"]}
    return {"pairs": pairs, "seed": seed, "steps": steps, "minutes": round(minutes, 1)} | reached


def _trained(folder: Path, size: int, seed: int, data: Path | None) -> dict[str, Any]:
    """Train on captions that the seed draws; return what is written of it."""
    recipe = TINY.changed({"training": {"seed": seed, "threads": 1}})
    run = Run("multi30k", recipe, pair=PAIR, data=data)
    corpus = _cut(run.load_corpus(), size, seed)
    trainer = train_to_the_end(run, folder, corpus)
    scores = evaluate(trainer.translator, corpus.split("test"), BEAM)
    last = trainer.history[-1]
    return _row(size, seed, last["step"], last["seconds"] / 60, scores)


def _cut(corpus: Corpus, size: int, seed: int) -> Corpus:
    train = random.Random(seed).sample(corpus.split("train"), size)
    return replace(corpus, splits=corpus.splits | {"train": train})


if __name__ == "__main__":
    main()
