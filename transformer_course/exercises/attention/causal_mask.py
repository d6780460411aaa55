"""The mask that hides the future."""

import torch
from torch import Tensor

from transformer_course import model
from transformer_course.checker.cases import Case, Property
from transformer_course.checker.exercise import exercise
from transformer_course.exercises.attention.padding_mask import padding_mask


@exercise(
    reference=model.causal_mask,
    cases=[Case((3,)), Case((4,)), Case((7,))],
    properties=[
        Property(
            "a position may attend to itself", lambda value, case: bool(value.diagonal().all())
        ),
        Property(
            "no position may attend to a later one",
            lambda value, case: not value.bool().triu(1).any(),
        ),
        Property(
            "position i may attend to i + 1 positions",
            lambda value, case: torch.equal(
                value.bool().sum(dim=1), torch.arange(1, case.inputs[0] + 1)
            ),
        ),
    ],
    hints=[
        "Draw the square for three positions: a row for each query, a column for each key. Which "
        "places are True?",
        "Row i is True in columns 0 to i. That is a lower triangle, the diagonal included.",
        "`torch.ones(length, length, dtype=torch.bool)` is all True; `.tril()` keeps the lower "
        "triangle.",
    ],
)
def causal_mask(length: int) -> Tensor:
    """Return True where a query (row) may attend to a key (column), shape (length, length)."""
    return torch.ones(length, length, dtype=torch.bool).tril()


causal_mask.shares(
    padding_mask,
    "it holds 0 and -inf, to be added to scores",
    edits=[("return torch", "return torch.where(torch"), (".tril()", ".tril(), 0.0, -torch.inf)")],
)
causal_mask.shares(
    padding_mask,
    "it holds 0 and -1e9, to be added to scores",
    edits=[("return torch", "return torch.where(torch"), (".tril()", ".tril(), 0.0, -1e9)")],
)

# Which positions are the future

causal_mask.mistake(
    "each position may attend to the next one too",
    edits=[("tril()", "tril(1)")],
    observed="Row 0 allows positions 0 and 1: the answer stands there to be copied.",
    change="Write `tril()`; `tril(1)` keeps one diagonal too many.",
)
causal_mask.mistake(
    "a position may not attend to itself",
    edits=[("tril()", "tril(-1)")],
    observed="The diagonal is False, and row 0 has nothing to attend to.",
    change="Write `tril()`, or `>=` for `>`: the diagonal belongs to what may be seen.",
)
causal_mask.mistake(
    "each position sees itself and the future instead of the past",
    edits=[("tril()", "triu()")],
    observed="Row 0 allows every position, the last row only itself: rows are queries, columns "
    "are keys.",
    change="Keep the lower triangle: `tril()`, not `triu()`.",
)
causal_mask.mistake(
    "the future is True and the rest False",
    edits=[("tril()", "triu(1)")],
    observed="You mark what is forbidden: each position may then attend to nothing but its future.",
    change="Turn it round with `~`: True means that one may attend.",
)
causal_mask.mistake(
    "each position may attend to itself only",
    edits=[("ones(length, length, dtype=torch.bool).tril()", "eye(length, dtype=torch.bool)")],
    observed="Only the diagonal is True, so nothing passes from one position to another.",
    change="Let the past in as well: `torch.ones(length, length).bool().tril()`.",
)
causal_mask.mistake(
    "nothing is cut off from the square",
    edits=[(".tril()", "")],
    observed="Row 0 allows every position, the future too.",
    change="Keep the lower triangle: `tril()`.",
)
causal_mask.mistake(
    "it has axes for batch and heads",
    edits=[(".tril()", ".tril()[None, None]")],
    observed="The shape (length, length) is wanted; against scores of more axes it is broadcast.",
    change="Leave out the leading axes.",
)
