"""Where the two modules that add positions are compared, and what holds for both."""

import torch
from torch import Tensor, nn

from transformer_course.checker.cases import Case, Property, gradients, vectors


def _spread(module: nn.Module, x: Tensor) -> dict[str, Tensor]:
    """Call in training mode until each element was dropped and kept; return the extremes.

    They say where the dropout acts and how strong it is, whatever random numbers it draws.
    """
    calls = torch.stack([module(x) for _ in range(64)]).detach()
    return {"smallest": calls.amin(dim=0), "largest": calls.amax(dim=0)}


def _gradient_of_x(module: nn.Module, x: Tensor) -> Tensor:
    return gradients(lambda x: module(x), x)  # without those of the parameters


CASES = [
    Case((vectors(2, 3, 4),), construct=(4, 6, 0.1)),
    Case((vectors(3, 5, 6),), construct=(6, 20, 0.1)),
    Case((vectors(2, 8, 4),), construct=(4, 8, 0.0)),
]
GRADIENT = Case(
    (vectors(2, 3, 4),),
    construct=(4, 6, 0.1),
    observe=_gradient_of_x,
    looks_at="the gradient of x",
)
TRAINING = Case(
    (vectors(2, 4, 4),),
    construct=(4, 6, 0.25),
    observe=_spread,
    looks_at="smallest and largest values of 64 calls in training mode, dropout 0.25",
    training=True,
)


def _order_matters(value: Tensor, case: Case) -> bool:
    added = value - case.inputs[0]
    return not torch.allclose(added[:, 0], added[:, 1])


def _same_for_all_sentences(value: Tensor, case: Case) -> bool:
    added = value - case.inputs[0]
    return torch.allclose(added[0], added[1], atol=1e-5)


PROPERTIES = [
    Property("what is added differs from position to position", _order_matters),
    Property("what is added is the same for every sentence of the batch", _same_for_all_sentences),
]
