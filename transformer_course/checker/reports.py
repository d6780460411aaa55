"""Turn what a check found into words."""

import re
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from transformer_course.checker.calls import as_code, can_be_written, numbers
from transformer_course.checker.cases import Case
from transformer_course.checker.comparison import (
    Difference,
    describe,
    difference,
    size,
)
from transformer_course.checker.diagnosis import Diagnosis
from transformer_course.checker.feedback import (
    Code,
    Feedback,
    Fold,
    Listing,
    Part,
    Sentence,
    Verdict,
)
from transformer_course.checker.formats import other_dtype
from transformer_course.checker.judge import broken_properties, changed_input, unsteady
from transformer_course.checker.matrices import side_by_side
from transformer_course.checker.meanings import meaning
from transformer_course.checker.mistakes import same_behaviour
from transformer_course.checker.sandbox import (
    PRINT_LIMIT,
    TIME_LIMIT,
    Outcome,
    TimeLimitReached,
    kind_of,
)
from transformer_course.checker.task import Task

ANOTHER_RUNS = "Another check is running: call `check` in a cell of its own, not in an answer."
NOT_SAVED = (
    "This is not saved: set the environment variable `TRANSFORMER_COURSE_HOME` to a folder "
    "that can be written."
)


def _wrong(task: Task, finding: str, *parts: Part | str, seen: Sequence[Outcome] = ()) -> Feedback:
    details = [Sentence(part) if isinstance(part, str) else part for part in parts]
    return Feedback(Verdict.WRONG, task.name, (Sentence(finding), *details, *_printed(seen)))


def unsuitable(task: Task, complaint: str) -> Feedback:
    """Answer something that cannot be checked at all."""
    return _wrong(task, complaint)


def broken_off(task: Task, error: BaseException) -> Feedback:
    """Answer what stopped the check itself, such as a result with code of its own."""
    kind = kind_of(error)
    finding = f"The check itself stopped with {_name(kind)}"
    if kind is TimeLimitReached:
        finding = "The check did not end in time"
    return _wrong(
        task,
        f"{finding}: what your code does or returns is more than it can handle.",
        "Return tensors, numbers, lists or dictionaries, and leave Python's own settings alone.",
    )


def left_undone(error: BaseException) -> str:
    """Say that something that is done with right answers was not finished."""
    return (
        f"It counts, but what comes after a right answer stopped with {_name(kind_of(error))}: "
        "it may be missing from your translator."
    )


def missing(task: Task, error: Exception) -> Feedback:
    """Answer where the notebook holds no answer, or its cell broke off before it."""
    finding = f"`{task.name}` cannot be found: {type(error).__name__}: {error}"
    return _wrong(
        task, finding, "Its cell is missing, is not valid Python, or stops with an error."
    )


def not_attempted(task: Task) -> Feedback:
    """Answer the untouched stub."""
    words = (
        f"Write the {task.kind} in place of `...`, run its cell, then this one. "
        f"`exercise.{task.name}.hint()` helps, and `exercise.{task.name}.gaps()` shows an answer "
        "with gaps to fill."
    )
    return Feedback(Verdict.NOT_ATTEMPTED, task.name, (Sentence(words), *hints(task)))


def hint(task: Task, number: int) -> Feedback:
    """Show a hint; they are counted from 1."""
    parts = [Sentence(task.hints[number - 1], f"{number} of {len(task.hints)}")]
    if number == len(task.hints):
        words = f"That was the last hint; `exercise.{task.name}.solution()` shows an answer."
        parts.append(Sentence(words))
    return Feedback(Verdict.HINT, task.name, tuple(parts))


def right(task: Task, seen: Sequence[Outcome]) -> Feedback:
    """Say well done, and what was verified."""
    count, properties = len(task.cases), [p.statement for p in task.properties]
    those = "1 property holds" if len(properties) == 1 else f"{len(properties)} properties hold"
    hold = f", and {those}" if properties else ""
    cases = (Code(f"Case {n}", as_code(task, case)) for n, case in enumerate(task.cases, start=1))
    details = (*cases, Listing("It holds that", tuple(properties)))
    return Feedback(
        Verdict.RIGHT,
        task.name,
        (
            Sentence(f"Well done: equal to the reference in {count} cases{hold}."),
            *_printed(seen),
            Fold("What was verified", details[: count + bool(properties)]),
        ),
    )


def known_mistake(
    task: Task,
    known: Diagnosis,
    seen: Sequence[Outcome],
    wanted: Sequence[Outcome],
    remarks: Sequence[str] = (),
) -> Feedback:
    """Show the recognised mistakes on a small input, then name them; fold what to change."""
    parts: list[Part] = _shown(task, seen, wanted)
    if parameters := _parameters_of_any(seen, wanted):
        parts.insert(0, parameters)
    several = len(known.mistakes) > 1
    for number, mistake in enumerate(known.mistakes, start=1):
        label = f"Known mistake {number}" if several else "Known mistake"
        shows = "On its own" if known.remark or several else "What shows it"
        parts += [Sentence(mistake.name, label), Sentence(mistake.record.observed, shows)]
    parts += [Sentence(words, "And its format") for words in remarks]
    if known.remark:
        parts.append(Sentence(known.remark))
    if known.crashes:
        finding, details = _crash(task, seen)
        parts += [Sentence(finding, "Apart from that"), *details]
    parts += _apart_from_that(seen)
    # The last hint holds the code of an answer; who wants that asks for the solution.
    parts += hints(task)[:-1]
    changes = [
        Sentence(mistake.record.change, f"For mistake {number}" if several else "")
        for number, mistake in enumerate(known.mistakes, start=1)
    ]
    parts.append(Fold("What to change", tuple(changes), in_text=True))
    names = tuple(mistake.name for mistake in known.mistakes)
    return Feedback(Verdict.WRONG, task.name, (*parts, *_printed(seen)), names)


def hints(task: Task) -> list[Part]:
    """Return the hints as folds, from mild to strong."""
    return [
        Fold(f"Hint {number} of {len(task.hints)}", (Sentence(words),))
        for number, words in enumerate(task.hints, start=1)
    ]


def _shown(task: Task, seen: Sequence[Outcome], wanted: Sequence[Outcome]) -> list[Part]:
    """Show the smallest case with a wrong result: the call, what is wanted and what came."""
    rows = list(zip(task.cases, wanted, seen, strict=True))
    values = [row for row in rows if not row[2].error and difference(row[1].value, row[2].value)]
    if not values:
        return []
    case, right, outcome = min(values, key=lambda row: _reading(task, *row[:2]))
    return [
        Code("For", as_code(task, case)),
        *_difference(difference(right.value, outcome.value)),
    ]


def _reading(task: Task, case: Case, right: Outcome) -> tuple[bool, int]:
    """Say how much there is to read in a case; what only looks at something comes last."""
    return bool(case.looks_at), len(as_code(task, case)) + 8 * size(right.value)


def unknown_mistake(
    task: Task, seen: Sequence[Outcome], wanted: Sequence[Outcome], clues: Sequence[str]
) -> Feedback:
    """Show what differs, without guessing why: parameters, a crash, or the smallest case."""
    rows = list(zip(task.cases, wanted, seen, strict=True))
    facts = [Sentence(clue, "What shows it") for clue in clues]
    if parameters := _parameters_of_any(seen, wanted):
        finding = "Your module's parameters are not those that the exercise asks for."
        return _wrong(task, finding, parameters, *facts, *hints(task), seen=seen)
    failing = [row for row in rows if not same_behaviour(*row[1:])]
    if any(outcome.line for outcome in seen):
        return crashed(task, seen, [*facts, *_apart_from_that(seen)])
    if words := unsteady(task, seen):
        return _wrong(task, words, *_shown(task, seen, wanted), *facts, seen=seen)
    if all(outcome.error for _, _, outcome in failing):
        return crashed(task, seen, facts)
    return _wrong(
        task,
        f"Wrong in {len(failing)} of {len(rows)} cases.",
        *_shown(task, seen, wanted),
        *facts,
        *_properties(task, rows),
        *hints(task),
        seen=seen,
    )


def crashed(task: Task, seen: Sequence[Outcome], facts: Sequence[Part] = ()) -> Feedback:
    """Explain an exception or an endless loop, with the learner's own line."""
    finding, details = _crash(task, seen)
    return _wrong(task, finding, *details, *facts, *hints(task), seen=seen)


def _crash(task: Task, seen: Sequence[Outcome]) -> tuple[str, list[Part]]:
    """Say which exception came, and where, what it means and for which arguments."""
    crashes = [(c, o) for c, o in zip(task.cases, seen, strict=False) if o.error]
    case, outcome = next(((c, o) for c, o in crashes if o.line), crashes[0])
    kind, message = outcome.error
    if kind is TimeLimitReached and outcome.line:
        finding = f"It did not end within {TIME_LIMIT:g} seconds: does a loop never stop?"
    elif kind is TimeLimitReached:
        finding = (
            f"Running it and comparing what it returned took more than {TIME_LIMIT:g} seconds: is "
            "the result much longer than it should be?"
        )
    else:
        finding = f"It stopped with {_name(kind)}{f': {message}' if message else ''}"
    parts: list[Part] = [Code("For", as_code(task, case))]
    if outcome.line:
        parts.append(Code(f"Your line {outcome.line.number}", outcome.line.text))
    if words := meaning(kind, message):
        parts.append(Sentence(words, "What it means"))
    return finding, parts


def _name(kind: type[BaseException]) -> str:
    return kind.__name__ or "an exception without a name"


def _apart_from_that(seen: Sequence[Outcome]) -> list[Part]:
    words = changed_input(seen)
    return [Sentence(words, "Apart from that")] if words else []


def _parameters_of_any(seen: Sequence[Outcome], wanted: Sequence[Outcome]) -> Listing | None:
    """List what differs in the first case whose parameters do."""
    rows = zip(wanted, seen, strict=True)
    return next((found for row in rows if (found := _parameters(*row))), None)


def _parameters(wanted: Outcome, seen: Outcome) -> Listing | None:
    if wanted.parameters == seen.parameters or (seen.error and not seen.parameters):
        return None
    missing = []
    for name, shape in wanted.parameters.items():
        if name not in seen.parameters:
            missing.append(f"no parameter is named `{name}`; its shape should be {list(shape)}")
        elif seen.parameters[name] != shape:
            yours = list(seen.parameters[name])
            missing.append(f"`{name}` has shape {yours}; {list(shape)} is wanted")
    surplus = [
        f"`{name}` of shape {list(shape)} should not be there"
        for name, shape in seen.parameters.items()
        if name not in wanted.parameters
    ]
    return Listing("Parameters", (*_shortened(missing), *_shortened(surplus)))


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
    """Say in words where in a result something is: ``['losses'][0]`` is "losses, number 1"."""
    steps = re.findall(r"\[(?:'([^']*)'|(\d+))\]", path)
    words = ", ".join(name or f"number {int(index) + 1}" for name, index in steps)
    return f"result {words}" if words.startswith("number") else words


def _advice(found: Difference) -> str:
    if found.kind != "type" or isinstance(found.received, Tensor):
        return ""
    if found.received is None:
        return "; is a `return` missing?"
    return "; make it a torch tensor" if isinstance(found.expected, Tensor) else ""


def _properties(task: Task, rows: Sequence[tuple[Case, Outcome, Outcome]]) -> list[Part]:
    """Say which properties hold; they mean nothing for a wrong type, shape or dtype."""
    found = [difference(right.value, outcome.value) for _, right, outcome in rows]
    wanted, seen = [right for _, right, _ in rows], [outcome for _, _, outcome in rows]
    if not task.properties or any(d and d.kind != "values" for d in found):
        return []
    if other_dtype(seen, wanted):
        return []
    broken = broken_properties(task, seen)
    lines = [f"{'FAILS' if p in broken else 'holds'}: {p.statement}" for p in task.properties]
    return [Listing("Properties of a right answer", tuple(lines))]


def faulty(task: Task, faults: Sequence[str], seen: Sequence[Outcome]) -> Feedback:
    """Say what is wrong though all values are right."""
    return _wrong(task, *faults, seen=seen)


def _printed(seen: Sequence[Outcome]) -> list[Part]:
    printed = next((outcome.printed for outcome in seen if outcome.printed.strip()), "")
    beginning = ", the beginning" if len(printed) == PRINT_LIMIT else ""
    return [Code(f"Your code printed (first such case{beginning})", printed)] if printed else []
