"""Cut vectors into heads."""

import torch
from torch import Tensor

from transformer_course import model
from transformer_course.checker.cases import Case, Property
from transformer_course.checker.exercise import exercise
from transformer_course.exercises.multi_head_attention.inputs import numbered


@exercise(
    reference=model.split_heads,
    cases=[
        Case((numbered(1, 3, 4), 2)),
        Case((numbered(2, 5, 8), 4)),
        Case((numbered(3, 5, 12).double(), 2)),
        Case((numbered(2, 4, 12), 4)),
        Case((numbered(2, 3, 5), 1)),
    ],
    properties=[
        Property(
            "no number is lost and none is added",
            lambda value, case: torch.equal(
                value.flatten().sort().values, case.inputs[0].flatten()
            ),
        ),
        Property(
            "head 0 holds the first d_k numbers of each vector",
            lambda value, case: torch.equal(
                value[:, 0], case.inputs[0][..., : case.inputs[0].shape[-1] // case.inputs[1]]
            ),
        ),
        Property(
            "no head mixes the positions: position 0 holds numbers of position 0 only",
            lambda value, case: all(
                torch.isin(mine, x[0]).all()
                for mine, x in zip(value[:, :, 0], case.inputs[0], strict=True)
            ),
        ),
    ],
    hints=[
        "Two steps: first cut the last axis into (heads, d_k), then bring the axes into the order "
        "(batch, heads, length, d_k). Which of the two changes the order of the numbers?",
        "`x.view(batch, length, heads, d_k)` cuts each vector and leaves all else in place. Only "
        "`transpose` may move the heads past the length.",
        "`x.view(batch, length, heads, d_model // heads).transpose(1, 2)`",
    ],
)
def split_heads(x: Tensor, heads: int) -> Tensor:
    """Cut each vector into pieces: (batch, length, d_model) to (batch, heads, length, d_k)."""
    batch, length, d_model = x.shape
    return x.view(batch, length, heads, d_model // heads).transpose(1, 2)
