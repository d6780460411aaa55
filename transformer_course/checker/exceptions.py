"""What an exception that came out of code under test tells: its kind, words, and place."""

import dis
import linecache
import os
import re
import sysconfig
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from transformer_course.checker.answers import COURSE_FILE
from transformer_course.checker.time_limits import TimeLimitReached

MESSAGE_LIMIT = 1000  # characters of an exception's message that are kept

# Prefixes of the files that a learner did not write: Python, installed packages, this course.
FOREIGN_FILES = (
    "<frozen ",
    COURSE_FILE,
    str(Path(__file__).parents[1]) + os.sep,
    *(sysconfig.get_path(name) + os.sep for name in ("stdlib", "purelib", "platlib")),
)


@dataclass(frozen=True)
class Line:
    """A line of source and where it is."""

    file: str
    number: int
    text: str


def kind_of(error: BaseException) -> type[BaseException]:
    """Return the type of an exception; a base of it where the type is asked by code of its own."""
    return next(kind for kind in type.mro(type(error)) if type(kind) is type)


def words_of(error: BaseException) -> str:
    """Return the first line of an exception's message."""
    # Addresses differ from run to run, which stored outputs must not.
    message = re.sub(r" at 0x[0-9a-fA-F]+", "", _message(error)).strip()
    return writable(message.partition("\n")[0][:MESSAGE_LIMIT])


def learners_line(error: BaseException) -> Line | None:
    """Return the last of the learner's lines that an exception went through, if it did."""
    learners = [line for line in _lines(error) if not line.file.startswith(FOREIGN_FILES)]
    return learners[-1] if learners else None


def says_not_implemented(error: BaseException) -> bool:
    """Whether the learner's own last line raised NotImplementedError, as in a stub."""
    if not isinstance(error, NotImplementedError):
        return False
    *_, last = _lines(error)
    return last == learners_line(error) and _has_raised(error)


def _message(error: BaseException) -> str:
    try:
        return str(error)
    except (KeyboardInterrupt, TimeLimitReached):
        raise
    except BaseException:  # an exception's own code may fail too
        return ""


def writable(text: str) -> str:
    """Return a text in which half characters, which no file or page can hold, are numbers."""
    return text.encode(errors="backslashreplace").decode()


def _has_raised(error: BaseException) -> bool:
    """Tell a `raise` from torch, which raises NotImplementedError for operations that it lacks."""
    step = error.__traceback__
    while step.tb_next:
        step = step.tb_next
    return step.tb_frame.f_code.co_code[step.tb_lasti] == dis.opmap["RAISE_VARARGS"]


def _lines(error: BaseException) -> Iterator[Line]:
    step = error.__traceback__
    while step:
        file = step.tb_frame.f_code.co_filename
        yield Line(file, step.tb_lineno, linecache.getline(file, step.tb_lineno).strip())
        step = step.tb_next
