"""Turn what a check found into words."""

import re
from collections.abc import Sequence

from torch import Tensor

from transformer_course.checker.calls import as_code
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
    (Exception, r"bitwise_xor|for \^", "`^` is no power in Python: write `**`."),
    (
        AssertionError,
        "",
        "An `assert` of yours does not hold; where an answer is wanted, `return` it.",
    ),
    (
        Exception,
        r"'bool' object (has no attribute|is not subscriptable)",
        "There is one True or False where a tensor is wanted: `==` and `!=` compare element by "
        "element, `is` and `not` do not.",
    ),
    (
        TypeError,
        "tuple of ints.*float|'float' object cannot be interpreted",
        "A whole number is wanted: `//` gives one, `/` gives a float.",
    ),
    (
        TypeError,
        "unary ~: 'NoneType'",
        "The mask is None here: ask `if mask is not None` first.",
    ),
    (
        RuntimeError,
        "same dtype.*Bool",
        "A boolean mask stands where vectors are wanted: compare the order of the arguments.",
    ),
    (
        RuntimeError,
        "not have been used in the graph",
        "What you differentiate had no part in the result: ids are whole numbers, and `.long()` "
        "cuts the graph.",
    ),
    (
        UnboundLocalError,
        "",
        "This name gets its value only inside a loop or an `if` that did not run.",
    ),
    (
        AttributeError,
        r"'(float|int)' object has no",
        "This is a plain number, and a tensor is wanted: call `.item()` or `float` last.",
    ),
    (
        AttributeError,
        r"'(list|tuple|dict|str)' object has no",
        "The value is of another type than this line expects.",
    ),
    (
        TypeError,
        "expected Tensor as element",
        "A list stands where tensors are wanted: a star unpacks it, `f(*tensors)`.",
    ),
    (TypeError, r"must be Tensor, not (range|list)", "Make it a tensor first: `torch.arange(n)`."),
    (
        RuntimeError,
        "scalar types: Long, Int",
        "An embedding looks up whole numbers, not floating-point numbers.",
    ),
    (
        RuntimeError,
        "leaf Variable that requires grad",
        "Change the initial values of a parameter within `with torch.no_grad():`.",
    ),
    (
        TypeError,
        r"must be Tensor, not (float|int)",
        "Functions of torch take tensors: for a plain number use those of `math`, or `**`.",
    ),
    (
        TypeError,
        "invalid combination of arguments",
        "This function of torch does not take such arguments: `help(...)` lists what it takes.",
    ),
    (
        TypeError,
        "unhashable type",
        "A list cannot be counted, and cannot be a key: make it a `tuple`, or take its elements.",
    ),
    (TypeError, "can only concatenate list", "`+` joins two lists: put the one in brackets."),
    (TypeError, r"object of type '(int|float)' has no len", "This is a number, not a list."),
    (TypeError, "takes .* positional argument", "The call gives another number of arguments."),
    (TypeError, "is not callable", "Brackets call a function, and this is none."),
    (
        KeyError,
        "already exists",
        "The module has an attribute of this name already: leave that assignment out.",
    ),
    (
        IndexError,
        "shape of the mask",
        "A boolean index needs the shape of the axes that it picks from.",
    ),
    (KeyError, "", "The dictionary has no such key: `.get(key, 0)` and a `Counter` give 0 then."),
    (
        RuntimeError,
        "can't be cast to the desired output type",
        "A tensor of whole numbers cannot hold fractions: make it `.float()` first.",
    ),
    (
        RuntimeError,
        "Subtraction, the .* with a bool tensor",
        "True and False cannot be subtracted: `~mask` turns a mask round.",
    ),
    (
        RuntimeError,
        "same number of dimensions as input",
        "`gather` and `scatter` need an index with as many axes as the tensor: `index[:, None]`.",
    ),
    (
        Exception,
        "Expected target size|Expected input batch_size",
        "`cross_entropy` takes logits (tokens, words) and targets (tokens): flatten both.",
    ),
    (
        ValueError,
        "expected sequence of length",
        "The rows of a tensor are equally long: fill the short ones up first.",
    ),
    (
        ValueError,
        "values to unpack",
        "There are more names than values, or fewer: how many axes has this `.shape`?",
    ),
    (
        RuntimeError,
        "view size is not compatible",
        "`view` needs numbers that lie in order, which they do not after `transpose`: `reshape`.",
    ),
    (NameError, "", "This name has no value yet: misspelt, or defined in a cell that was not run?"),
    (AttributeError, "Module.__init__", "`super().__init__()` must come first in `__init__`."),
    (
        Exception,
        "'?NoneType",
        "A value is None here: an argument that may be None, or a function without `return`?",
    ),
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
    hold = f", and {len(properties)} properties hold" if properties else ""
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
    for number, mistake in enumerate(known.mistakes, start=1):
        label = "Known mistake" if len(known.mistakes) == 1 else f"Known mistake {number}"
        parts += [Sentence(mistake.name, label), Sentence(mistake.observed, "What shows it")]
    parts += [Sentence(words, "And its format") for words in remarks]
    if known.remark:
        parts.append(Sentence(known.remark))
    if known.crashes:
        finding, *details = crashed(task, seen).parts
        parts += [Sentence(finding.text(), "Apart from that"), *details]
    # The last hint holds the code of an answer; who wants that asks for the solution.
    parts += hints(task)[:-1]
    changes = tuple(Sentence(mistake.change, "What to change") for mistake in known.mistakes)
    parts.append(Fold("What to change", changes, in_text=True))
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
    parameters = next((p for _, w, s in rows if (p := _parameters(w, s))), None)
    if parameters:
        finding = "Your module's parameters are not those that the exercise asks for."
        return _wrong(task, finding, parameters, *facts, *hints(task), seen=seen)
    failing = [row for row in rows if not same_behaviour(*row[1:])]
    if any(outcome.line for outcome in seen):
        return crashed(task, seen, facts)
    if words := unsteady(seen):
        return _wrong(task, words, seen=seen)
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
    call = Code("For", as_code(task, case))
    return _wrong(task, finding, *parts, *facts, call, *hints(task), seen=seen)


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
        Sentence(describe(found.expected), f"Wanted{of}"),
        Sentence(f"{describe(found.received)}{_advice(found)}", "Yours"),
    ]


def _place(path: str) -> str:
    """Say in words where in a result something stands: ``['losses'][0]`` is "losses, number 1"."""
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
