"""A test that finds out which outputs of a layer depend on later inputs."""

import math
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from transformer_course import model
from transformer_course.checker.cases import Case, Property, vectors
from transformer_course.checker.exercise import exercise


class _Layer:
    """A layer with a name, which the words of a check show."""

    def __init__(self, name: str, forward: Callable[[Tensor], Tensor]) -> None:
        self.name = name
        self.forward = forward

    def __repr__(self) -> str:
        return f"<{self.name}>"

    def __call__(self, x: Tensor) -> Tensor:
        return self.forward(x)


def _attention(name: str, weigh: Callable[[Tensor, Tensor], Tensor]) -> _Layer:
    """Return self-attention; ``weigh`` makes weights of scores and a causal mask."""

    def forward(x: Tensor) -> Tensor:
        return weigh(x @ x.mT / math.sqrt(x.shape[-1]), model.causal_mask(x.shape[1])) @ x

    return _Layer(name, forward)


def _leak(name: str, *leaks: tuple[int | slice, int, int, int, float]) -> _Layer:
    """Return a running sum with leaks: sentence, output, later input, feature, and how much."""

    def forward(x: Tensor) -> Tensor:
        leaked = torch.zeros_like(x)
        for sentence, query, key, feature, amount in leaks:
            leaked[sentence, query, feature] = amount * x[sentence, key, feature]
        return x.cumsum(dim=1) + leaked

    return _Layer(name, forward)


def _leaking_weakly(x: Tensor) -> Tensor:
    """Return a running sum with a weak leak, which is as strong for a small change as for 1."""
    leaked = torch.zeros_like(x)
    leaked[:, 0, 2] = (77 * x[:, 2, 2]).sin() * 4e-4
    return x.cumsum(dim=1) + leaked


def _centred(x: Tensor) -> Tensor:
    """Return outputs whose features sum to 0, so that gains and losses make up for each other."""
    output = _FREE_ATTENTION(x)
    return output - output.mean(dim=-1, keepdim=True)


def _rounded(x: Tensor) -> Tensor:
    """Return outputs whose last digits depend on all inputs, as those of a faster sum may do.

    The errors are far below 1e-5 however much an input changes, and like rounding they have no
    gradient. All outputs lie between 1 and 2, so that a relative tolerance is as good.
    """
    errors = (77 * x.detach()).sum(dim=1, keepdim=True).sin() * 3e-7
    return 1 + x.cumsum(dim=1).sigmoid() + errors


_CAUSAL_ATTENTION = _attention(
    "attention with a causal mask",
    lambda scores, mask: scores.masked_fill(~mask, -math.inf).softmax(dim=-1),
)
_FREE_ATTENTION = _attention(
    "attention without a mask", lambda scores, mask: scores.softmax(dim=-1)
)
_EVERYWHERE = slice(None)
_LAYERS = (
    _attention(
        "attention with a mask that allows one position too many",
        lambda scores, mask: scores.masked_fill(mask.mT.triu(2), -math.inf).softmax(dim=-1),
    ),
    _attention(
        "attention with 0 in place of future scores",
        lambda scores, mask: (scores * mask).softmax(dim=-1),
    ),
    _attention(
        "attention with the mask after the softmax",
        lambda scores, mask: scores.softmax(dim=-1) * mask,
    ),
    _Layer("attention without a mask, centred: the features of an output sum to 0", _centred),
    _Layer("the vector of the previous position", lambda x: F.pad(x[:, :-1], (0, 0, 1, 0))),
    _Layer("the vector of the next position", lambda x: F.pad(x[:, 1:], (0, 0, 0, 1))),
    _Layer("a causal layer with rounding errors below 1e-6", _rounded),
    _Layer("a running sum plus the mean of the batch", lambda x: x.cumsum(dim=1) + x.mean(dim=0)),
    _leak("a running sum with a leak in feature 0", (_EVERYWHERE, 1, 3, 0, -0.5)),
    _Layer("a running sum with a leak below 0.001 in feature 2", _leaking_weakly),
    _leak(
        "a running sum with a leak in the first sentence and another one in the last",
        (0, 0, 2, 1, 0.5),
        (-1, 1, 3, 1, 0.5),
    ),
)
_MEAN = _Layer("the mean of all positions", lambda x: x.mean(dim=1, keepdim=True).expand_as(x))


def _probed(layer: _Layer, *shape: int) -> Case:
    return Case((layer, vectors(*shape)), written=f"({layer}, x of shape {list(shape)})")


def _probed_with_zeros(layer: _Layer) -> Case:
    """Return a case with padding at the end, whose vector is 0."""
    x = F.pad(vectors(2, 3, 3), (0, 0, 0, 1))
    return Case((layer, x), written=f"({layer}, x of shape [2, 4, 3] with zeros at position 3)")


def _by_derivatives(layer: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
    """Say which outputs depend on later inputs, by the derivatives of all by all."""
    derivatives = torch.autograd.functional.jacobian(lambda x: layer(x).sum(dim=0), x)
    return derivatives.abs().amax(dim=(1, 2, 4)).triu(1) > 0


@exercise(
    reference=_by_derivatives,
    cases=[
        *(_probed(layer, 3, 3, 2) for layer in (_CAUSAL_ATTENTION, _FREE_ATTENTION)),
        _probed_with_zeros(_MEAN),
        *(_probed(layer, 2, 4, 3) for layer in _LAYERS),
    ],
    properties=[
        Property(
            "nothing on the diagonal or below it is True: that is not the future",
            lambda value, case: not value.bool().tril().any(),
        ),
    ],
    hints=[
        "You need not look into the layer. Call it on `x`, change one input, call it again: which "
        "outputs have moved?",
        "Loop over j. Copy `x`, change position j of the copy, and compare the layer's two "
        "outputs. Only the positions before j are of interest: rows i < j of column j.",
        "`changed = x.clone()`, `changed[:, j] += 1`, then "
        "`(layer(changed) - layer(x)).abs().amax(dim=(0, 2)) > 1e-5` says which positions moved.",
    ],
)
def sees_the_future(layer: nn.Module, x: Tensor) -> Tensor:
    """Return where output i (row) changes with a later input j (column), (length, length)."""
    length = x.shape[1]
    sees = torch.zeros(length, length, dtype=torch.bool)
    before = layer(x)
    for j in range(length):
        changed = x.clone()
        changed[:, j] += 1
        moved = (layer(changed) - before).abs().amax(dim=(0, 2)) > 1e-5
        sees[:, j] = moved
    return sees.triu(1)
