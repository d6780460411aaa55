"""The mean loss of the real tokens."""

import torch
from torch import Tensor

from transformer_course.checker.cases import Case, gradients
from transformer_course.checker.exercise import exercise
from transformer_course.translation.training import loss

_LOSS = torch.tensor([[1.0, 1.0, 1.0, 1.0], [5.0, 70.0, 30.0, 20.0]])
_REAL = torch.tensor([[True, True, True, True], [True, False, False, False]])


@exercise(
    reference=loss.masked_mean,
    cases=[
        Case((_LOSS, _REAL)),
        Case((torch.arange(6.0).reshape(2, 3), torch.tensor([[1, 0, 0], [1, 1, 0]]).bool())),
        Case((_LOSS[:1], _REAL[:1])),
        Case((torch.arange(15.0).reshape(3, 5).sqrt(), torch.arange(15).reshape(3, 5) % 4 < 3)),
        Case((_LOSS, _REAL), observe=gradients, looks_at="the gradients of the losses"),
        # As `smoothed_cross_entropy` calls it.
        Case((torch.tensor([1.0, 4.0, 1.0, 70.0]), torch.tensor([True, True, True, False]))),
    ],
    hints=[
        "A mean is a sum divided by a count. Which tokens belong in the sum, and how many of them "
        "are there?",
        "Where the mask is False a loss must count as 0, and the count must leave it out too.",
        "`loss[mask].mean()` does both.",
    ],
)
def masked_mean(loss: Tensor, mask: Tensor) -> Tensor:
    """Return the mean of the losses where the mask is True, a tensor without axes."""
    return loss[mask].mean()


# What mistakes in masked_mean.toml are made with.


def _plain_number(loss: Tensor, mask: Tensor) -> float:
    return (loss * mask).sum().item() / mask.sum().item()


def _subtracted(loss: Tensor, mask: Tensor) -> Tensor:
    return (loss * (1 - mask)).sum() / (1 - mask).sum()
