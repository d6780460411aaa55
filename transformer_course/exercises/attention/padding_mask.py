"""The mask that hides padding."""

import torch
from torch import Tensor

from transformer_course import model
from transformer_course.checker.cases import Case, Property
from transformer_course.checker.exercise import exercise

PADDED = [
    Case((torch.tensor([[5, 7, 0]]), 0)),
    Case((torch.tensor([[5, 7, 4, 6], [8, 4, 0, 0], [6, 0, 0, 0]]), 0)),
    Case((torch.tensor([[0, 4, 2, 3, 3], [5, 0, 1, 6, 3]]), 3)),
    Case((torch.tensor([[1, 1, 6, 0], [7, 5, 4, 8]]), 1)),
    Case((torch.tensor([[4, 5, 6], [6, 4, 0], [5, 0, 0]]), 0)),
]


def hides_all_padding(value: Tensor, case: Case) -> bool:
    """Whether no mask of the batch lets anybody attend to padding."""
    ids, pad_id = case.inputs
    padding = (ids == pad_id)[:, None, None, :]
    return not (value.bool() & padding).any()


@exercise(
    reference=model.padding_mask,
    cases=PADDED,
    properties=[
        Property("no padding token may be attended to", hides_all_padding),
        Property(
            "every other token may be attended to",
            lambda value, case: bool(
                value.bool()[(case.inputs[0] != case.inputs[1])[:, None, None, :]].all()
            ),
        ),
    ],
    hints=[
        "Which comparison of `ids` with `pad_id` is True for the tokens that may be attended to?",
        "`ids != pad_id` has shape (batch, key). The scores have shape (batch, heads, query, key): "
        "where do two new axes go?",
        "`(ids != pad_id)[:, None, None, :]`",
    ],
)
def padding_mask(ids: Tensor, pad_id: int) -> Tensor:
    """Return True for each token that is not padding, shape (batch, 1, 1, key)."""
    return (ids != pad_id)[:, None, None, :]
