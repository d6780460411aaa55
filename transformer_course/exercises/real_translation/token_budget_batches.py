"""Batches of sentence pairs of similar length, as large as a budget of tokens allows."""

from collections import Counter
from collections.abc import Callable, Sequence

from torch import Tensor

from transformer_course.checker.cases import Case, Property
from transformer_course.checker.comparison import describe
from transformer_course.checker.exercise import exercise

Lengths = list[tuple[int, int]]
Batches = list[list[int]]

_FAULTLESS = "nothing is wrong"
_ABOVE = "a batch is above the budget"
_MANY = "there are too many batches"
_PADDED = "there is too much padding"


def _positions(batch: Sequence[int], lengths: Lengths) -> int:
    """Count the positions of both rectangles of a batch, padding included."""
    return len(batch) * sum(max(lengths[number][side] for number in batch) for side in (0, 1))


def _padding(batches: Batches, lengths: Lengths) -> float:
    """Share of all positions that are padding."""
    positions = sum(_positions(batch, lengths) for batch in batches)
    words = sum(sum(lengths[number]) for batch in batches for number in batch)
    return 1 - words / positions if positions else 0.0


def _examined(code: Callable, lengths: Lengths, batch_tokens: int) -> object:
    """Say what is wrong with batches; there are many right ways to form them.

    A quarter more batches than the reference has and a tenth more padding are allowed.
    """
    batches = code(lengths, batch_tokens)
    if batches is ...:
        return batches
    batches = _as_lists(batches)
    numbers = range(len(lengths))
    seen = Counter(number for batch in batches for number in batch)
    known = [[number for number in batch if number in numbers] for batch in batches]
    known = [batch for batch in known if batch]
    wanted = token_budget_batches.task.reference(lengths, batch_tokens)
    too_large = [b for b in known if len(b) > 1 and _positions(b, lengths) > batch_tokens]
    faults = {
        "a pair is in no batch": any(number not in seen for number in numbers),
        "a pair is in two batches": any(count > 1 for count in seen.values()),
        "a number belongs to no pair": any(number not in numbers for number in seen),
        "a batch is empty": not all(batches),
        _ABOVE: bool(too_large),
        "all pairs are in one batch": len(known) == 1 < len(wanted),
    }
    if not too_large:  # else their number and padding depend on the order
        faults[_MANY] = len(known) > len(wanted) + len(wanted) // 4
        faults[_PADDED] = _padding(known, lengths) > _padding(wanted, lengths) + 0.1
    return ", ".join(fault for fault, found in faults.items() if found) or _FAULTLESS


def _as_lists(batches: object) -> list[list]:
    if not isinstance(batches, list | tuple):
        raise TypeError(f"a list of batches is wanted; got {describe(batches)}")
    for batch in batches:
        if not isinstance(batch, list | tuple | Tensor):
            raise TypeError(f"each batch should be a list of numbers; got {describe(batch)}")
    return [b.tolist() if isinstance(b, Tensor) else [*b] for b in batches]


def _many_pairs() -> Lengths:
    """Return lengths as in a corpus: many short pairs, few long ones, target near source."""
    sources = [3 + (7 * number) % 11 + 4 * (number % 5 == 0) for number in range(30)]
    return [(source, source + number % 4) for number, source in enumerate(sources)]


_SHUFFLED = [5, 11, 2, 8, 1, 12, 4, 10, 7, 3, 9, 6]


@exercise(
    cases=[
        Case(([(3, 3)] * 6, 18), observe=_examined),
        Case(([(2, 2)] * 3, 50), observe=_examined),
        Case(([(1, 1)] * 30, 12), observe=_examined),
        Case(([(1, 9)] * 8, 40), observe=_examined),
        Case(([(9, 1)] * 8, 40), observe=_examined),
        Case(([(source, 4) for source in _SHUFFLED], 40), observe=_examined),
        Case(([(4, target) for target in _SHUFFLED], 40), observe=_examined),
        Case(([(1, 1), (9, 9), (1, 1), (9, 9)], 19), observe=_examined),
        Case(([(6, 4), (6, 4), (5, 5), (4, 6), (4, 6)], 20), observe=_examined),
        Case(([(6, 4), (5, 5)], 20), observe=_examined),
        Case(([(12, 1)] * 9 + [(2, 13)] * 12, 45), observe=_examined),
        Case((_many_pairs(), 120), observe=_examined),
        Case(([(3, 3), (30, 28), (4, 3), (3, 4), (25, 31)], 24), observe=_examined),
        Case(([(40, 50)], 24), observe=_examined),
    ],
    properties=[
        Property(
            "each pair is in exactly one batch",
            lambda value, case: "a pair" not in value and "no pair" not in value,
        ),
        Property(
            "no batch is above the budget, but for a single pair",
            lambda value, case: _ABOVE not in value,
        ),
        Property(
            "there are few batches",
            lambda value, case: _MANY not in value,
        ),
        Property(
            "there is little padding",
            lambda value, case: _PADDED not in value,
        ),
    ],
    hints=[
        "Sort the numbers of the pairs by length first. Then neighbours are alike, and one walk "
        "through them is enough: does the next pair still fit into the newest batch?",
        "A batch costs two rectangles: its number of rows times (its longest source plus its "
        "longest target). Compute that for the newest batch *with* the next pair in it.",
        "`order = sorted(range(len(lengths)), key=lambda number: sum(lengths[number]))`; for each "
        "number `grown = [*batches[-1], number]`, and if `len(grown) * sum(longest) > "
        "batch_tokens`, begin a new batch `[number]` instead. So a pair that is too long gets one "
        "of its own by itself.",
    ],
)
def token_budget_batches(lengths: list[tuple[int, int]], batch_tokens: int) -> list[list[int]]:
    """Return the numbers of the sentence pairs of each batch."""
    order = sorted(range(len(lengths)), key=lambda number: sum(lengths[number]))
    batches = []
    for number in order:
        grown = [*batches[-1], number] if batches else [number]
        longest = [max(lengths[each][side] for each in grown) for side in (0, 1)]
        if batches and len(grown) * sum(longest) <= batch_tokens:
            batches[-1] = grown
        else:
            batches.append([number])
    return batches
