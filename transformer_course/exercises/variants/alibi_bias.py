"""ALiBi: what each head takes off the scores of distant keys."""

import torch
from torch import Tensor

from transformer_course.checker.cases import Case, Property
from transformer_course.checker.exercise import exercise


def _itself_loses_nothing(value: Tensor, case: Case) -> bool:
    return bool((value.diagonal(dim1=1, dim2=2) == 0).all() and (value <= 0).all())


@exercise(
    cases=[
        Case((2, 3)),
        Case((4, 4)),
        Case((8, 5)),
        Case((1, 2)),
        Case((16, 6)),
    ],
    properties=[
        Property("a query's own place loses nothing, and none gains", _itself_loses_nothing)
    ],
    hints=[
        "A slope for each head, a distance for each query and key, and a product of the two.",
        "Head number 1 of n has slope `2 ** (-8 / n)`, and each further head the same factor once "
        "more. Distances: `(position - position[:, None]).abs()`.",
        "`slopes = 2 ** (-8 * torch.arange(1, heads + 1) / heads)`; then "
        "`-slopes[:, None, None] * distance`.",
    ],
)
def alibi_bias(heads: int, length: int) -> Tensor:
    """Return minus slope times distance, [heads, query, key]; heads are a power of two."""
    slopes = 2 ** (-8 * torch.arange(1, heads + 1) / heads)
    position = torch.arange(length)
    distance = (position - position[:, None]).abs()
    return -slopes[:, None, None] * distance
