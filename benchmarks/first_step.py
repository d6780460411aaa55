"""Memory and seconds from two files to the first step of a training, for texts of several sizes.

    python -m benchmarks.first_step --source europarl.en --target europarl.fr

The lines are repeated, with a number behind each, until there are enough.
"""

import argparse
import resource
import tempfile
import time
from collections.abc import Iterator
from itertools import count, islice
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from benchmarks.results_file import write_results

SIZES = (200_000, 1_000_000)
LANGUAGES = "en", "fr"


def main() -> None:
    """Measure each size in a process of its own."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--source", type=Path, required=True)
    parser.add_argument("--target", type=Path, required=True)
    parser.add_argument("--pairs", type=int, nargs="+", default=SIZES)
    options = parser.parse_args()
    rows = []
    for pairs in options.pairs:
        with tempfile.TemporaryDirectory() as folder:
            paths = [Path(folder) / f"text.{language}" for language in LANGUAGES]
            for path, text in zip(paths, (options.source, options.target), strict=True):
                write_repeated(path, text.read_text("utf-8").rstrip("\n").split("\n"), pairs)
            with get_context("spawn").Pool(1) as pool:
                rows.append({"pairs": pairs} | pool.apply(_measured, (paths,)))
        print(rows[-1], flush=True)
    write_results("first_step", {"texts": rows})


def write_repeated(path: Path, lines: list[str], pairs: int) -> None:
    """Write as many lines as are asked for: these, with a number behind each, again and again.

    A file that is there already is never overwritten: it may be the text itself.
    """
    with path.open("x", encoding="utf-8") as file:
        file.writelines(islice(_changed(lines), pairs))


def _changed(lines: list[str]) -> Iterator[str]:
    for number in count():
        for line in lines:
            yield f"{line} {number}\n"


def _measured(paths: list[Path]) -> dict[str, Any]:
    """Train one step as the command does."""
    from transformer_course import cli

    output = paths[0].parent / "run"
    files = ["--source", str(paths[0]), "--target", str(paths[1])]
    start = time.perf_counter()
    # The dev split is looked at after the step; five sentences take no time.
    few = ["--steps", "1", "--set", "training.dev_sentences=5"]
    status = cli.main(["train", "--corpus", "files", *files, *few, "--output", str(output)])
    seconds = time.perf_counter() - start
    if status:
        raise RuntimeError(f"training failed with status {status}")
    # Kilobytes on Linux.
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    return {"seconds": round(seconds, 1), "gigabytes": round(peak, 2)}


if __name__ == "__main__":
    main()
