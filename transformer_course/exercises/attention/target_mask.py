"""The mask of a target sentence, which hides padding and future."""

from torch import Tensor

from transformer_course import model
from transformer_course.checker.cases import Property
from transformer_course.checker.exercise import exercise
from transformer_course.exercises import own
from transformer_course.exercises.attention.causal_mask import causal_mask
from transformer_course.exercises.attention.padding_mask import (
    PADDED,
    hides_all_padding,
    padding_mask,
)


@exercise(
    reference=model.target_mask,
    parts={"own.padding_mask": padding_mask, "own.causal_mask": causal_mask},
    cases=PADDED,
    properties=[
        Property("no padding token may be attended to", hides_all_padding),
        Property(
            "no position may attend to a later one",
            lambda value, case: not value.bool().triu(1).any(),
        ),
        Property(
            "a token that is not padding may attend to itself",
            lambda value, case: bool(
                value.bool()[:, 0].diagonal(dim1=1, dim2=2)[case.inputs[0] != case.inputs[1]].all()
            ),
        ),
    ],
    hints=[
        "You have both masks already. A key may be attended to if both of them allow it.",
        "The padding mask has shape (batch, 1, 1, length), the causal one (length, length). They "
        "broadcast to (batch, 1, length, length). Which operator is True where both are?",
        "`padding_mask(ids, pad_id) & causal_mask(ids.shape[1])`",
    ],
)
def target_mask(ids: Tensor, pad_id: int) -> Tensor:
    """Return what both masks allow, shape (batch, 1, length, length)."""
    return own.padding_mask(ids, pad_id) & own.causal_mask(ids.shape[1])
