"""Markdown beside JSON: what the benchmarks of speed have in common."""

import argparse
from collections.abc import Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from statistics import median
from typing import Any, TypeVar

import torch

from benchmarks.results_file import RESULTS, write_results
from transformer_course.files import write_text
from transformer_course.translation.training.runs import environment

Item = TypeVar("Item")

PEERS = ("transformers", "ctranslate2")


def options(description: str, rounds: int) -> argparse.ArgumentParser:
    """Return a parser with the options that each benchmark of speed has."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument(
        "--rounds", type=count, default=rounds, help="times to measure all; the median counts"
    )
    parser.add_argument(
        "--threads", type=count, default=torch.get_num_threads(), help="processor threads"
    )
    parser.add_argument("--output", type=Path, default=RESULTS, help="folder for the two files")
    return parser


def count(text: str) -> int:
    """Read an option that counts something."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"must be a whole number of at least 1; got {text!r}")
    return int(text)


def table(rows: Sequence[Mapping[str, object]]) -> str:
    """Return rows as a Markdown table; the first row's keys are the heads of the columns."""
    heads = list(rows[0])
    lines = [heads, ["---", *("---:" for _ in heads[1:])]]
    lines += [[_cell(row[head]) for head in heads] for row in rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _cell(value: object) -> str:
    """Show numbers with three figures, and what is missing as nothing."""
    if value is None:
        return ""
    if not isinstance(value, float):
        return f"{value:,}" if isinstance(value, int) else str(value)
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:#.3g}"


def write_tables(
    name: str,
    arguments: argparse.Namespace,
    results: Mapping[str, Any],
    title: str,
    sections: Sequence[str],
) -> None:
    """Write ``NAME.json`` and ``NAME.md``, with what is needed to measure them again.

    Parameters
    ----------
    name
        Of the benchmark's module.
    arguments
        What the parser of :func:`options` returned.
    results
        All figures, for the JSON file.
    title, sections
        The Markdown file's heading and what follows it, part by part.
    """
    settings = {key: value for key, value in vars(arguments).items() if key != "output"}
    command = f"python -m benchmarks.{name} {_as_options(settings)}"
    facts = {"command": command} | environment() | {"processor": processor()}
    facts["versions"] |= {package: found for package in PEERS if (found := installed(package))}
    write_results(name, facts | settings | dict(results), arguments.output)
    versions = ", ".join(f"{package} {number}" for package, number in facts["versions"].items())
    where = f"`{command}`, {facts['date']}, {facts['processor']} ({facts['machine']}), {versions}."
    text = "\n\n".join([f"# {title}", where, *sections])
    write_text(arguments.output / f"{name}.md", f"{text}\n")


def _as_options(settings: Mapping[str, Any]) -> str:
    """Write settings as on the command line, those with several values too."""
    words = []
    for name, value in settings.items():
        values = value if isinstance(value, list) else [value]
        words += [f"--{name}", *map(str, values)]
    return " ".join(words)


def installed(package: str) -> str | None:
    """Return the version of a package, None where it is missing: that peer is then left out."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def skipped() -> list[str]:
    """Return a sentence if packages of peers are missing."""
    missing = [package for package in PEERS if not installed(package)]
    how = 'pip install "transformer-course[peers]" brings them'
    return [f"Not installed and so left out: {', '.join(missing)} ({how})."] if missing else []


def processor() -> str:
    """Name the kind of processor, where the system tells."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:  # not Linux
        return "unknown"
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else "unknown"


def in_turn(contestants: Sequence[Item], number: int) -> list[Item]:
    """Begin with another one each time, so that none is always the first."""
    first = number % len(contestants)
    return [*contestants[first:], *contestants[:first]]


def compare(
    seconds: Mapping[str, Sequence[float]], work: Sequence[float], baselines: Sequence[str]
) -> dict[str, dict[str, Any]]:
    """Summarise the rounds of each contestant.

    Parameters
    ----------
    seconds
        Of each round, by contestant.
    work
        What each round did, in tokens or sentences.
    baselines
        The contestants that the others are compared with, round by round; who did not take part
        is left out.

    Returns
    -------
    summary
        By contestant: ``per_second`` (the median), ``times`` (how many times as fast as each
        baseline: the median of the rounds' ratios), and the ``seconds``.
    """
    present = [baseline for baseline in baselines if baseline in seconds]
    return {
        name: {
            "per_second": median_ratio(work, rounds),
            "times": {baseline: median_ratio(seconds[baseline], rounds) for baseline in present},
            "seconds": [round(s, 4) for s in rounds],
        }
        for name, rounds in seconds.items()
    }


def median_ratio(above: Sequence[float], below: Sequence[float]) -> float:
    """Divide round by round, and return the median."""
    return median(a / b for a, b in zip(above, below, strict=True))
