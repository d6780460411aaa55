"""Train the translators of lesson 9 and write down what they reach.

    python -m tools.recorded_runs en-fr short --data FOLDER          31 to 41 minutes a seed
    python -m tools.recorded_runs en-fr long --data FOLDER           92 to 119 minutes a seed
    python -m tools.recorded_runs en-de pieces --data FOLDER --ship  as long, with 10,000 pieces

Each seed trains in a folder of its own and is skipped where it is finished; one that was stopped,
with Ctrl-C for example, goes on where it was. Seeds of the results that are not named stay there.
"""

import argparse
import json
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import Any

from tools.command import command
from transformer_course.files import write_text
from transformer_course.translation import RECIPES, SentencePair, Translator
from transformer_course.translation.checkpoints import read_json, write_json
from transformer_course.translation.corpora.corpus import Corpus
from transformer_course.translation.evaluation.evaluate import translate_and_evaluate
from transformer_course.translation.evaluation.sureness import doubt_below
from transformer_course.translation.training import state
from transformer_course.translation.training.recipes import LONG_RUN, PIECES_RUN
from transformer_course.translation.training.recorded_runs import results_file
from transformer_course.translation.training.runs import RUN_FILE, Run, environment
from transformer_course.translation.training.trainer import Trainer
from transformer_course.translation.translator import CAPTIONS, SHIPPED

BEAM = 5
MEANS = ("sacrebleu", "bleu_tokenized_lowercase", "chrf")
RECIPE_FOR = {"short": RECIPES["multi30k"], "long": LONG_RUN, "pieces": PIECES_RUN}
SEEDS = [0, 1, 2]
TRANSLATIONS = "captions.txt"


def main() -> None:
    """Train, score and write the results; ship the translator of the first seed if asked to."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pair", choices=("en-fr", "en-de"))
    parser.add_argument("recipe", choices=RECIPE_FOR)
    parser.add_argument("--data", type=Path, help="folder with the Multi30k files")
    parser.add_argument("--seeds", type=int, nargs="+", default=SEEDS)
    parser.add_argument(
        "--threads", type=int, help="processor threads; torch's choice if not given"
    )
    parser.add_argument("--ship", action="store_true", help="put the translator into the package")
    parser.add_argument("--work", type=Path, default=Path(".make/recorded_runs"))
    options = parser.parse_args()
    names = [f"{options.pair}-{options.recipe}-{seed}" for seed in options.seeds]
    folders = [options.work / name for name in names]
    for folder, seed in zip(folders, options.seeds, strict=True):
        _train(folder, seed, options)
    runs = [read_json(folder / RUN_FILE) for folder in folders]
    file = results_file(options.pair, options.recipe)
    results = _results(runs, options)
    write_json(file, joined(read_json(file), results) if file.exists() else results)
    if options.ship:
        _ship(folders[0], runs[0])


def _train(folder: Path, seed: int, options: argparse.Namespace) -> None:
    """Train one seed and score it, unless that is done already."""
    if (folder / RUN_FILE).is_file():
        print(f"{folder}: already there", flush=True)
        return
    recipe = RECIPE_FOR[options.recipe]
    settings = replace(recipe.training, seed=seed, threads=options.threads)
    run = Run("multi30k", replace(recipe, training=settings), pair=options.pair, data=options.data)
    corpus = run.load_corpus()
    trainer = train_to_the_end(run, folder, corpus)
    scores, translations = _score(trainer, corpus.split("test"))
    notes = trainer.facts() | {"history": trainer.history, "result": trainer.history[-1]}
    notes["doubt_below"] = round(doubt_below(trainer.translator, corpus.split("dev")), 4)
    run.write(folder, **notes, scores=scores, translations=translations)
    print(folder, json.dumps(scores), flush=True)


def train_to_the_end(
    run: Run, folder: Path, corpus: Corpus, prepare: Callable[[Trainer], None] | None = None
) -> Trainer:
    """Train, or go on where a run in the folder was stopped; leave the program if it is again.

    ``prepare`` changes the trainer before it begins. In the end the weights have the precision in
    which they ship, before anything is measured.
    """
    folder.mkdir(parents=True, exist_ok=True)
    trainer = run.trainer(folder, corpus)
    if prepare:
        prepare(trainer)
    if state.is_there(folder):
        trainer.resume(folder)
    trainer.train()
    if trainer.stopped:
        sys.exit(f"{folder}: stopped; the same command goes on.")
    trainer.translator.model.half().float()
    return trainer


def _score(
    trainer: Trainer, test: list[SentencePair]
) -> tuple[dict[str, Any], dict[str, list[str]]]:
    scores, translations = {}, {}
    for name, beam in (("greedy", 1), (f"beam_{BEAM}", BEAM)):
        scores[name], translations[name] = translate_and_evaluate(trainer.translator, test, beam)
    return scores, translations


def _results(runs: list[dict[str, Any]], options: argparse.Namespace) -> dict[str, Any]:
    """Put the seeds together: means over all, curve and translations of the first.

    Raises
    ------
    ValueError
        If they were not trained alike: on another machine, in other numbers, by another recipe.
    """
    hows = [_how(run | {"settings": run["recipe"]}) for run in runs]
    if any(how != hows[0] for how in hows):
        raise ValueError(f"the seeds were not trained alike; empty {options.work} and begin again.")
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
    return {
        **_means(seeds),
        "signature": first["scores"][f"beam_{BEAM}"]["signature"],
        "beam": BEAM,
        "parameters": first["parameters"],
        "precision": first["precision"],
        "padding_waste": first["padding_waste"],
        "command": command("tools.recorded_runs"),
        **environment(),
        "settings": first["recipe"],
        "seeds": seeds,
        "curve": curve,
        "translations": first["translations"],
    }


def joined(recorded: dict[str, Any], added: dict[str, Any]) -> dict[str, Any]:
    """Put the seeds of two results together; a seed that both have counts as it was added.

    Raises
    ------
    ValueError
        If what stays of the recorded seeds was trained otherwise.
    """
    fresh = {row["seed"] for row in added["seeds"]}
    staying = [row for row in recorded["seeds"] if row["seed"] not in fresh]
    if staying and _how(recorded) != _how(added):
        numbers = ", ".join(str(row["seed"]) for row in staying)
        raise ValueError(f"seed {numbers} was trained otherwise; name it among --seeds, too.")
    seeds = sorted(staying + added["seeds"], key=lambda row: row["seed"])
    shown = added if recorded["settings"]["training"]["seed"] in fresh else recorded
    return shown | _means(seeds) | {"seeds": seeds}


def _how(results: dict[str, Any]) -> tuple[Any, ...]:
    """Return what must be alike in all seeds."""
    settings = results["settings"]
    training = settings["training"] | {"seed": None}
    return results["machine"], results["precision"], settings | {"training": training}


def _means(seeds: list[dict[str, Any]]) -> dict[str, float]:
    """Return what all seeds reach on average, by beam search."""
    best = [row[f"beam_{BEAM}"] for row in seeds]
    return {name: round(fmean(scores[name] for scores in best), 2) for name in MEANS}


def _ship(folder: Path, run: dict[str, Any]) -> None:
    """Put the translator into the package, in half precision, with what it makes of captions."""
    translator = Translator.load(folder)
    translator.model.half()
    target = SHIPPED / f"multi30k-{run['pair']}"
    target.mkdir(parents=True, exist_ok=True)
    translator.save(target)
    captions = CAPTIONS.read_text(encoding="utf-8").splitlines()
    said = Translator.load(target).translate(captions, beam=BEAM)
    write_text(target / TRANSLATIONS, "\n".join(said) + "\n")
    left_out = ("history", "translations")
    write_json(
        target / RUN_FILE, {k: v for k, v in run.items() if k not in left_out} | {"data": None}
    )


if __name__ == "__main__":
    main()
