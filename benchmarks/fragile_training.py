"""What captions with made-up names, figures and capitals give a translator that loses such words.

    python -m benchmarks.fragile_training en-fr --data FOLDER     ten minutes a seed on one core

From the weights that ship, two trainings of equal length go on: one on the captions as they are,
one in which some are changed. What is lost then is counted as in ``fragile_input``, whose sentences
and names neither has seen.
"""

import argparse
import random
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.fragile_input import BEAM, LANGUAGES, Row, lasts_in, read_sets
from benchmarks.results_file import recorded_runs, write_results
from tools.recorded_runs import train_to_the_end
from transformer_course.translation.corpora.corpus import Corpus, SentencePair
from transformer_course.translation.evaluation.evaluate import evaluate
from transformer_course.translation.training.recipes import LONG_RUN
from transformer_course.translation.training.runs import Run
from transformer_course.translation.translator import Translator, shipped_checkpoint

STEPS, RATE = 1500, 1e-3
CHANGED, CAPITALS = 0.3, 0.05
"""Share of the captions with a name or a number, where one fits; of all others, with capitals."""
PEOPLE = {
    "en": "A man|A woman|A boy|A girl",
    "fr": "Un homme|Une femme|Un garçon|Une fille",
    "de": "Ein Mann|Eine Frau|Ein Junge|Ein Mädchen",
}
COUNTS = {"en": "Two|Three", "fr": "Deux|Trois", "de": "Zwei|Drei"}
BEGINNINGS = "BDFGKLMNPRSTV"
ENDS = ("a", "e", "i", "o", "u", "an", "el", "in", "or", "us")


def main() -> None:
    """Train, count, and add what came out to ``results/fragile_training.json``."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pair", choices=("en-fr", "en-de"))
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--data", type=Path, help="folder with the Multi30k files")
    parser.add_argument("--work", type=Path, default=Path(".make/fragile_training"))
    options = parser.parse_args()
    rows = recorded_runs("fragile_training")
    if not any(row["pair"] == options.pair for row in rows):
        shipped = Translator.load(shipped_checkpoint(f"multi30k-{options.pair}"))
        rows.append(_row(options.pair, "as it ships", None, shipped, _corpus(options)))
    for seed in options.seeds:
        for captions in ("as they are", "changed"):
            if not any((options.pair, captions, seed) == _key(row) for row in rows):
                rows.append(_trained(captions, seed, options))
                print(rows[-1], flush=True)
                write_results("fragile_training", {"steps": STEPS, "beam": BEAM, "runs": rows})


def _key(row: dict[str, Any]) -> tuple[str, str, int]:
    return row["pair"], row["captions"], row["seed"]


def _corpus(options: argparse.Namespace) -> Corpus:
    return Run("multi30k", LONG_RUN, pair=options.pair, data=options.data).load_corpus()


def _trained(captions: str, seed: int, options: argparse.Namespace) -> dict[str, Any]:
    """Go on from the weights that ship; return what is lost then."""
    settings = {"seed": seed, "threads": 1, "steps": STEPS, "learning_rate": RATE}
    run = Run(
        "multi30k",
        LONG_RUN.changed({"training": settings}),
        pair=options.pair,
        data=options.data,
        start=shipped_checkpoint(f"multi30k-{options.pair}"),
    )
    corpus = run.load_corpus()
    taught = corpus
    if captions == "changed":
        train = changed(corpus.split("train"), corpus.target_language, seed)
        taught = replace(corpus, splits=corpus.splits | {"train": train})
    folder = options.work / f"{options.pair}-{captions.split()[0]}-{seed}"
    trainer = train_to_the_end(run, folder, taught)
    return _row(options.pair, captions, seed, trainer.translator, corpus)


def _row(
    pair: str, captions: str, seed: int | None, translator: Translator, corpus: Corpus
) -> dict[str, Any]:
    language = LANGUAGES[f"multi30k-{pair}"]
    bleu = {
        split: evaluate(translator, corpus.split(split), BEAM)["sacrebleu"]
        for split in ("dev", "test")
    }
    survive = {name: _survive(translator, rows, language) for name, rows in read_sets().items()}
    return {"pair": pair, "captions": captions, "seed": seed, "bleu": bleu, "survive": survive}


def _survive(translator: Translator, rows: Sequence[Row], language: str) -> int:
    said = translator.translate([row.sentence for row in rows], beam=BEAM)
    return sum(lasts_in(rows, said, language))


def changed(pairs: Sequence[SentencePair], language: str, seed: int) -> list[SentencePair]:
    """Return captions of which a share has a made-up name, a number in figures, or capitals."""
    chance = random.Random(seed)
    found = []
    for pair in pairs:
        other = None
        if chance.random() < CHANGED:
            other = named(pair, language, chance) or counted(pair, language, chance)
        if other is None and chance.random() < CAPITALS:
            other = replace(pair, source=pair.source.upper())
        found.append(other or pair)
    return found


def named(pair: SentencePair, language: str, chance: random.Random) -> SentencePair | None:
    """Return a caption in which a name takes the place of *a man*, *a woman*, *a boy*, *a girl*."""
    parts = (chance.choice(BEGINNINGS) + chance.choice(ENDS) for _ in range(chance.choice((2, 3))))
    return _with(pair, PEOPLE, language, "".join(parts).capitalize())


def counted(pair: SentencePair, language: str, chance: random.Random) -> SentencePair | None:
    """Return a caption with a number in figures in the place of *two* or *three*."""
    return _with(pair, COUNTS, language, str(chance.randint(4, 999)))


def _with(
    pair: SentencePair, words: dict[str, str], language: str, other: str
) -> SentencePair | None:
    """Put another word where both sides begin with one of these; None where one does not."""
    source, found = re.subn(rf"^(?:{words['en']})\b", other, pair.source)
    target, also = re.subn(rf"^(?:{words[language]})\b", other, pair.target)
    return replace(pair, source=source, target=target) if found and also else None


if __name__ == "__main__":
    main()
