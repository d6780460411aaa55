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


token_budget_batches.mistake(
    "nothing is sorted",
    edits=[
        (
            "sorted(range(len(lengths)), key=lambda number: sum(lengths[number]))",
            "range(len(lengths))",
        )
    ],
    observed="Short and long sentences share a batch, and most of it is padding.",
    change="Walk through the pairs in the order of their lengths.",
)
token_budget_batches.mistake(
    "the pairs are sorted by the source's length only",
    edits=[("sum(lengths[number])", "lengths[number][0]")],
    observed="Where all sources have 4 tokens, short and long targets share a batch.",
    change="Sort by both lengths, such as their sum.",
)
token_budget_batches.mistake(
    "the pairs are sorted by the target's length only",
    edits=[("sum(lengths[number])", "lengths[number][1]")],
    observed="Where all targets have 4 tokens, short and long sources share a batch.",
    change="Sort by both lengths, such as their sum.",
)
token_budget_batches.mistake(
    "the budget counts sentences, not tokens",
    edits=[("len(grown) * sum(longest)", "len(grown)")],
    observed="With a budget of 12 there are 12 sentences in a batch, however long they are.",
    change="Compare rows times the longest lengths with the budget.",
)
token_budget_batches.mistake(
    "the budget ignores padding",
    edits=[("len(grown) * sum(longest)", "sum(sum(lengths[each]) for each in grown)")],
    observed="The lengths of a batch are added up, but each row is as wide as the longest: the "
    "rectangles are larger than the budget.",
    change="Count rows times the longest, `len(batch) * (longest source + longest target)`.",
)
token_budget_batches.mistake(
    "the budget counts the target only",
    edits=[("sum(longest)", "longest[1]")],
    observed="Batches with long sources are above the budget.",
    change="Count both rectangles: longest source plus longest target.",
)
token_budget_batches.mistake(
    "the budget counts the source only",
    edits=[("sum(longest)", "longest[0]")],
    observed="Batches with long targets are above the budget.",
    change="Count both rectangles: longest source plus longest target.",
)
token_budget_batches.mistake(
    "the budget counts only the larger rectangle",
    edits=[("sum(longest)", "max(longest)")],
    observed="Batches hold up to twice as many positions as the budget allows.",
    change="Add the longest source and the longest target; do not take the `max` of the two.",
)
token_budget_batches.mistake(
    "one pair, the newest or the longest, stands for the whole batch",
    edits=[("sum(longest)", "sum(lengths[number])")],
    observed="A pair (4, 6) after (5, 5) has the same sum, but together they need rows of 5 + 6: "
    "such batches are above the budget.",
    change="Take the longest source and the longest target of the batch: they may belong to two "
    "pairs.",
)
token_budget_batches.mistake(
    "the first pair of a batch stands for the longest",
    edits=[("sum(longest)", "sum(lengths[grown[0]])")],
    observed="From short to long the first is the shortest: batches are above the budget.",
    change="Take the longest source and the longest target of the whole batch.",
)
token_budget_batches.mistake(
    "every batch has as many rows as the longest pairs allow",
    edits=[("for each in grown", "for each in order")],
    observed="One long sentence of the corpus makes all batches small, those of short sentences "
    "too.",
    change="Use the longest lengths of the batch alone; reset them when a new one begins.",
)
token_budget_batches.mistake(
    "the longest lengths are not reset when a batch begins",
    edits=[("for each in grown", "for each in order[: order.index(number) + 1]")],
    observed="A source or target that was long in an earlier batch makes later batches small.",
    change="When a new batch begins, its longest lengths are those of its first pair.",
)
token_budget_batches.mistake(
    "a new batch forgets its first pair, the shortest",
    edits=[("for each in grown", "for each in grown[len(batches) > 1 :]")],
    observed="Where a batch begins, the longest lengths start at 0 and not at those of its first "
    "pair, which may have the longest source or target: batches are above the budget.",
    change="When a new batch begins, its longest lengths are those of its first pair.",
)
token_budget_batches.mistake(
    "the next pair is not counted as a row",
    edits=[("len(grown)", "(len(grown) - 1)")],
    observed="The lengths are those of the batch with the next pair, but the rows those without "
    "it: batches are above the budget by a row.",
    change="Count the next pair too: `(len(batch) + 1) * (longest source + longest target)`.",
)
token_budget_batches.mistake(
    "all batches have as many rows as the longest pair allows",
    edits=[("sum(longest)", "max(map(sum, lengths))")],
    observed="One long sentence of the corpus makes all batches small, those of short sentences "
    "too.",
    change="Use the longest lengths of the batch alone, so that short sentences share large "
    "batches.",
)
token_budget_batches.mistake(
    "a new batch forgets how long its first pair is",
    edits=[
        ("sum(lengths[number]))", "-sum(lengths[number]))"),
        ("for each in grown", "for each in grown[len(batches) > 1 :]"),
    ],
    observed="From long to short the first pair is the longest. Where a batch begins, the longest "
    "lengths start at 0 and not at those of its first pair: batches are above the budget.",
    change="When a new batch begins, its longest lengths are those of its first pair.",
)
token_budget_batches.mistake(
    "the lengths are multiplied, not added",
    edits=[("sum(longest)", "longest[0] * longest[1]")],
    observed="Rows times source times target: batches of long sentences are far too small.",
    change="A batch is two rectangles: add the longest source and the longest target.",
)
token_budget_batches.mistake(
    "both rectangles are as wide as the larger",
    edits=[("sum(longest)", "2 * max(longest)")],
    observed="Where sources and targets differ in length, batches are too small.",
    change="Each side has its own width: add the longest source and the longest target.",
)
token_budget_batches.mistake(
    "every batch has as many rows as mean lengths allow",
    edits=[("sum(longest)", "sum(map(sum, lengths)) / len(lengths)")],
    observed="Batches of long sentences are above the budget.",
    change="Use the longest lengths of the batch.",
    # Who divides nothing takes no mean.
    unless=r"\A(?=[\s\S])(?![\s\S]*(/|mean))",
)
token_budget_batches.mistake(
    "the budget is looked at too late",
    edits=[
        ("for each in grown", "for each in grown[:-1] or grown"),
        ("len(grown)", "(len(grown) - 1)"),
        ("<=", "<"),
    ],
    observed="A batch is closed once it is full or above the budget, with the pair that was too "
    "much still in it.",
    change="Compute the cost of the batch with the next pair, before you put that in.",
)
token_budget_batches.mistake(
    "a batch is closed only when it is above the budget",
    edits=[
        ("for each in grown", "for each in grown[:-1] or grown"),
        ("len(grown)", "(len(grown) - 1)"),
    ],
    observed="The pair with which a batch exceeds the budget stays in it.",
    change="Compute the cost of the batch with the next pair, before you put that in.",
)
token_budget_batches.mistake(
    "a batch may not be quite full",
    edits=[("<=", "<")],
    observed="Pairs of 6 tokens and a budget of 18: two share a batch, where three fit exactly.",
    change="Compare with `<=`: the budget itself is allowed.",
)
token_budget_batches.mistake(
    "there is no budget",
    edits=[("if batches and len(grown) * sum(longest) <= batch_tokens", "if batches")],
    observed="All pairs are in one batch.",
    change="Begin a new batch when the next pair would bring the newest one above the budget.",
)
token_budget_batches.mistake(
    "every pair has a batch of its own",
    edits=[("if batches and len(grown) * sum(longest) <= batch_tokens", "if False")],
    observed="There is no padding, and nothing is gained from computing sentences together.",
    change="Put the next pair into the newest batch as long as it fits.",
)
token_budget_batches.mistake(
    "only pairs of equal length share a batch",
    edits=[("if batches and", "if batches and lengths[grown[0]] == lengths[number] and")],
    observed="There is no padding, but there are many small batches.",
    change="Let the budget alone decide; sorting keeps the padding small.",
)
token_budget_batches.mistake(
    "the last batch is lost",
    edits=[("return batches", "return batches[:-1]")],
    observed="Some pairs are in no batch: what is not full at the end is never stored.",
    change="Store the last batch too, when the loop is over.",
)
token_budget_batches.mistake(
    "pairs that are too long are left out",
    edits=[
        (
            "for number in order:\n",
            "for number in order:\n"
            "        if sum(lengths[number]) > batch_tokens:\n"
            "            continue\n",
        )
    ],
    observed="Pairs above the budget are in no batch. Leaving them out is a decision about the "
    "data, to be taken and counted elsewhere.",
    change="Give such a pair a batch of its own.",
)
token_budget_batches.mistake(
    "the pair that does not fit is lost",
    edits=[
        ("append([number])", "append([])"),
        ("return batches", "return [batch for batch in batches if batch]"),
    ],
    observed="Each time a batch is full, one pair disappears: the new batch begins without it.",
    change="Begin the new batch with it: `[number]`, not `[]`.",
)
token_budget_batches.mistake(
    "the pair that does not fit is in two batches",
    edits=[("else:\n", "else:\n            if batches:\n                batches[-1] = grown\n")],
    observed="Each time a batch is full, one pair is in it and in the next one too.",
    change="Either put a pair into the newest batch, or begin a new one with it.",
)
token_budget_batches.mistake(
    "there is an empty batch",
    edits=[("batches = []", "batches = [[]]")],
    observed="A pair that is too long comes first and finds an empty batch in which it does not "
    "fit.",
    change="Begin without any batch, or store a batch only if it holds something.",
)
token_budget_batches.mistake(
    "there is an empty batch before the longest pairs",
    edits=[
        ("sum(lengths[number]))", "-sum(lengths[number]))"),
        ("batches = []", "batches = [[]]"),
    ],
    observed="From long to short, a pair that is too long comes first and finds an empty batch in "
    "which it does not fit.",
    change="Begin without any batch, or store a batch only if it holds something.",
)
token_budget_batches.mistake(
    "all batches are the same list",
    edits=[("return batches", "return [batches[-1] for _ in batches]")],
    observed="Every batch holds what the last one holds: one list was stored again and again, and "
    "emptied or filled afterwards.",
    change="Begin each batch with a new list, `batch = []`, instead of `batch.clear()`.",
)
token_budget_batches.mistake(
    "pairs of equal lengths get the same number",
    edits=[
        (
            "return batches",
            "return [[lengths.index(lengths[number]) for number in b] for b in batches]",
        )
    ],
    observed="`lengths.index(...)` finds the first pair of these lengths, each time.",
    change="Sort the numbers themselves: `sorted(range(len(lengths)), key=...)`.",
)
token_budget_batches.mistake(
    "the numbers are counted from 1",
    edits=[("return batches", "return [[number + 1 for number in batch] for batch in batches]")],
    observed="Pair 0 is in no batch, and the last number belongs to no pair.",
    change="Count the pairs from 0.",
)
token_budget_batches.mistake(
    "places in the sorted list are returned",
    edits=[
        (
            "return batches",
            "return [[order.index(number) for number in batch] for batch in batches]",
        )
    ],
    observed="The batches hold 0, 1, 2 and so on: numbers of the sorted list, which belong to "
    "other pairs in `lengths`.",
    change="Sort the numbers themselves: `sorted(range(len(lengths)), key=...)`.",
)
token_budget_batches.mistake(
    "lengths are returned instead of numbers",
    edits=[
        ("return batches", "return [[lengths[number] for number in batch] for batch in batches]")
    ],
    observed="The batches hold the pairs of lengths; which sentences they belong to is lost.",
    change="Collect the numbers of the pairs: `sorted(range(len(lengths)), key=...)`.",
)
token_budget_batches.mistake(
    "the pair that does not fit is lost, and leaves an empty batch",
    edits=[
        ("batches = []", "batches = [[]]"),
        ("append([number])", "append([])"),
        ("return batches", "return batches if batches[-1] else batches[:-1]"),
    ],
    observed="Each time a batch is full, one pair disappears: the new batch begins without it, and "
    "before a pair that is too long there is nothing in it.",
    change="Begin the new batch with it: `[number]`, not `[]`.",
)
