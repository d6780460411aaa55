"""What was measured, for those who judge the course: each result with the command that gave it."""

import json
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from statistics import fmean
from typing import Any

from tools.sources import ROOT
from transformer_course.translation import recorded_run

HEAD = ("what", "result", "command", "date")
RECIPES_HEAD = ("recipe", "steps", "loss on dev", "BLEU on dev", "of each seed")
# Published for a Transformer of this kind on this test split; lesson 9 has the source.
PUBLISHED = {"en-de": 41.02}


def rows() -> list[tuple[str, str, str, str]]:
    """Return the rows of the table, read from the results files."""
    return [
        *map(_translator, ("en-fr", "en-de")),
        _toy(),
        _examination(),
        _blind(),
        _training(),
        _checks(),
        _misplaced(),
    ]


def recipes() -> list[tuple[str, str, str, str, str]]:
    """Return what single changes of lesson 9's recipes gave, with the scores of their seeds."""
    table = []
    for (steps, change), runs in groupby(
        _read("benchmarks/results/recipes.json")["runs"], itemgetter("steps", "change")
    ):
        seeds = [*runs]
        loss, bleu = (fmean(run[name] for run in seeds) for name in ("dev_loss", "sacrebleu"))
        each = ", ".join(f"{run['sacrebleu']:.1f}" for run in seeds)
        table.append((change, f"{steps:,}", f"{loss:.3f}", f"{bleu:.1f}", each))
    return table


def _translator(pair: str) -> tuple[str, str, str, str]:
    scores = recorded_run(pair)
    seeds = len(scores["seeds"])
    result = (
        f"BLEU {scores['sacrebleu']:.1f} (sacreBLEU), "
        f"{scores['bleu_tokenized_lowercase']:.1f} (lower-cased tokens), "
        f"{f'mean of {seeds} seeds' if seeds > 1 else 'one seed'}"
    )
    if pair in PUBLISHED:
        result += f"; published for a tiny Transformer: {PUBLISHED[pair]} (lower-cased tokens)"
    dated = scores | {"date": max(seed["date"] for seed in scores["seeds"])}
    return _row(f"The translator `multi30k-{pair}`, on test_2016 of Multi30k", result, dated)


def _toy() -> tuple[str, str, str, str]:
    toy = _read("benchmarks/results/toy_training.json")
    exact = [seed["test_exact_match"] for seed in toy["seeds"]]
    result = (
        f"{min(exact):.1%} to {max(exact):.1%} of the test sentences exactly right, "
        f"{len(exact)} seeds, {toy['median']['train_seconds']:.0f} seconds in the median"
    )
    return _row("Lesson 7's training on the toy language", result, toy)


def _examination() -> tuple[str, str, str, str]:
    naming = _read("benchmarks/results/fault_naming.json")
    unknown, right, pairs = naming["unknown makers"], naming["right subjects"], naming["pairs"]
    result = (
        f"{unknown['rightly']:,} of {unknown['trials']:,} faults named rightly, "
        f"{unknown.get('wrongly', 0)} wrongly, "
        f"in models of makers it had not seen; of {pairs['trials']} pairs of faults "
        f"{pairs.get('wrongly', 0)} wrongly; in {right['subjects']} right models "
        f"{len(right['named'])} named"
    )
    return _row("[The examination](examine.md)", result, naming)


def _blind() -> tuple[str, str, str, str]:
    blind = _read("benchmarks/results/blind_faults.json")
    right = blind["right programs"]
    result = (
        f"{blind.get('rightly', 0)} of {blind['faults']} named rightly, "
        f"{blind.get('an experiment fails', 0)} more shown by a failing experiment, "
        f"{blind.get('wrongly', 0)} named wrongly; of {len(right)} right programs "
        f"{sum(bool(each['failed']) for each in right)} called faulty"
    )
    return _row(
        "The same, on programs and faults of people who had read its page alone", result, blind
    )


def _training() -> tuple[str, str, str, str]:
    speed = _read("benchmarks/results/training_speed.json")
    times = speed["small"]["contestants"]["ours, fast"]["times"]
    result = ", ".join(f"{value:.2f} times {peer}" for peer, value in times.items())
    return _row("Tokens a second in training, float32", result, speed)


def _checks() -> tuple[str, str, str, str]:
    checks = _read("benchmarks/results/exercise_checks.json")
    result = f"{checks['first_median']} s in the median, {checks['first_max']} s at most"
    return _row("The first check of a wrong answer that nothing explains", result, checks)


def _misplaced() -> tuple[str, str, str, str]:
    lines = _read("benchmarks/results/misplaced_lines.json")
    found = [text["misplaced lines that are doubted"] for text in lines["texts"]]
    wrongly = [text["right lines that are doubted"] for text in lines["texts"]]
    result = (
        f"{min(found):.0%} to {max(found):.0%} of them doubted, and up to {max(wrongly):.1%} "
        f"of the right lines, in {len(found)} texts"
    )
    return _row("Misplaced lines, by `transformer-course text`", result, lines)


def _row(what: str, result: str, file: dict[str, Any]) -> tuple[str, str, str, str]:
    return what, result, f"`{file['command']}`", file["date"]


def _read(file: str) -> dict[str, Any]:
    return json.loads(Path(ROOT, file).read_text(encoding="utf-8"))
