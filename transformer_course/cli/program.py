"""What all commands have in common: options, exit status, and errors in one sentence.

What needs PyTorch is imported by each command where it is used: it takes seconds, which ``lab``
does not wait for.
"""

import argparse
import errno
import io
import os
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

from transformer_course import __version__
from transformer_course.cli import course, train, translators
from transformer_course.cli.shared import say, silence
from transformer_course.cli.train import INTERRUPTED

# What a user can mend: shown as one sentence, exit status 2. Anything else is our own defect.
USER_ERRORS = (ValueError, OSError, FloatingPointError)
FULL_DISK = (errno.ENOSPC, errno.EDQUOT)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; return the exit status.

    It is 0 if all went well, 1 if what was looked at is not as it should be, 2 if something went
    wrong that the user can mend, 130 after Ctrl-C, even if a training saved what it had learned.
    """
    _open_closed_streams()
    try:
        return _run(sys.argv[1:] if arguments is None else arguments)
    except KeyboardInterrupt:
        say("interrupted.")
        return INTERRUPTED


def _run(arguments: Sequence[str]) -> int:
    arguments, behind = _split_off(arguments)
    options = _parsed(arguments)
    options.behind = behind
    options.command_line = shlex.join(["transformer-course", *arguments])
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # elsewhere, such as in a test, it is not a file
            stream.reconfigure(encoding="utf-8")  # Windows would write another
    try:
        status = options.command(options) or 0
        sys.stdout.flush()
    except BrokenPipeError:  # the reader of our output, such as `head`, has had enough
        silence(sys.stdout)
        return 0
    except USER_ERRORS as error:
        if options.debug:
            raise
        say(_sentence(error, options))
        return 2
    return status


def _open_closed_streams() -> None:
    """Let the null device stand in for standard streams that are closed: Python has None there."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            null = Path(os.devnull).open(mode, encoding="utf-8")  # noqa: SIM115, it stays open
            setattr(sys, name, null)


def _split_off(arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return what comes before ``--``, and what comes after it, for JupyterLab."""
    words = (argument for argument in arguments if not argument.startswith("-"))
    if "--" not in arguments or next(words, "") != "lab":
        return list(arguments), []
    end = arguments.index("--")
    return list(arguments[:end]), list(arguments[end + 1 :])


def _sentence(error: Exception, options: argparse.Namespace) -> str:
    """Return the error's message in one line."""
    if isinstance(error, OSError) and error.strerror is not None:
        if _finds_no_folder(error):
            return f"{error.strerror}{_way_on(options)}."
        # Files come with their names.
        place = error.filename or "standard input or output"
        return f"{place}: {error.strerror}{_way_on(options) if error.errno in FULL_DISK else ''}."
    return " ".join(str(error).split())


def _finds_no_folder(error: OSError) -> bool:
    """Whether no folder for temporary files has room; a file that is missing has a name."""
    return error.errno == errno.ENOENT and error.filename is None


def _way_on(options: argparse.Namespace) -> str:
    """Say how to go on where the disk was full."""
    if options.command is train.train and (options.begun or options.resume):
        words = ("transformer-course", "train", "--resume", "--output", str(options.output))
        return f": make room, then `{shlex.join(words)}` goes on"
    return ": make room, then give the command again"


def _parsed(arguments: Sequence[str]) -> argparse.Namespace:
    """Return the options of a command line; exit with status 2 if there is something else in it."""
    parser = _parser()
    options, left = parser.parse_known_args(arguments)
    # Behind an option, argparse would not know the sentences of `translate CHECKPOINT`.
    are_words = not any(word.startswith("-") for word in left)
    if left and are_words and vars(options).get("sentences") == []:
        options.sentences = left
    elif left:
        parser.error(f"unrecognized arguments: {' '.join(left)}")
    return options


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="transformer-course", description="Train a translator, score it, translate with it."
    )
    parser.add_argument("--version", action="version", version=__version__)
    parser.add_argument("--debug", action="store_true", help="show the traceback of an error")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for add in (*course.COMMANDS, train.add_to, *translators.COMMANDS):
        add(commands)
    return parser
