"""What several commands ask for, and how they say something beside their results."""

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from tqdm import tqdm

if TYPE_CHECKING:
    Commands = argparse._SubParsersAction[argparse.ArgumentParser]


def add_checkpoint(command: argparse.ArgumentParser) -> None:
    """Let a command take a translator."""
    command.add_argument(
        "checkpoint",
        type=checkpoint,
        help="the folder that train wrote, or one that ships: toy, multi30k-en-fr, multi30k-en-de",
    )


def checkpoint(text: str) -> Path:
    """Return the folder of a translator: the one of that name, or else one that ships."""
    from transformer_course.translation.translator import shipped_checkpoint, shipped_names

    ships = text in shipped_names() and not Path(text).exists()
    return shipped_checkpoint(text) if ships else Path(text)


def add_beam(command: argparse.ArgumentParser) -> None:
    """Let a command take the width of the search."""
    command.add_argument("--beam", type=int, default=1, help="hypotheses kept; 1 is greedy")


def given(options: argparse.Namespace, names: Sequence[str]) -> dict[str, Any]:
    """Return those of the options that are given; several values as a tuple."""
    values = {name: getattr(options, name) for name in names}
    values = {name: tuple(v) if isinstance(v, list) else v for name, v in values.items()}
    return {name: value for name, value in values.items() if value is not None}


def say(words: str) -> None:
    """Say something beside the results, which go to standard output."""
    show(f"transformer-course: {words}")


def show(line: str) -> None:
    """Write a line on standard error, above any progress bar; nobody has to read it."""
    try:
        tqdm.write(line, file=sys.stderr)
    except BrokenPipeError:
        silence(sys.stderr)


def silence(stream: TextIO) -> None:
    """Let what is still written to a stream that nobody reads any more go nowhere."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
