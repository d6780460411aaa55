"""The process that runs an answer and judges it: ``python -m transformer_course.tutor.judge``.

It reads a request in JSON from standard input and writes what it found to standard output, while
what the answer itself writes there goes nowhere. It keeps no record of anything.
"""

import difflib
import json
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from types import ModuleType
from typing import Any, TextIO

import torch

from transformer_course.checker.answers import COURSE_FILE
from transformer_course.checker.exceptions import kind_of, learners_line, words_of
from transformer_course.checker.exercise import Exercise
from transformer_course.checker.exits import no_exit
from transformer_course.checker.feedback import Feedback, Sentence, Verdict
from transformer_course.checker.gaps import Gaps
from transformer_course.checker.time_limits import TIME_LIMIT, TimeLimitReached, time_limit
from transformer_course.exercises import lesson_exercises
from transformer_course.own import file as own_file
from transformer_course.own.modules import module_of
from transformer_course.own.sections import sections, template
from transformer_course.tutor.answers import Cell, Program
from transformer_course.tutor.texts import NotJudgedError

MODULE = "answer"


def main() -> None:
    """Judge what standard input asks for."""
    torch.set_num_threads(1)  # as in the lessons: small tensors are faster on one thread
    with _said_alone() as out:
        found = judged(json.load(sys.stdin))
        out.write(json.dumps(found))


@contextmanager
def _said_alone() -> Iterator[TextIO]:
    """Yield standard output, and let whatever else is printed go nowhere."""
    with os.fdopen(os.dup(1), "w", encoding="utf-8") as out:
        silence = os.open(os.devnull, os.O_WRONLY)
        for stream in (1, 2):
            os.dup2(silence, stream)
        yield out


def judged(request: dict[str, Any]) -> dict[str, Any]:
    """Return what is known about an answer.

    Parameters
    ----------
    request
        ``lesson`` (without number) and ``exercise``; ``cells`` with the code; ``set_up``, the
        cells that the lesson begins with; ``file``, what the code is called; ``folder``, where it
        is; ``own``, the path of the learner's file or an empty string; ``where``, the place of the
        stub in words.

    Returns
    -------
    dict
        ``problem``, a sentence, if it cannot be judged; else ``feedback`` and what could be shown:
        ``records``, with ``observed`` and ``change`` by the name of a mistake; ``hints``, ``gaps``
        and ``solution``.
    """
    exercise = lesson_exercises(request["lesson"])[request["exercise"]]
    try:
        feedback = _feedback(exercise, request)
    except NotJudgedError as reason:
        return {"problem": str(reason)}
    return {
        "feedback": _in_json(feedback),
        "records": {
            mistake.name: {"observed": mistake.record.observed, "change": mistake.record.change}
            for mistake in exercise.mistakes
            if mistake.name in feedback.mistakes
        },
        "hints": list(exercise.task.hints),
        "gaps": _gaps_in_json(exercise.gaps()),
        "solution": exercise.solution().code,
    }


def _in_json(feedback: Feedback) -> dict[str, Any]:
    return {
        "verdict": feedback.verdict.name.lower().replace("_", " "),
        "message": feedback.unfolded,
        "mistakes": list(feedback.mistakes),
        "evidence": asdict(feedback.shown) if feedback.shown else None,
        "answer": feedback.answer,
    }


def _gaps_in_json(gaps: Gaps) -> dict[str, Any]:
    return {
        "code": gaps.code,
        "gaps": [
            [{"fragment": each.shown, "says": each.verdict} for each in gap.choices]
            for gap in gaps.gaps
        ],
    }


def _feedback(exercise: Exercise, request: dict[str, Any]) -> Feedback:
    """Judge the answer in a file.

    Raises
    ------
    NotJudgedError
        If there is none, or its code does not run.
    """
    cells, name, file = request["cells"], exercise.name, request["file"]
    with _in_words(name, file):
        # A section copied into a file of its own is an answer like any other.
        if len(cells) == 1 and name in (parts := sections(cells[0])) and len(parts) > 1:
            if not parts[name].is_yours:
                return _not_attempted(name, f"in {file} it is still the course's")
            return exercise.judge(getattr(own_file.executed(cells[0], Path(file)), name, None))
        feedback = exercise.judge(_answer(request))
    if feedback.verdict is Verdict.NOT_ATTEMPTED:
        return _not_attempted(name, f"in {file} it is still the stub")
    return feedback


def _not_attempted(name: str, words: str) -> Feedback:
    return Feedback(Verdict.NOT_ATTEMPTED, name, (Sentence(f"Nothing is written yet: {words}."),))


def _answer(request: dict[str, Any]) -> Any:
    """Run what an answer needs, and return it."""
    name, file = request["exercise"], request["file"]
    learners = [
        Cell(text, f"{file} cell {number}" if len(request["cells"]) > 1 else file)
        for number, text in enumerate(request["cells"], start=1)
    ]
    defining = [cell for cell in learners if name in cell.defined]
    for cell in learners:
        if cell.fault and (cell.defines_but_cannot_be_read(name) or len(learners) == 1):
            raise _not_python(cell, name)
    if not defining:
        raise _not_there(learners, request)
    set_up = [Cell(text, f"{COURSE_FILE}set-up>") for text in request["set_up"]]
    module = sys.modules[MODULE] = ModuleType(MODULE)
    sys.path.append(request["folder"])  # at the end: a file there may have the name of a module
    program = Program([*set_up, *learners], lambda: _own(request["own"]), vars(module))
    with no_exit(), time_limit(TIME_LIMIT):
        program.provide(name)
    return vars(module)[name]


def _own(path: str) -> ModuleType:
    """Return the learner's file as a module; the course's parts where there is none that runs."""
    try:
        if path:
            return own_file.executed(own_file.read(Path(path)), Path(path))
    except (own_file.FileError, OSError):
        pass
    return module_of(template(), "my_transformer", "my_transformer.py")


@contextmanager
def _in_words(name: str, file: str) -> Iterator[None]:
    """Turn whatever keeps an answer from being made into a sentence."""
    try:
        yield
    except NotJudgedError:
        raise
    except own_file.FileError as error:
        raise NotJudgedError(str(error)) from None
    except TimeLimitReached:
        raise NotJudgedError(
            f"what {file} runs before `{name}` is defined does not end within {TIME_LIMIT:g} "
            "seconds: take the loop or the training out of the way."
        ) from None
    except SystemExit:
        raise NotJudgedError(
            f"{file} ends Python before `{name}` is defined: take that line out."
        ) from None
    except BaseException as error:
        line = learners_line(error)
        at = f" in line {line.number}, `{line.text}`" if line and line.text else ""
        raise NotJudgedError(
            f"`{name}` cannot be made: {kind_of(error).__name__}: {words_of(error)}{at}; mend "
            "that first."
        ) from None


def _not_there(learners: Sequence[Cell], request: dict[str, Any]) -> NotJudgedError:
    name, file = request["exercise"], request["file"]
    defined = {each for cell in learners for each in cell.defined}
    if near := difflib.get_close_matches(name, sorted(defined), n=1, cutoff=0.75):
        return NotJudgedError(f"{file} defines `{near[0]}` and no `{name}`: give it that name.")
    return NotJudgedError(
        f"{file} does not define `{name}`: its stub is in {request['where']}; write it there "
        "and save the file, or name the file that it is in."
    )


def _not_python(cell: Cell, name: str) -> NotJudgedError:
    error = cell.fault
    at = f"line {error.lineno}: " if error.lineno else ""
    return NotJudgedError(
        f"{cell.file} is not valid Python ({at}{error.msg}), so `{name}` is not there: mend that "
        "line first."
    )


if __name__ == "__main__":
    main()
