"""How many translations are marked as not sure: of sentences of another kind, and of the own kind.

    python -m benchmarks.not_sure --other europarl.en --data FOLDER

The translators that ship have learned from captions of photographs; the sentences of another kind
are the first of a file that have 4 to 20 words. Translations are greedy, as where the limit was
set. More translators can be named, folders of runs.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.results_file import write_results
from transformer_course.translation.corpora.text_files import iterate_lines
from transformer_course.translation.training.runs import Run, doubt_in
from transformer_course.translation.translator import Translator, shipped_checkpoint

FEWEST, MOST = 4, 20
"""Words of a sentence: as many as captions have."""
SHIPPED = ("multi30k-en-fr", "multi30k-en-de")


def marked(folder: Path, other: Sequence[str], data: Path | None) -> dict[str, Any]:
    """Return the share of marks among sentences of another kind, and in the test split."""
    run = Run.read(folder).with_data(data)
    corpus, translator = run.load_corpus(), Translator.load(folder)
    own = [pair.source for pair in corpus.split("test")]
    if (doubt := doubt_in(folder)) is None:
        raise ValueError(f"the training in {folder} has not ended, so no limit is known.")
    shares = {}
    for name, sentences in (("another kind", other), ("test split", own)):
        scored = translator.translate_with_scores(sentences)
        shares[name] = round(sum(score < doubt for _, score in scored) / len(scored), 3)
    return {"translator": folder.name, "training pairs": len(corpus.split("train"))} | shares


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and write ``results/not_sure.json``."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("runs", nargs="*", type=Path, help="folders of more translators")
    parser.add_argument("--other", type=Path, required=True, help="sentences of another kind")
    parser.add_argument("--data", type=Path, help="folder with the Multi30k files")
    parser.add_argument("--sentences", type=int, default=500)
    options = parser.parse_args(arguments)
    lines = [line for line in iterate_lines(options.other) if FEWEST <= len(line.split()) <= MOST]
    other = lines[: options.sentences]
    folders = [*map(shipped_checkpoint, SHIPPED), *options.runs]
    rows = [marked(folder, other, options.data) for folder in folders]
    results = {"of another kind": options.other.name, "sentences": len(other), "translators": rows}
    write_results("not_sure", results)
    print(results)


if __name__ == "__main__":
    main()
