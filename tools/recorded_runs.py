"""Train the translators of lesson 9 and write down what they reach.

    python -m tools.recorded_runs en-fr --data FOLDER

Each seed trains in a folder of its own and is skipped where it is finished, so a run that was
stopped goes on where it was. Let nothing else run meanwhile: the settings count minutes.
"""

import argparse
import json
import shlex
import sys
from dataclasses import asdict, replace
from pathlib import Path
from statistics import fmean
from typing import Any

from transformer_course.translation import RECIPES, evaluate
from transformer_course.translation.checkpoints import read_json, write_json
from transformer_course.translation.evaluation.evaluate import translate_and_evaluate
from transformer_course.translation.training.recorded_runs import RESULTS
from transformer_course.translation.training.runs import RUN_FILE, Run, environment

BEAM = 5
MEANS = ("sacrebleu", "bleu_tokenized_lowercase", "chrf")


def main() -> None:
    """Train, score and write ``results/multi30k-PAIR.json``."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pair", choices=("en-fr", "en-de"))
    parser.add_argument("--data", type=Path, help="folder with the Multi30k files")
    parser.add_argument("--minutes", type=float, default=20.0)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--work", type=Path, default=Path(".make/recorded_runs"))
    options = parser.parse_args()
    folders = [
        options.work / f"{options.pair}-{options.minutes:g}-{seed}" for seed in options.seeds
    ]
    for folder, seed in zip(folders, options.seeds, strict=True):
        _train(folder, seed, options)
    runs = [read_json(folder / RUN_FILE) for folder in folders]
    write_json(RESULTS / f"multi30k-{options.pair}.json", _results(runs, options))


def _train(folder: Path, seed: int, options: argparse.Namespace) -> None:
    """Train one seed and score it, unless that is done already."""
    recipe = RECIPES["multi30k"]
    settings = replace(recipe.training, minutes=options.minutes, seed=seed)
    run = Run("multi30k", replace(recipe, training=settings), pair=options.pair, data=options.data)
    if (folder / RUN_FILE).is_file():
        print(f"{folder}: already there", flush=True)
        return
    folder.mkdir(parents=True, exist_ok=True)
    corpus = run.load_corpus()
    trainer = run.trainer(folder, corpus)
    if (folder / "training.safetensors").is_file():
        trainer.resume(folder)
    history = trainer.train()
    test = corpus.split("test")
    searched, translations = translate_and_evaluate(trainer.translator, test, BEAM)
    scores = {"greedy": evaluate(trainer.translator, test), f"beam_{BEAM}": searched}
    run.write(folder, **trainer.facts(), history=history, scores=scores, translations=translations)
    print(folder, json.dumps(scores), flush=True)


def _results(runs: list[dict[str, Any]], options: argparse.Namespace) -> dict[str, Any]:
    """Put the seeds together: means over all, curve and translations of the first.

    Raises
    ------
    ValueError
        If they were not trained alike: on another machine, or in other numbers.
    """
    if len({(run["machine"], run["precision"]) for run in runs}) > 1:
        raise ValueError(f"the seeds were not trained alike; empty {options.work} and begin again.")
    best = [run["scores"][f"beam_{BEAM}"] for run in runs]
    first = runs[0]
    seeds = [
        {"seed": run["recipe"]["training"]["seed"], "minutes": run["history"][-1]["seconds"] / 60}
        | {"steps": run["history"][-1]["step"], "date": run["date"]}
        | run["scores"]
        for run in runs
    ]
    curve = [
        {"minutes": row["seconds"] / 60}
        | {name: row[name] for name in ("step", "train_loss", "dev_loss", "dev_bleu")}
        for row in first["history"]
    ]
    command = shlex.join(["python", "-m", "tools.recorded_runs", *sys.argv[1:]])
    return {
        **{name: round(fmean(scores[name] for scores in best), 2) for name in MEANS},
        "signature": best[0]["signature"],
        "beam": BEAM,
        "train_minutes": options.minutes,
        "parameters": first["parameters"],
        "precision": first["precision"],
        "padding_waste": first["padding_waste"],
        "command": command,
        **environment(),
        "settings": asdict(RECIPES["multi30k"]),
        "seeds": seeds,
        "curve": curve,
        "translations": first["translations"],
    }


if __name__ == "__main__":
    main()
