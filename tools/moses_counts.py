"""Count what BLEU needs of each German test sentence of the runs that lesson 9 compares.

    python -m tools.moses_counts --data FOLDER          seconds

Lesson 9 draws test sets from these counts, and so needs no captions of that language. The runs are
scored in lower-cased words that Moses' rules have cut, as the run they are compared with.
"""

import argparse
from pathlib import Path

from tools.command import command
from transformer_course.translation import multi30k_corpus, recorded_run
from transformer_course.translation.checkpoints import write_json
from transformer_course.translation.evaluation.bleu import clipped_counts
from transformer_course.translation.evaluation.metrics import moses_words
from transformer_course.translation.training.recorded_runs import MOSES_COUNTS
from transformer_course.translation.training.runs import environment

PAIR = "en-de"


def main() -> None:
    """Count and write ``moses-counts.json``."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="folder with the Multi30k files")
    options = parser.parse_args()
    counts = counts_of_runs(options.data)
    how = {"command": command("tools.moses_counts")} | environment()
    write_json(MOSES_COUNTS, how | {"beam": recorded_run(PAIR)["beam"], "counts": counts})


def counts_of_runs(data: Path | None) -> dict[str, list[str]]:
    """Return a row of ten numbers for each test sentence, in text, by what the run learned from."""
    corpus = multi30k_corpus(PAIR, data)
    language, test = corpus.target_language, corpus.split("test")
    wanted = [moses_words(pair.target, language) for pair in test]
    shipped, long = (recorded_run(PAIR, recipe)["translations"] for recipe in (None, "long"))
    said = {
        "shipped": [moses_words(text, language) for text in shipped["beam_5"]],
        "plain text": [moses_words(text, language) for text in long["beam_5"]],
        "text like theirs": [text.split() for text in recorded_run(PAIR, "moses")["translations"]],
    }
    return {
        name: [
            " ".join(map(str, counts_of_words(*each))) for each in zip(texts, wanted, strict=True)
        ]
        for name, texts in said.items()
    }


def counts_of_words(said: list[str], wanted: list[str]) -> list[int]:
    """Count 4 matches, 4 totals and 2 lengths of a sentence whose words are cut already."""
    matches, totals = zip(*(clipped_counts(said, wanted, n) for n in (1, 2, 3, 4)), strict=True)
    return [*matches, *totals, len(said), len(wanted)]


if __name__ == "__main__":
    main()
