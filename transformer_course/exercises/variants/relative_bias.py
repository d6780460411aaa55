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
