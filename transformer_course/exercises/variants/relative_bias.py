"""The bias of each query and key, looked up by their distance."""

import torch
from torch import Tensor

from transformer_course.checker.cases import Case, Property, gradients, vectors
from transformer_course.checker.exercise import exercise


def _only_distance_counts(value: Tensor, case: Case) -> bool:
    return torch.equal(value[:, 1:, 1:], value[:, :-1, :-1])


@exercise(
    cases=[
        Case((vectors(5, 2), 3)),
        Case((vectors(5, 3), 6)),
        Case((vectors(3, 4), 4)),
        Case((vectors(9, 2), 1)),
        Case((vectors(7, 2), 5), observe=gradients, looks_at="the gradient of `table`"),
    ],
    properties=[
        Property(
            "it depends on the distance alone: diagonals hold one number", _only_distance_counts
        )
    ],
    hints=[
        "Three steps: how far each key lies from each query, which row of the table that is, and "
        "what the table holds there. Broadcasting gives all pairs of positions at once.",
        "`position - position[:, None]` is key minus query. Distances beyond the limit count as "
        "the limit, and row 0 belongs to minus the limit. `table[rows]` looks all rows up.",
        "`row = offset.clamp(-limit, limit) + limit` with `limit = len(table) // 2`; "
        "`table[row]` has the heads last, so `permute(2, 0, 1)`.",
    ],
)
def relative_bias(table: Tensor, length: int) -> Tensor:
    """Return the bias [heads, query, key] from a table [2 * limit + 1, heads]."""
    limit = len(table) // 2
    position = torch.arange(length)
    offset = position - position[:, None]
    row = offset.clamp(-limit, limit) + limit
    return table[row].permute(2, 0, 1)


relative_bias.mistake(
    "the distance is counted from the key, not from the query",
    edits=[("position - position[:, None]", "position[:, None] - position")],
    observed="What belongs to the key after the query stands at the key before it: your matrices "
    "are the transposed ones.",
    change="Take key minus query, with the keys across: `position - position[:, None]`. If you do "
    "already, look at the axes: `permute(2, 0, 1)` leaves query and key in their order, which "
    "`permute(2, 1, 0)` and `.T` do not.",
)
relative_bias.mistake(
    "large distances are not cut off",
    edits=[("offset.clamp(-limit, limit)", "offset")],
    observed="All is right as long as no distance exceeds the limit; then there is no row for it.",
    change="Cut first: `offset.clamp(-limit, limit)`.",
)
relative_bias.mistake(
    "only keys after the query are cut off at the limit",
    edits=[("clamp(-limit, limit)", "clamp(max=limit)")],
    observed="A key far before the query gets a negative row, which counts from the table's end.",
    change="Cut at both sides: `offset.clamp(-limit, limit)`.",
)
relative_bias.mistake(
    "the rows do not begin at minus the limit",
    edits=[("limit) + limit", "limit)")],
    observed="Distance 0 gets row 0, which belongs to minus the limit; negative rows count from "
    "the table's end.",
    change="Add the limit, so that the smallest distance gets row 0.",
)
relative_bias.mistake(
    "the heads stay on the last axis",
    edits=[(".permute(2, 0, 1)", "")],
    observed="Your result has shape [query, key, heads].",
    change="Bring the heads to the front: `.permute(2, 0, 1)`.",
)
relative_bias.mistake(
    "the heads are brought to the front by reshape, which mixes the numbers up",
    edits=[("permute(2, 0, 1)", "reshape(-1, length, length)")],
    observed="The shape is right, but numbers of different heads stand in one matrix.",
    change="Move the axis: `.permute(2, 0, 1)`.",
)
relative_bias.mistake(
    "before and after count the same",
    edits=[("offset.clamp", "offset.abs().clamp")],
    observed="Your matrices are symmetric: the half of the table for keys before the query is "
    "never used.",
    change="Keep the sign of the distance.",
)
relative_bias.mistake(
    "keys before the query all count as distance 0",
    edits=[("clamp(-limit, limit)", "clamp(0, limit)")],
    observed="The half of the table for keys before the query is never used.",
    change="Cut at minus the limit: `offset.clamp(-limit, limit)`.",
)
relative_bias.mistake(
    "the limit is taken as the number of rows",
    edits=[("len(table) // 2", "len(table)")],
    observed="Distance 0 gets a row behind the table's end.",
    change="A table for a limit has 2 * limit + 1 rows: `limit = len(table) // 2`.",
)
relative_bias.mistake(
    "the limit is one too large",
    edits=[("len(table) // 2", "len(table) // 2 + 1")],
    observed="Each distance gets the row of the next one.",
    change="`limit = len(table) // 2`: one row is for distance 0.",
)
relative_bias.mistake(
    "the limit is one too small",
    edits=[("len(table) // 2", "len(table) // 2 - 1")],
    observed="Each distance gets the row of the one before, and the last row is never used.",
    change="`limit = len(table) // 2`: one row is for distance 0.",
)
relative_bias.mistake(
    "large distances wrap around instead of stopping at the limit",
    edits=[("offset.clamp(-limit, limit) + limit", "(offset + limit) % len(table)")],
    observed="A key just beyond the limit gets what belongs to the other end of the table.",
    change="Cut: `offset.clamp(-limit, limit)`.",
)
relative_bias.mistake(
    "the key's position is looked up, not its distance",
    edits=[("position - position[:, None]", "position + 0 * position[:, None]")],
    observed="All rows of a matrix are the same: where the query stands has no influence.",
    change="Subtract the query's position: `position - position[:, None]`.",
)
relative_bias.mistake(
    "no gradient reaches the table",
    edits=[("table[row]", "table.detach()[row]")],
    observed="The numbers are right, but the table would never be trained.",
    change="Leave out `torch.no_grad()`, `.detach()`, `.data` and `.item()`.",
)
relative_bias.mistake(
    "distances beyond the limit get no bias",
    edits=[("table[row]", "(table[row] * (offset.abs() <= limit)[..., None])")],
    observed="All is right as long as no distance exceeds the limit; then there are zeros.",
    change="Far keys share the row of the limit: `offset.clamp(-limit, limit)`.",
)
relative_bias.mistake(
    "the limit is 2, whatever the table",
    edits=[("len(table) // 2", "2")],
    observed="A table with 5 rows is right, others are not: distance 0 always gets row 2.",
    change="The limit follows from the number of rows: `limit = len(table) // 2`.",
)
relative_bias.mistake(
    "keys after the query are cut off one short of the limit",
    edits=[("clamp(-limit, limit)", "clamp(-limit, limit - 1)")],
    observed="The last row of the table is never used.",
    change="`clamp` includes both ends: `offset.clamp(-limit, limit)`.",
)
relative_bias.mistake(
    "both sides are cut off one short of the limit",
    edits=[("clamp(-limit, limit)", "clamp(1 - limit, limit - 1)")],
    observed="The first and the last row of the table are never used.",
    change="`clamp` includes both ends: `offset.clamp(-limit, limit)`.",
)
relative_bias.mistake(
    "a softmax is applied",
    edits=[(".permute(2, 0, 1)", ".permute(2, 0, 1).softmax(dim=-1)")],
    observed="Each row of your matrices sums to 1.",
    change="Return the numbers of the table: they are added to the scores before the softmax.",
)
relative_bias.mistake(
    "keys after the query all count as distance 0",
    edits=[("clamp(-limit, limit)", "clamp(-limit, 0)")],
    observed="The half of the table for keys after the query is never used. T5's decoder does "
    "this, as it never looks ahead.",
    change="Cut at both limits: `offset.clamp(-limit, limit)`.",
)
relative_bias.mistake(
    "the rows are those of T5's buckets",
    edits=[
        ("offset.clamp(-limit, limit)", "offset.abs().clamp(max=limit)"),
        ("limit) + limit", "limit) + limit * (offset > 0)"),
    ],
    observed="Distance 0 gets row 0, keys before the query get the rows up to the limit, and keys "
    "after it the rest.",
    change="Row 0 belongs to minus the limit: `offset.clamp(-limit, limit) + limit`.",
)
relative_bias.mistake(
    "the axes are permuted the other way round",
    edits=[("permute(2, 0, 1)", "permute(1, 2, 0)")],
    observed="Your result has shape [key, heads, query].",
    change="`permute` takes the old axes in their new order: `.permute(2, 0, 1)` puts the last one "
    "first.",
)
relative_bias.mistake(
    "it is cut off after the limit has been added",
    edits=[("offset.clamp(-limit, limit) + limit", "(offset + limit).clamp(-limit, limit)")],
    observed="Distance 0 is right, but every key after the query gets the row of distance 0: with "
    "the limit added, rows run from 0 to twice the limit.",
    change="Cut first, then add: `offset.clamp(-limit, limit) + limit`.",
)
relative_bias.mistake(
    "the limit is a fraction",
    edits=[("// 2", "/ 2")],
    observed="`5 / 2` is 2.5 in Python, and even `4 / 2` is 2.0: a row's number must be whole.",
    change="Divide with `//`: `limit = len(table) // 2`.",
)
relative_bias.mistake(
    "distances beyond the limit count as 0",
    edits=[("offset.clamp(-limit, limit)", "(offset * (offset.abs() <= limit))")],
    observed="All is right as long as no distance exceeds the limit; then far keys get what "
    "belongs to the query's own place.",
    change="Far keys share the row of the limit: `offset.clamp(-limit, limit)`.",
)
relative_bias.mistake(
    "keys after the query are masked",
    edits=[
        (
            ".permute(2, 0, 1)",
            ".permute(2, 0, 1) + torch.full((length, length), -torch.inf).triu(1)",
        )
    ],
    observed="Above the diagonal there is minus infinity, if there is more than one token.",
    change="Return the bias alone: the causal mask, where one is needed, comes from elsewhere.",
)
relative_bias.mistake(
    "the limit is computed from the length",
    edits=[("len(table) // 2", "length - 1")],
    observed="Right where the table happens to have 2 * length - 1 rows; else distance 0 gets "
    "another row than the middle one, or there is none for it.",
    change="The limit follows from the number of rows: `limit = len(table) // 2`.",
)
relative_bias.mistake(
    "the table is reshaped to have the heads first, which mixes the numbers up",
    edits=[("table[row]", "table.view(-1, len(table)).T[row]")],
    observed="The shape is right, but a head's numbers come from several columns of the table.",
    change="Look rows up in the table as it is, then move the axis: `.permute(2, 0, 1)`.",
)
relative_bias.mistake(
    "the rows' numbers are returned, and nothing is looked up",
    edits=[("table[row]", "row"), (".permute(2, 0, 1)", "")],
    observed="Your result holds whole numbers, whatever the table holds.",
    change="Look the rows up: `table[row]`.",
)
relative_bias.mistake(
    "there is one matrix for all heads",
    edits=[
        ("table[row]", "table.sum(dim=-1, keepdim=True)[row]"),
        (".permute(2, 0, 1)", "[..., 0]"),
    ],
    observed="Your result has shape [query, key]: the numbers of all heads are added up.",
    change="Keep an axis for the heads, and bring it to the front: `table[row].permute(2, 0, 1)`.",
)
