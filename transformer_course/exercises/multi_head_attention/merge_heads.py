"""Join the heads again."""

import torch
from torch import Tensor

from transformer_course import model
from transformer_course.checker.cases import Case, Property
from transformer_course.checker.exercise import exercise
from transformer_course.exercises.multi_head_attention.inputs import numbered


@exercise(
    reference=model.merge_heads,
    cases=[
        Case((numbered(1, 2, 3, 2),)),
        Case((numbered(2, 4, 3, 2),)),
        Case((numbered(3, 2, 5, 4).double(),)),
        Case((numbered(2, 1, 3, 5),)),
    ],
    properties=[
        Property(
            "no number is lost and none is added",
            lambda value, case: torch.equal(
                value.flatten().sort().values, case.inputs[0].flatten()
            ),
        ),
        Property(
            "the first d_k numbers of each vector come from head 0",
            lambda value, case: torch.equal(
                value[..., : case.inputs[0].shape[-1]], case.inputs[0][:, 0]
            ),
        ),
        Property(
            "it undoes `split_heads`",
            lambda value, case: torch.equal(
                model.split_heads(value, case.inputs[0].shape[1]), case.inputs[0]
            ),
        ),
    ],
    hints=[
        "Undo the two steps of `split_heads`, the last one first.",
        "First bring the axes back into the order (batch, length, heads, d_k), then join the last "
        "two.",
        "`x.transpose(1, 2).flatten(2)`, or `.reshape(batch, length, -1)` in place of `.flatten`. "
        "`view` refuses: after a transpose the numbers no longer lie in the order of the axes.",
    ],
)
def merge_heads(x: Tensor) -> Tensor:
    """Join the heads' pieces: (batch, heads, length, d_k) to (batch, length, d_model)."""
    pieces = x.transpose(1, 2)  # (batch, length, heads, d_k)
    return pieces.flatten(2)
