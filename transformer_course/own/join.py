"""How an answer becomes a part of the learner's translator."""

import ast
from collections.abc import Callable, Iterable
from datetime import date
from pathlib import Path
from types import ModuleType

from transformer_course.checker.exercise import Exercise
from transformer_course.own import sections, whole
from transformer_course.own.answer import NotAPart, Statement, answer_text, statements
from transformer_course.own.file import FileError, executed, locked, read, replace
from transformer_course.own.given import part_text
from transformer_course.own.modules import fill

SLOW = 10.0  # times the course's time for a step is worth a word


def join(exercise: Exercise, candidate: Callable, own: ModuleType) -> str | None:
    """Put a right answer into the learner's file and module; say in a sentence what happened.

    Returns
    -------
    str or None
        None for an exercise that is not a part.
    """
    if exercise.name not in sections.parts():
        return None
    try:
        return _joined(exercise, candidate, own)
    except (NotAPart, FileError) as reason:
        return f"It is not in your translator: {reason}."
    except OSError as error:
        return f"It is not in your translator: {own.__file__} cannot be written ({error})."


def _joined(exercise: Exercise, candidate: Callable, own: ModuleType) -> str:
    path, name = Path(own.__file__), exercise.name
    with locked(path):
        text = read(path)
        if name not in sections.sections(text):
            raise NotAPart(f"{path.name} has no section for `{name}`")
        new = answer_text(candidate, name, own, whole.course())
        _refuse_two_texts(new, name, text)
        body = "\n\n\n".join(statement.text for statement in new)
        _refuse_header(body)
        text = sections.with_section(text, name, body, f"yours, {date.today()}")
        tried = _tried(text, path)
        remark = _judged_there(exercise, tried)
        replace(path, text)
        fill(own, text, str(path))
    count, total = len(sections.yours(text)), len(sections.parts())
    said = f"`{name}` is in your translator: {count} of {total} parts are yours."
    return f"{said}{_what_calls(name)}{remark}"


def _what_calls(name: str) -> str:
    """Say which parts call a part, as the course writes them."""
    callers = [part for part in sections.parts() if f"own.{name}(" in part_text(part)]
    if not callers:
        return ""
    listed = " and ".join(f"`{caller}`" for caller in callers[:2])
    return f" There {listed} {'call' if len(callers) > 1 else 'calls'} it."


def _refuse_header(body: str) -> None:
    """Refuse a line that would end the section in its middle."""
    if any(line.startswith(sections.BEGINS) for line in body.split("\n")):
        raise NotAPart(
            f"one of its lines begins with `{sections.BEGINS.strip()}`, which begins a section in "
            "your file: write that line another way"
        )


def _refuse_two_texts(new: Iterable[Statement], name: str, text: str) -> None:
    """Refuse a helper that another part has with another text."""
    for other in sections.sections(text).values():
        known = statements(other.body) if other.is_yours and other.name != name else {}
        for statement in new:
            for helper in known.keys() & statement.bound:
                if ast.dump(known[helper].tree) != ast.dump(statement.tree):
                    raise NotAPart(
                        f"`{helper}` is something else in your `{other.name}`: give one of the "
                        "two another name"
                    )


def _tried(text: str, path: Path) -> ModuleType:
    try:
        return executed(text, path)
    except FileError as error:
        raise NotAPart(f"with it, {error}") from None


def _judged_there(exercise: Exercise, tried: ModuleType) -> str:
    """Check the answer again where it will live, then all parts together; return a remark."""
    feedback = exercise.judge(getattr(tried, exercise.name))
    if not feedback.passed:
        raise NotAPart(f"in your file it is not right any more: {feedback.finding}")
    if fault := whole.fault(tried):
        raise NotAPart(f"the whole translator computes something else with your parts: {fault}")
    ratio = whole.slowness(tried)
    return f" A training step takes {ratio:.0f} times as long with it." if ratio > SLOW else ""
