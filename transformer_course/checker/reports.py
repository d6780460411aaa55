"""Turn what a check found into words."""

import re
from collections.abc import Sequence

from torch import Tensor

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
    Listing,
    Part,
    Sentence,
    Verdict,
)
from transformer_course.checker.judge import broken_properties, unsteady
from transformer_course.checker.matrices import side_by_side
from transformer_course.checker.mistakes import same_behaviour
from transformer_course.checker.sandbox import PRINT_LIMIT, TIME_LIMIT, Outcome, TimeLimitReached
from transformer_course.checker.task import Task

NOT_SAVED = (
    "This is not saved: set the environment variable `TRANSFORMER_COURSE_HOME` to a folder "
    "that can be written."
)
OUT_OF_MEMORY = "That is more memory than there is: print the shapes of what goes in."

# What an exception usually means: its type, a pattern of its message, the explanation.
MEANINGS = (
    (RecursionError, "", "The function calls itself without end."),
    (NameError, "", "This name has no value yet: misspelt, or defined in a cell that was not run?"),
    (AttributeError, "Module.__init__", "`super().__init__()` must come first in `__init__`."),
    (Exception, "'?NoneType", "A value is None here: did a function forget its `return`?"),
    (AttributeError, "", "The object has no such name: misspelt, or never assigned?"),
    (
        IndexError,
        "Dimension out of range",
        "A tensor has fewer axes than expected: `x[:, i]` drops an axis, `x[:, [i]]` keeps it.",
    ),
    (IndexError, "", "An index lies beyond the end: print the `.shape` just before this line."),
    (
        RuntimeError,
        "must match|cannot be multiplied|size mismatch|expanded size",
        "Two shapes do not fit: print both `.shape` just before this line.",
    ),
    (
        RuntimeError,
        "Boolean value of Tensor",
        "`if`, `and`, `or` and `not` want one True or False, a tensor holds many: ask "
        "`is not None`, and combine masks with `&`, `|` and `~`.",
    ),
    (
        Exception,
        "converted to Python scalars|converted to Scalar",
        "`float`, `.item()` and the functions of `math` take one number: for a tensor use those of "
        "torch, such as `x.exp()`.",
    ),
    (
        RuntimeError,
        r"numpy\(\) on Tensor that requires grad",
        "NumPy knows no gradients, and training needs them: use the functions of torch.",
    ),
    (
        Exception,
        "return_types",
        "With `dim`, torch returns two tensors, the largest values and their places: use `.values` "
        "or `amax`.",
    ),
    (
        RuntimeError,
        "bitwise_.*not implemented",
        "`&`, `|` and `~` take booleans: make the tensor boolean first, with `.bool()`.",
    ),
    (
        RuntimeError,
        r"t\(\) expects",
        "`.t()` turns matrices only: `.transpose(-2, -1)` swaps the last two axes of any tensor.",
    ),
    (RuntimeError, "can't allocate memory|Invalid buffer size", OUT_OF_MEMORY),
    (MemoryError, "", OUT_OF_MEMORY),
    (
        RuntimeError,
        "is invalid for input of size",
        "The numbers do not fill this shape: print the `.shape` just before this line.",
    ),
    (ZeroDivisionError, "", "Something is divided by zero."),
    (SystemExit, "", "This ends Python: use `return` to end a function."),
)


def _wrong(task: Task, finding: str, *parts: Part | str, seen: Sequence[Outcome] = ()) -> Feedback:
    details = [Sentence(part) if isinstance(part, str) else part for part in parts]
    return Feedback(Verdict.WRONG, task.name, (Sentence(finding), *details, *_printed(seen)))


def unsuitable(task: Task, complaint: str) -> Feedback:
    """Answer something that cannot be checked at all."""
    return _wrong(task, complaint)


def missing(task: Task, error: Exception) -> Feedback:
    """Answer an answer that a notebook does not hold, or in a cell that broke off before it."""
    finding = f"`{task.name}` cannot be found: {type(error).__name__}: {error}"
    return _wrong(
        task, finding, "Its cell is missing, is not valid Python, or stops with an error."
    )


def not_attempted(task: Task) -> Feedback:
    """Answer the untouched stub."""
    words = (
        f"Write the {task.kind} in place of `...`, run its cell, then this one. "
        f"`exercise.{task.name}.hint()` helps."
    )
    return Feedback(Verdict.NOT_ATTEMPTED, task.name, (Sentence(words),))


def hint(task: Task, number: int) -> Feedback:
    """Show a hint; they are counted from 1."""
    parts = [Sentence(task.hints[number - 1], f"{number} of {len(task.hints)}")]
    if number == len(task.hints):
        words = f"That was the last hint; `exercise.{task.name}.solution()` shows an answer."
        parts.append(Sentence(words))
    return Feedback(Verdict.HINT, task.name, tuple(parts))


def right(task: Task, seen: Sequence[Outcome]) -> Feedback:
    """Say well done, and what was verified."""
    calls = tuple(
        f"`{case.call(task.name)}`: {case.looks_at or describe(outcome.value)}"
        for case, outcome in zip(task.cases, seen, strict=True)
    )
    parts: list[Part] = [Sentence("Well done!"), Listing("Equal to the reference in", calls)]
    if task.properties:
        parts.append(Listing("It holds that", tuple(p.statement for p in task.properties)))
    return Feedback(Verdict.RIGHT, task.name, (*parts, *_printed(seen)))


def known_mistake(
    task: Task, known: Diagnosis, seen: Sequence[Outcome], remarks: Sequence[str] = ()
) -> Feedback:
    """Name the recognised mistakes, and what they do not explain."""
    if len(known.mistakes) == 1:
        (mistake,) = known.mistakes
        parts: list[Part] = [
            Sentence(mistake.name, "Known mistake"),
            Sentence(mistake.observed, "What shows it"),
            Sentence(mistake.change, "What to change"),
        ]
    else:
        parts = [Sentence("Your code computes what these mistakes together compute.")]
        for number, mistake in enumerate(known.mistakes, start=1):
            parts.append(Sentence(mistake.name, f"Known mistake {number}"))
            parts.append(Sentence(mistake.observed, "What shows it"))
            parts.append(Sentence(mistake.change, "What to change"))
    parts += [Sentence(words, "And its format") for words in remarks]
    if known.remark:
        parts.append(Sentence(known.remark))
    if known.crashes:
        finding, *details = crashed(task, seen).parts
        parts += [Sentence(f"Apart from that: {finding.words}"), *details]
    names = tuple(mistake.name for mistake in known.mistakes)
    return Feedback(Verdict.WRONG, task.name, (*parts, *_printed(seen)), names)


def unknown_mistake(
    task: Task, seen: Sequence[Outcome], wanted: Sequence[Outcome], clues: Sequence[str]
) -> Feedback:
    """Show what differs, without guessing why: parameters, a crash, or the smallest case."""
    rows = list(zip(task.cases, wanted, seen, strict=True))
    facts = [Sentence(clue, "What shows it") for clue in clues]
    parameters = next((p for _, w, s in rows if (p := _parameters(w, s))), None)
    if parameters:
        finding = "Your module's parameters are not those that the exercise asks for."
        return _wrong(task, finding, parameters, *facts, seen=seen)
    failing = [row for row in rows if not same_behaviour(*row[1:])]
    values = [row for row in failing if not row[2].error]
    if any(outcome.line for outcome in seen):
        return crashed(task, seen, facts)
    if words := unsteady(seen):
        return _wrong(task, words, seen=seen)
    if not values:
        return crashed(task, seen, facts)
    case, right, outcome = min(values, key=lambda row: size(row[1].value))
    return _wrong(
        task,
        f"Wrong in {len(failing)} of {len(rows)} cases.",
        *facts,
        _call(task, case, "Smallest case"),
        *_difference(difference(right.value, outcome.value)),
        *_properties(task, rows),
        seen=seen,
    )


def crashed(task: Task, seen: Sequence[Outcome], facts: Sequence[Part] = ()) -> Feedback:
    """Explain an exception or an endless loop, with the learner's own line."""
    crashes = [(c, o) for c, o in zip(task.cases, seen, strict=False) if o.error]
    case, outcome = next(((c, o) for c, o in crashes if o.line), crashes[0])
    kind, message = outcome.error
    if kind is TimeLimitReached:
        finding = f"It did not end within {TIME_LIMIT:g} seconds: does a loop never stop?"
    else:
        finding = f"It stopped with {kind.__name__}{f': {message}' if message else ''}"
    parts: list[Part] = []
    if outcome.line:
        parts.append(Code(f"Your line {outcome.line.number}", outcome.line.text))
    meanings = [
        m for e, pattern, m in MEANINGS if issubclass(kind, e) and re.search(pattern, message)
    ]
    parts += [Sentence(meaning, "What it means") for meaning in meanings[:1]]
    return _wrong(task, finding, *parts, *facts, _call(task, case), seen=seen)


def _call(task: Task, case: Case, label: str = "Case") -> Sentence:
    looks_at = f", {case.looks_at}" if case.looks_at else ""
    return Sentence(f"`{case.call(task.name)}`{looks_at}", label)


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
    part = f"part `{found.path}` of the result: " if found.path else ""
    wanted, yours = describe(found.expected), describe(found.received)
    parts: list[Part] = (
        [Sentence(f"{part}type and shape are right ({yours}), values are not", "Yours")]
        if wanted == yours
        else [
            Sentence(f"{part}{wanted}", "Wanted"),
            Sentence(f"{part}{yours}{_advice(found)}", "Yours"),
        ]
    )
    if found.kind == "nan":
        parts.append(Sentence("NaN comes from 0/0, inf - inf, log(-1) and the like."))
    if found.kind in ("values", "nan") and isinstance(found.expected, Tensor):
        parts.append(side_by_side(found.expected, found.received))
    return parts


def _advice(found: Difference) -> str:
    if found.kind != "type" or isinstance(found.received, Tensor):
        return ""
    if found.received is None:
        return "; is a `return` missing?"
    return "; make it a torch tensor" if isinstance(found.expected, Tensor) else ""


def _properties(task: Task, rows: Sequence[tuple[Case, Outcome, Outcome]]) -> list[Part]:
    """Say which properties hold; they mean nothing for results of the wrong type or shape."""
    found = [difference(right.value, outcome.value) for _, right, outcome in rows]
    if not task.properties or any(d and d.kind != "values" for d in found):
        return []
    broken = broken_properties(task, [outcome for _, _, outcome in rows])
    lines = [f"{'FAILS' if p in broken else 'holds'}: {p.statement}" for p in task.properties]
    return [Listing("Properties of a right answer", tuple(lines))]


def faulty(task: Task, faults: Sequence[str], seen: Sequence[Outcome]) -> Feedback:
    """Say what is wrong though all values are right."""
    return _wrong(task, *faults, seen=seen)


def _printed(seen: Sequence[Outcome]) -> list[Part]:
    printed = next((outcome.printed for outcome in seen if outcome.printed.strip()), "")
    beginning = ", the beginning" if len(printed) == PRINT_LIMIT else ""
    return [Code(f"Your code printed (first such case{beginning})", printed)] if printed else []
