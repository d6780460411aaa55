"""The mask that hides the future."""

import torch
from torch import Tensor

from transformer_course import model
from transformer_course.checker.cases import Case, Property
from transformer_course.checker.exercise import exercise
from transformer_course.exercises.attention.padding_mask import padding_mask


@exercise(
    reference=model.causal_mask,
    cases=[Case((3,)), Case((4,)), Case((7,)), Case((70,))],
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
    observed="Row 0 allows positions 0 and 1: the answer is there to be copied.",
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
    change='Turn it round with `~`: True means "may attend".',
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
    "each position sees itself and the one before it only",
    edits=[(".tril()", ".tril().triu(-1)")],
    observed="Two diagonals are True, so row 2 and those below lack the positions further back.",
    change="The whole past may be seen: keep the full lower triangle, `tril()`.",
)
causal_mask.mistake(
    "the last row is empty: a loop ends one early",
    edits=[(".tril()", ".tril().index_fill(0, torch.tensor(length - 1), False)")],
    observed="The last query may attend to nothing.",
    change="Go through all rows: `range(length)`, not `range(length - 1)`.",
)
causal_mask.mistake(
    "the first row is empty: a loop begins one late",
    edits=[(".tril()", ".tril().index_fill(0, torch.tensor(0), False)")],
    observed="Query 0 may attend to nothing; it may see itself.",
    change="Go through all rows, from 0 on: `range(length)`.",
)
causal_mask.mistake(
    "position 0 is hidden from all",
    edits=[(".tril()", ".tril().index_fill(1, torch.tensor(0), False)")],
    observed="Column 0 is False, and row 0 has nothing to attend to.",
    change="Columns are counted from 0: row i is True in the columns 0 to i.",
)
causal_mask.mistake(
    "the triangle leans to the other side",
    edits=[(".tril()", ".tril().flip(1)")],
    observed="Row 0 allows the last position only: the columns are in reverse order.",
    change="Row i is True in the columns 0 to i: `tril()`, without `flip` or `rot90`.",
)
causal_mask.mistake(
    "it is one row and one column too large",
    edits=[("ones(length, length", "ones(length + 1, length + 1")],
    observed="For `length` 3 your mask has shape (4, 4).",
    change="Positions are counted from 0: `length` rows and `length` columns.",
)
causal_mask.mistake(
    "it is one row and one column too small",
    edits=[("ones(length, length", "ones(length - 1, length - 1")],
    observed="For `length` 3 your mask has shape (2, 2).",
    change="Make `length` rows and `length` columns.",
)
causal_mask.mistake(
    "it never has more than 64 rows and columns",
    edits=[("ones(length, length", "ones(min(length, 64), min(length, 64)")],
    observed="For `length` 70 your mask has shape (64, 64).",
    change="Make it as large as it is asked for: `torch.ones(length, length, dtype=torch.bool)`.",
)
causal_mask.mistake(
    "it never has more than 50 rows and columns",
    edits=[("ones(length, length", "ones(min(length, 50), min(length, 50)")],
    observed="For `length` 70 your mask has shape (50, 50).",
    change="Make it as large as it is asked for: `torch.ones(length, length, dtype=torch.bool)`.",
)
causal_mask.mistake(
    "the last row is missing",
    edits=[(".tril()", ".tril()[:-1]")],
    observed="For `length` 3 your mask has shape (2, 3).",
    change="Make a row for each position, from 0 on: `range(length)`.",
)
