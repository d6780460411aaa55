"""The loss at each position of the target, which gives a leak away."""

import math
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

from transformer_course.checker.cases import Case, Property
from transformer_course.checker.exercise import exercise
from transformer_course.exercises.when_it_does_not_work.systems import (
    EOS,
    VOCAB,
    System,
    at,
    batch_of,
    causal,
    fed_past_the_end,
    judged,
    one_hot,
)


def _next_word(target_in: Tensor) -> Tensor:
    """Return scores for the token after each one that is fed in; after the last there is none."""
    return 5 * one_hot(F.pad(target_in[:, 1:], (0, 1)))


def _uniform(source: Tensor, target_in: Tensor) -> Tensor:
    return torch.zeros(*target_in.shape, VOCAB)


def _always(token: int, how_sure: float) -> Callable[[Tensor, Tensor], Tensor]:
    """Return scores that expect the same token everywhere."""
    return lambda source, target_in: how_sure * one_hot(torch.full_like(target_in, token))


_CAUSAL = System("a causal system", causal)
_UNIFORM = System("a system to which all words are equally likely", _uniform)
_SYSTEMS = (
    _CAUSAL,
    _UNIFORM,
    System(
        "a system that sees the next token",
        lambda source, target_in: causal(source, target_in) + _next_word(target_in),
    ),
    System(
        "a system that sees the next token at position 1 alone",
        lambda source, target_in: (
            causal(source, target_in) + at(1, target_in.shape[1]) * _next_word(target_in)
        ),
    ),
    System("a system that expects padding everywhere", _always(0, 5.0)),
    System("a system that is far too sure of the end", _always(EOS, 200.0)),
)
_EQUALLY_LONG = batch_of([([5, 4], [7, 4]), ([6, 8], [4, 8])])
_PAIRS = [
    ([4, 6], [5, 7, 5, 8]),
    ([7], [6, 3]),
    ([8, 5, 6], [4]),
    ([3, 3], [8, 8, 6]),
    ([5, 8], [7, 6]),
    ([6], [3, 7]),
]
_SWAPPED = {0: 3, 3: 0}
_PADDED_WITH_3 = batch_of(
    [
        tuple([_SWAPPED.get(word, word) for word in sentence] for sentence in pair)
        for pair in _PAIRS
    ],
    pad=3,
)


def _knows_nothing(value: Tensor, case: Case) -> bool:
    nothing = torch.full_like(value, math.log(VOCAB))
    return case.inputs[0].name != _UNIFORM.name or torch.allclose(value, nothing, atol=1e-3)


@exercise(
    cases=[
        judged(_CAUSAL, _EQUALLY_LONG),
        *(judged(system, batch_of(_PAIRS)) for system in _SYSTEMS),
        judged(_CAUSAL, _PADDED_WITH_3, pad=3),
        judged(_CAUSAL, fed_past_the_end(batch_of(_PAIRS))),
    ],
    properties=[
        Property("no loss is below 0", lambda value, case: bool((value >= 0).all())),
        Property(
            "where all words are equally likely, the loss is ln(vocab) everywhere", _knows_nothing
        ),
    ],
    hints=[
        "A loss for each token first, then a mean over the sentences. Which tokens must not count, "
        "neither in the sum nor in what you divide by?",
        '`F.cross_entropy(..., reduction="none")` gives a loss for each token. It wants the words '
        "of the logits on axis 1, and `logits` has them on axis 2.",
        'With `losses = F.cross_entropy(logits.transpose(1, 2), target_out, reduction="none")` and '
        "`real = target_out != pad`, the result is `(losses * real).sum(dim=0) / "
        "real.sum(dim=0)`.",
    ],
)
def loss_by_position(scores: Callable, batch: tuple, pad: int) -> Tensor:
    """Return the mean cross-entropy at each position of the target, padding left out."""
    source, target_in, target_out = batch
    logits = scores(source, target_in)
    losses = F.cross_entropy(logits.transpose(1, 2), target_out, reduction="none")
    real = target_out != pad
    return (losses * real).sum(dim=0) / real.sum(dim=0)
