"""How far padding of the source moves the logits, which it should leave alone."""

from collections.abc import Callable
from functools import partial

import torch.nn.functional as F
from torch import Tensor

from transformer_course.checker.cases import Property, vectors
from transformer_course.checker.exercise import exercise
from transformer_course.exercises.when_it_does_not_work.systems import (
    BOS,
    EOS,
    VOCAB,
    System,
    at,
    batch_of,
    fed_past_the_end,
    judged,
    one_hot,
)

_WORDS = vectors(VOCAB, VOCAB).double()


def _reading(source: Tensor, read: Tensor, target_in: Tensor) -> Tensor:
    """Return logits from the mean of the source's tokens that are read, and the target so far."""
    shares = read.double() / read.sum(dim=1, keepdim=True)
    memory = shares[:, None] @ _WORDS[source]
    return memory + _WORDS[target_in].cumsum(dim=1)


def _steady(source: Tensor, target_in: Tensor, pad: int = 0) -> Tensor:
    return _reading(source, source != pad, target_in)


def _reads_padding(source: Tensor, target_in: Tensor) -> Tensor:
    return _reading(source, source >= 0, target_in)


def _count(source: Tensor, pad: int = 0) -> Tensor:
    """Count the padding of each sentence, for logits of (batch, target, vocab)."""
    return (source == pad).sum(dim=1)[:, None, None]


def _steady_but_at_padding(source: Tensor, target_in: Tensor, pad: int = 0) -> Tensor:
    """Return logits that padding of the source moves where the target is padded too."""
    moved = 2.0 * _count(source, pad) * (target_in == pad)[..., None]
    return _steady(source, target_in, pad) + moved


def _lifted(how: Callable[[Tensor, Tensor], Tensor]) -> Callable[[Tensor, Tensor], Tensor]:
    """Return scores that are steady but for what ``how`` adds to them."""
    return lambda source, target_in: _steady(source, target_in) + how(source, target_in)


def _reading_after(word: int) -> System:
    """Return a system that reads the padding of sentences with a certain first word."""

    def lift(source: Tensor, target_in: Tensor) -> Tensor:
        return 0.2 * _count(source) * (source[:, 0] == word)[:, None, None] * one_hot(target_in)

    return System(f"a system that reads padding in sentences that begin with {word}", _lifted(lift))


_STEADY = System("a system that ignores padding", _steady)
_READS_PADDING = System("a system whose encoder reads padding", _reads_padding)
_SYSTEMS = (
    System(
        "a system whose rounding depends on the length",
        _lifted(lambda source, target_in: 1e-7 * one_hot(target_in) * source.shape[1]),
    ),
    _reading_after(3),
    _reading_after(6),
    System(
        "a system that reads padding at position 0 of the target",
        _lifted(
            lambda source, target_in: (
                0.3 * _count(source) * at(0, target_in.shape[1]) * one_hot(target_in)
            )
        ),
    ),
    System(
        "a system that reads padding at position 4 of the target, the last",
        _lifted(
            lambda source, target_in: (
                0.3 * _count(source) * at(4, target_in.shape[1]) * one_hot(target_in)
            )
        ),
    ),
    System(
        "a system whose logits fall with padding",
        _lifted(lambda source, target_in: -0.4 * _count(source) * (1 + one_hot(target_in))),
    ),
    System(
        "a system that reads padding only where there has been some before",
        _lifted(
            lambda source, target_in: (
                0.25 * _count(source) * (source[:, 3] == 0)[:, None, None] * one_hot(target_in)
            )
        ),
    ),
    System(
        "a system that reads padding of the source where the target is padded",
        _steady_but_at_padding,
    ),
    System(
        "a system that reads padding where it is fed the begin token",
        _lifted(
            lambda source, target_in: (
                0.1 * _count(source) * (target_in == BOS)[..., None] * one_hot(target_in)
            )
        ),
    ),
    System(
        "a system that moves all logits of a position alike",
        _lifted(lambda source, target_in: 0.7 * _count(source).expand(*target_in.shape, VOCAB)),
    ),
    System(
        "a system that reads the length of the target, padding included",
        lambda source, target_in: _steady(source, target_in) + 0.5 * target_in.shape[1],
    ),
    System(
        "a system that reads the last three tokens of the source, padding included",
        lambda source, target_in: _reading(source[:, -3:], source[:, -3:] >= 0, target_in),
    ),
)
_WHERE_PADDING_IS_3 = (
    System("a system that ignores padding", partial(_steady, pad=3)),
    System(
        "a system that reads padding of the source where the target is padded",
        partial(_steady_but_at_padding, pad=3),
    ),
    _READS_PADDING,
)
_AFTER_THE_END = System(
    "a system that reads padding where it is fed the end token",
    _lifted(
        lambda source, target_in: (
            0.2 * _count(source) * (target_in == EOS)[..., None] * one_hot(target_in)
        )
    ),
)
_PAIRS = [([4, 5, 6], [7, 8, 4, 6]), ([6], [5]), ([8, 4], [6, 3, 8, 7]), ([3, 7, 5], [8])]
_EQUALLY_LONG = batch_of([([4, 5], [7, 4, 6]), ([6, 8], [4, 8, 5])])
_PADDED_WITH_3 = batch_of([([0, 5, 6], [7, 0]), ([6], [0]), ([8, 0], [6, 5])], pad=3)


_judged = partial(judged, side="source")


@exercise(
    cases=[
        _judged(_STEADY, _EQUALLY_LONG),
        _judged(_READS_PADDING, _EQUALLY_LONG),
        *(_judged(system, batch_of(_PAIRS)) for system in (_STEADY, _READS_PADDING, *_SYSTEMS)),
        *(_judged(system, _PADDED_WITH_3, pad=3) for system in _WHERE_PADDING_IS_3),
        _judged(_AFTER_THE_END, fed_past_the_end(batch_of(_PAIRS))),
    ],
    properties=[
        Property("the change is not below 0", lambda value, case: value >= 0),
        Property(
            "a system that ignores padding is moved by nothing",
            lambda value, case: case.inputs[0].name != _STEADY.name or value < 1e-6,
        ),
    ],
    hints=[
        "Two calls of `scores`, with the same sentences: once as they are, once with three more "
        "columns in the source. Which of the logits may you compare?",
        "`F.pad(source, (0, 3), value=pad)` appends three columns. The target stays as it is, so "
        "both results have the same shape.",
        "`moved = (scores(padded, target_in) - scores(source, target_in)).abs()`; of these, "
        "`moved[target_out != pad]` are those at real positions, and `.max().item()` is the "
        "largest.",
    ],
)
def moved_by_padding(scores: Callable, batch: tuple, pad: int) -> float:
    """Return the largest change of a real token's logits by three columns of padding."""
    source, target_in, target_out = batch
    padded = F.pad(source, (0, 3), value=pad)
    before = scores(source, target_in)
    after = scores(padded, target_in)
    moved = (after - before).abs()
    largest = moved[target_out != pad].max()
    return largest.item()
