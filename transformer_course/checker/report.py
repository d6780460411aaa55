"""Put what a check found into words. Nothing is decided here."""

import re
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from transformer_course.checker.calls import as_code, can_be_written, numbers
from transformer_course.checker.comparison import Difference, describe
from transformer_course.checker.exceptions import kind_of
from transformer_course.checker.faults import CHANGES_ARGUMENTS
from transformer_course.checker.feedback import (
    Code,
    Feedback,
    Fold,
    Listing,
    Part,
    Sentence,
    Shown,
    Verdict,
)
from transformer_course.checker.findings import Finding, Kind
from transformer_course.checker.identity import identity
from transformer_course.checker.matrices import in_rows, side_by_side
from transformer_course.checker.meanings import meaning
from transformer_course.checker.observation import Shapes
from transformer_course.checker.outcomes import Outcome
from transformer_course.checker.sandbox import PRINT_LIMIT
from transformer_course.checker.task import Task
from transformer_course.checker.time_limits import TIME_LIMIT, TimeLimitReached

ANOTHER_RUNS = "Another check is running: call `check` in a cell of its own, not in an answer."


def report(finding: Finding) -> Feedback:
    """Return what to say to whoever wrote the answer."""
    task = finding.observed.task
    verdict, parts = FORMS[finding.kind](task, finding)
    mistakes = finding.known.mistakes if finding.known else ()
    names = tuple(mistake.name for mistake in mistakes)
    shown = _shown(task, finding) if verdict is Verdict.WRONG else None
    answer = identity(finding.observed)
    return Feedback(verdict, task.name, tuple(parts), names, finding.computed, shown, answer)


Form = tuple[Verdict, list[Part]]


def _not_attempted(task: Task, finding: Finding) -> Form:
    words = (
        f"Write the {task.kind} in place of `...`, run its cell, then this one. "
        f"`exercise.{task.name}.hint()` helps, and `exercise.{task.name}.gaps()` shows an answer "
        "with gaps to fill."
    )
    return Verdict.NOT_ATTEMPTED, [Sentence(words), *_hints(task)]


def _right(task: Task, finding: Finding) -> Form:
    """Say well done, and what was verified."""
    count, properties = len(task.cases), [p.statement for p in task.properties]
    those = "1 property holds" if len(properties) == 1 else f"{len(properties)} properties hold"
    hold = f", and {those}" if properties else ""
    details: list[Part] = [
        Code(f"Case {n}", as_code(task, case)) for n, case in enumerate(task.cases, start=1)
    ]
    if properties:
        details.append(Listing("It holds that", tuple(properties)))
    praise = Sentence(f"Well done: equal to the reference in {count} cases{hold}.")
    verified = Fold("What was verified", tuple(details))
    return Verdict.RIGHT, [praise, *_printed(finding), verified]


def _faulty(task: Task, finding: Finding) -> Form:
    return Verdict.WRONG, [*map(Sentence, finding.faults), *_printed(finding)]


def _unsteady(task: Task, finding: Finding) -> Form:
    parts = [Sentence(finding.observed.unsteady), *_example(task, finding), *_clues(finding)]
    return Verdict.WRONG, [*parts, *_printed(finding)]


def _known(task: Task, finding: Finding) -> Form:
    """Show the recognised mistakes on a small input, then name them; fold what to change."""
    records = [mistake.record for mistake in finding.known.mistakes]
    several, remark = len(records) > 1, finding.known.remark
    parts = [*_parameters(finding), *_example(task, finding)]
    for number, record in enumerate(records, start=1):
        label = f"Known mistake {number}" if several else "Known mistake"
        shows = "On its own" if remark or several else "What shows it"
        parts += [Sentence(record.name, label), Sentence(record.observed, shows)]
    parts += [Sentence(words, "And its format") for words in finding.faults]
    parts += [Sentence(remark)] if remark else []
    if finding.known.crashes:
        stopped, *details = _crash(task, finding)
        parts += [Sentence(stopped.words, "Apart from that"), *details]
    parts += _changes_arguments(finding)
    # The last hint holds the code of an answer; who wants that asks for the solution.
    parts += _hints(task)[:-1]
    changes = [
        Sentence(record.change, f"For mistake {number}" if several else "")
        for number, record in enumerate(records, start=1)
    ]
    parts.append(Fold("What to change", tuple(changes), in_text=True))
    return Verdict.WRONG, [*parts, *_printed(finding)]


def _crashed(task: Task, finding: Finding) -> Form:
    """Explain an exception or an endless loop, with the learner's own line."""
    parts = [*_crash(task, finding), *_clues(finding, "Besides"), *_changes_arguments(finding)]
    return Verdict.WRONG, [*parts, *_hints(task), *_printed(finding)]


def _other_parameters(task: Task, finding: Finding) -> Form:
    said = Sentence("Your module's parameters are not those that the exercise asks for.")
    parts = [said, *_parameters(finding), *_clues(finding)]
    return Verdict.WRONG, [*parts, *_hints(task), *_printed(finding)]


def _unknown(task: Task, finding: Finding) -> Form:
    said = Sentence(f"Wrong in {len(finding.observed.wrong)} of {len(task.cases)} cases.")
    parts = [said, *_example(task, finding), *_clues(finding), *_properties(finding)]
    return Verdict.WRONG, [*parts, *_hints(task), *_printed(finding)]


FORMS: dict[Kind, Callable[[Task, Finding], Form]] = {
    Kind.NOT_ATTEMPTED: _not_attempted,
    Kind.RIGHT: _right,
    Kind.FAULTY: _faulty,
    Kind.KNOWN: _known,
    Kind.OTHER_PARAMETERS: _other_parameters,
    Kind.CRASHED: _crashed,
    Kind.UNSTEADY: _unsteady,
    Kind.UNKNOWN: _unknown,
}


def _shown(task: Task, finding: Finding) -> Shown | None:
    """Return the case that the answer is shown by: a wrong result, or what stopped it."""
    if finding.observed.example and finding.kind is not Kind.CRASHED:
        case, found = finding.observed.example
        return Shown(as_code(task, case), *_place_and_values(found))
    if not any(outcome.error for outcome in finding.observed.seen):
        return None
    case, outcome = finding.observed.crash
    wanted = next(wanted for each, wanted, _ in finding.observed.rows if each is case)
    return Shown(as_code(task, case), "", _in_full(wanted.value), _stopped(outcome))


def _place_and_values(found: Difference) -> tuple[str, str, str]:
    if found.kind in ("values", "nan") and isinstance(found.expected, Tensor):
        tables = side_by_side(found.expected, found.received, _place(found.path))
        return tables.place, in_rows(tables.wanted), in_rows(tables.yours)
    return _place(found.path), _in_full(found.expected), _in_full(found.received)


# The parts of a report


def _example(task: Task, finding: Finding) -> list[Part]:
    """Show a case with a wrong result: the call, what is wanted and what came."""
    if not finding.observed.example:
        return []
    case, difference = finding.observed.example
    return [Code("For", as_code(task, case)), *_difference(difference)]


def _clues(finding: Finding, label: str = "What shows it") -> list[Part]:
    return [Sentence(clue, label) for clue in finding.clues]


def _crash(task: Task, finding: Finding) -> list[Part]:
    """Say which exception came, and where, what it means and for which arguments."""
    case, outcome = finding.observed.crash
    parts = [Sentence(_stopped(outcome)), Code("For", as_code(task, case))]
    if outcome.line:
        parts.append(Code(f"Your line {outcome.line.number}", outcome.line.text))
    if words := meaning(*outcome.error):
        parts.append(Sentence(words, "What it means"))
    return parts


def _stopped(outcome: Outcome) -> str:
    kind, message = outcome.error
    if kind is TimeLimitReached and outcome.line:
        return f"It did not end within {TIME_LIMIT:g} seconds: does a loop never stop?"
    if kind is TimeLimitReached:
        return (
            f"Running it and comparing what it returned took more than {TIME_LIMIT:g} seconds: is "
            "the result much longer than it should be?"
        )
    return f"It stopped with {_name(kind)}{f': {message}' if message else ''}"


def _name(kind: type[BaseException]) -> str:
    return kind.__name__ or "an exception without a name"


def _changes_arguments(finding: Finding) -> list[Part]:
    changes = finding.observed.changes_arguments
    return [Sentence(CHANGES_ARGUMENTS, "Apart from that")] if changes else []


def _properties(finding: Finding) -> list[Part]:
    tried = finding.observed.properties
    lines = [f"{'holds' if holds else 'FAILS'}: {each.statement}" for each, holds in tried]
    return [Listing("Properties of a right answer", tuple(lines))] if lines else []


def _printed(finding: Finding) -> list[Part]:
    printed = finding.observed.printed
    beginning = ", the beginning" if len(printed) == PRINT_LIMIT else ""
    return [Code(f"Your code printed (first such case{beginning})", printed)] if printed else []


def _parameters(finding: Finding) -> list[Part]:
    """List in what a module's parameters differ from those that are wanted."""
    differing = finding.observed.other_parameters
    return [Listing("Parameters", tuple(_differing(*differing)))] if differing else []


def _differing(wanted: Shapes, seen: Shapes) -> list[str]:
    missing = []
    for name, shape in wanted.items():
        if name not in seen:
            missing.append(f"no parameter is named `{name}`; its shape should be {list(shape)}")
        elif seen[name] != shape:
            missing.append(f"`{name}` has shape {list(seen[name])}; {list(shape)} is wanted")
    surplus = [
        f"`{name}` of shape {list(shape)} should not be there"
        for name, shape in seen.items()
        if name not in wanted
    ]
    return [*_shortened(missing), *_shortened(surplus)]


def _shortened(lines: list[str]) -> list[str]:
    """Keep a few: a stack of layers under a wrong name has dozens of parameters."""
    return lines if len(lines) <= 4 else [*lines[:3], f"and {len(lines) - 3} more like these"]


def _difference(found: Difference) -> list[Part]:
    place = _place(found.path)
    if found.kind in ("values", "nan") and isinstance(found.expected, Tensor):
        parts: list[Part] = [side_by_side(found.expected, found.received, place)]
        if describe(found.expected) != describe(found.received):  # of another dtype
            parts.insert(0, Sentence(describe(found.expected), "Wanted"))
            parts.insert(1, Sentence(describe(found.received), "Yours"))
        if found.kind == "nan":
            parts.append(Sentence("NaN comes from 0/0, inf - inf, log(-1) and the like."))
        return parts
    of = f" in {place}" if place else ""
    return [
        Sentence(_in_full(found.expected), f"Wanted{of}"),
        Sentence(f"{_in_full(found.received)}{_advice(found)}", "Yours"),
    ]


def _in_full(value: Any) -> str:
    """Describe a value, with the numbers of a small tensor: they tell more than its shape."""
    small = isinstance(value, Tensor) and value.layout == torch.strided and can_be_written(value)
    return f"{describe(value)}: {numbers(value.tolist())}" if small else describe(value)


def _place(path: str) -> str:
    """Say in words where in a result something is: of ``['losses'][0]``, "losses" and number 1."""
    steps = re.findall(r"\[(?:'([^']*)'|(\d+)|(.+?))\](?=\[|\.|$)", path)
    words = ", ".join(_step(*step) for step in steps)
    return f"result {words}" if words.startswith("number") else words


def _step(name: str, index: str, key: str) -> str:
    if index:
        return f"number {int(index) + 1}"
    return f'"{name}"' if name else f"entry {key}"


def _advice(found: Difference) -> str:
    if found.kind != "type" or isinstance(found.received, Tensor):
        return ""
    if found.received is None:
        return "; is a `return` missing?"
    return "; make it a torch tensor" if isinstance(found.expected, Tensor) else ""


def _hints(task: Task) -> list[Part]:
    """Return the hints as folds, from mild to strong."""
    return [
        Fold(f"Hint {number} of {len(task.hints)}", (Sentence(words),))
        for number, words in enumerate(task.hints, start=1)
    ]


# What is said without a finding


def hint(task: Task, number: int) -> Feedback:
    """Show a hint; they are counted from 1."""
    parts = [Sentence(task.hints[number - 1], f"{number} of {len(task.hints)}")]
    if number == len(task.hints):
        words = f"That was the last hint; `exercise.{task.name}.solution()` shows an answer."
        parts.append(Sentence(words))
    return Feedback(Verdict.HINT, task.name, tuple(parts))


def unsuitable(task: Task, *sentences: str) -> Feedback:
    """Answer something that cannot be checked at all."""
    parts = tuple(map(Sentence, sentences))
    return Feedback(Verdict.WRONG, task.name, parts)


def broken_off(task: Task, error: BaseException) -> Feedback:
    """Answer what stopped the check itself, such as a result with code of its own."""
    kind = kind_of(error)
    finding = f"The check itself stopped with {_name(kind)}"
    if kind is TimeLimitReached:
        finding = "The check did not end in time"
    return unsuitable(
        task,
        f"{finding}: what your code does or returns is more than it can handle.",
        "Return tensors, numbers, lists or dictionaries, and leave Python's own settings alone.",
    )


def missing(task: Task, error: Exception) -> Feedback:
    """Answer where the notebook holds no answer, or its cell broke off before it."""
    finding = f"`{task.name}` cannot be found: {type(error).__name__}: {error}"
    return unsuitable(
        task, finding, "Its cell is missing, is not valid Python, or stops with an error."
    )


def left_undone(error: BaseException) -> str:
    """Say that something that is done with right answers was not finished."""
    return (
        f"It counts, but what comes after a right answer stopped with {_name(kind_of(error))}: "
        "it may be missing from your translator."
    )
