"""What the systems on which learners try their experiments are made of."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

from transformer_course.checker.cases import Case, vectors
from transformer_course.translation import collate

BOS, EOS = 1, 2
VOCAB = 9
Batch = tuple[Tensor, Tensor, Tensor]
Pair = tuple[list[int], list[int]]

_WORDS, _OUTPUT = vectors(VOCAB, 4), 0.3 * vectors(4, VOCAB, seed=1)


class System:
    """The scores of a system, with a name, which the words of a check show."""

    def __init__(self, name: str, scores: Callable[[Tensor, Tensor], Tensor]) -> None:
        self.name = name
        self.scores = scores

    def __repr__(self) -> str:
        return f"<{self.name}>"

    def __call__(self, source: Tensor, target_in: Tensor) -> Tensor:
        """Return the logits."""
        return self.scores(source, target_in)


def judged(system: System, batch: Batch, pad: int = 0, side: str = "target") -> Case:
    """Return a case of system, batch and pad, which says how large a side of the batch is."""
    shape = list(batch[0 if side == "source" else -1].shape)
    return Case(
        (system, batch, pad), written=f"({system}, batch, pad={pad})  # a {side} of shape {shape}"
    )


def batch_of(pairs: list[Pair], pad: int = 0) -> Batch:
    """Return source, target in and target out, padded at the end."""
    return collate(pairs, BOS, EOS, pad)


def fed_past_the_end(batch: Batch) -> Batch:
    """Return a batch in which the end token is fed in, too, where padding is to come out."""
    source, target_in, target_out = batch
    ended = target_out.roll(1, dims=1) == EOS
    ended[:, 0] = False
    return source, target_in.masked_fill(ended, EOS), target_out


def causal(source: Tensor, target_in: Tensor) -> Tensor:
    """Score the next word by the first word of the source and the target's words so far."""
    return (_WORDS[source[:, :1]] + _WORDS[target_in].cumsum(dim=1)) @ _OUTPUT


def one_hot(ids: Tensor) -> Tensor:
    """Return scores of 1 for one word at each position, and 0 for all others."""
    return F.one_hot(ids, VOCAB).float()


def at(position: int, length: int) -> Tensor:
    """Return 1 at a position and 0 at all others, to be multiplied with scores."""
    return (torch.arange(length) == position).float()[:, None]
