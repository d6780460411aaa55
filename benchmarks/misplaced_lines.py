"""How many of the lines that stand in a wrong place are doubted, and how many right ones.

    python -m benchmarks.misplaced_lines my.en my.fr --seeds 5

One line in a hundred of the target changes its place with others. ``--pairs`` repeats the lines,
with a number behind each, and times the whole inspection.
"""

import argparse
import random
import tempfile
import time
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np

from benchmarks.first_step import write_repeated
from benchmarks.results_file import write_results
from transformer_course.publish.text_page import summary, write_text_page
from transformer_course.translation.corpora.inspection import inspect_text
from transformer_course.translation.corpora.languages import language_of
from transformer_course.translation.corpora.similarity import fit_of, words_in
from transformer_course.translation.corpora.text_files import read_lines

SHARE = 0.01


def main() -> None:
    """Measure each text, and write ``results/misplaced_lines.json``."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", type=Path, nargs="+", help="source and target, by turns")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--pairs", type=int, default=200_000)
    options = parser.parse_args()
    texts = [*zip(options.files[::2], options.files[1::2], strict=True)]
    results = {
        "texts": [_doubts(source, target, options.seeds) for source, target in texts],
        "inspection": _timed(*texts[0], options.pairs),
    }
    print(results)
    write_results("misplaced_lines", results)


def _doubts(source: Path, target: Path, seeds: int) -> dict[str, Any]:
    sides = zip(read_lines(source, target), map(language_of, (source, target)), strict=True)
    words = [[words_in(line, language) for line in lines] for lines, language in sides]
    found = [_with_misplaced(*words, seed) for seed in range(seeds)]
    return {
        "text": f"{source.name}, {target.name}",
        "pairs": len(words[0]),
        "seeds": seeds,
        "misplaced lines that are doubted": round(fmean(f[0] for f in found), 4),
        "right lines that are doubted": round(fmean(f[1] for f in found), 4),
    }


def _with_misplaced(
    sources: list[list[str]], targets: list[list[str]], seed: int
) -> tuple[float, float]:
    """Return the shares of misplaced and of right lines that are doubted."""
    chosen = random.Random(seed).sample(range(len(targets)), round(SHARE * len(targets)))
    moved = list(targets)
    for place, other in zip(chosen, chosen[1:] + chosen[:1], strict=True):
        moved[place] = targets[other]
    misplaced = np.zeros(len(moved), dtype=bool)
    misplaced[chosen] = True
    doubts = np.zeros(len(moved), dtype=bool)
    doubts[fit_of(sources, moved).doubted] = True
    return float(doubts[misplaced].mean()), float(doubts[~misplaced].mean())


def _timed(source: Path, target: Path, pairs: int) -> dict[str, Any]:
    """Time what ``transformer-course text --output`` does."""
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder) / f"text.{language_of(path)}" for path in (source, target)]
        for path, lines in zip(paths, read_lines(source, target), strict=True):
            write_repeated(path, lines, pairs)
        began = time.perf_counter()
        inspection = inspect_text(*paths)
        summary(inspection)
        write_text_page(inspection, Path(folder) / "text.html")
        return {"pairs": pairs, "seconds": round(time.perf_counter() - began, 1)}


if __name__ == "__main__":
    main()
