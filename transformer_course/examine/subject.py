"""A model that somebody wrote, and what belongs to it: what an examination is given."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any

from torch import Tensor, nn

from transformer_course.checks import check_whole

Pair = tuple[Sequence[int], Sequence[int]]
"""A source and its target as ids, without padding, begin and end."""
SMALLEST = 3
"""Ids of a vocabulary: padding and two more, so that one token can be changed into another."""


@dataclass
class Subject:
    """An encoder-decoder to examine; what is optional and given is examined too.

    In all tensors the batch comes first. Ids are of type ``int64``.

    Attributes
    ----------
    network
        The model.
    source_vocab, target_vocab
        How many ids its two languages have.
    pad, bos, eos
        The ids of padding, of the token that the decoder starts with, and of the end. Some models
        start with the padding token, or with the end token.
    source_pad
        The id of padding in sources, if it is another one.
    scores
        From source ids (batch, source) and target ids (batch, target), what the model says of the
        next token at each position: (batch, target, target_vocab), as logits or log-probabilities;
        probabilities are judged as a mistake. By default ``network(source, target)``.
    collate
        From a list of pairs, the tensors source, target in and target out of a batch.
    loss
        From scores and target out, the number to minimise.
    training_step
        From source, target in and target out, one step of training: the weights are changed, and
        the loss is returned.
    translate
        From sources, as lists of ids without padding and end, their translations as lists of ids;
        with all that belongs to it, such as ``network.eval()``.
    beam
        The same, by a search with a beam.
    train, test
        Pairs of the texts, if they are to be examined.
    unknown
        The id of unknown words.
    unseen
        Why ``scores`` goes past the call that you train with, if it does, in words that end a
        sentence.
    """

    network: nn.Module
    _: KW_ONLY
    source_vocab: int
    target_vocab: int
    pad: int
    bos: int
    eos: int
    source_pad: int | None = None
    scores: Callable[[Tensor, Tensor], Tensor] | None = None
    collate: Callable[[list[Pair]], tuple[Tensor, Tensor, Tensor]] | None = None
    loss: Callable[[Tensor, Tensor], Tensor] | None = None
    training_step: Callable[[Tensor, Tensor, Tensor], Any] | None = None
    translate: Callable[[list[list[int]]], Any] | None = None
    beam: Callable[[list[list[int]]], Any] | None = None
    train: Sequence[Pair] = ()
    test: Sequence[Pair] = ()
    unknown: int | None = None
    unseen: str = ""

    def __post_init__(self) -> None:
        if not isinstance(self.network, nn.Module):
            raise ValueError(
                f"network must be a torch.nn.Module; got {type(self.network).__name__}."
            )
        if self.source_pad is None:
            self.source_pad = self.pad
        self._check_ids()
        for name in ("train", "test"):
            _check_pairs(name, getattr(self, name))
        for name in ("scores", "collate", "loss", "training_step", "translate", "beam"):
            given = getattr(self, name)
            if given is not None and not callable(given):
                raise ValueError(f"{name} must be a function; got {type(given).__name__}.")
        if self.scores is None:
            self.scores = self.network

    def _check_ids(self) -> None:
        for name in ("source_vocab", "target_vocab"):
            size = getattr(self, name)
            check_whole(name, size)
            if size < SMALLEST:
                raise ValueError(f"{name} must be at least {SMALLEST}; got {size}.")
        for name in ("pad", "bos", "eos"):
            self._check_id(name, self.target_vocab)
        if self.unknown is not None:
            self._check_id("unknown", self.target_vocab)
        self._check_id("source_pad", self.source_vocab)
        if self.pad == self.eos:
            raise ValueError(
                f"pad and eos are both {self.pad}: then the end of a target cannot be told from "
                f"its padding. Give padding an id of its own, in `collate` and masks too."
            )

    def _check_id(self, name: str, size: int) -> None:
        number = getattr(self, name)
        if not (isinstance(number, int) and 0 <= number < size):
            raise ValueError(f"{name} must be an id from 0 to {size - 1}; got {number!r}.")


def _check_pairs(name: str, pairs: Sequence[Pair]) -> None:
    """Raise ValueError unless they are in order, and the first of them is what all should be."""
    wanted = f"{name} must be a list of pairs of lists of ids"
    if not hasattr(pairs, "__getitem__") or isinstance(pairs, Mapping):
        raise ValueError(f"{wanted}; got {type(pairs).__name__}.")
    first = pairs[0] if len(pairs) else ((), ())
    if not (isinstance(first, Sequence) and len(first) == 2 and all(map(are_ids, first))):
        raise ValueError(f"{wanted}; its first is {first!r:.80}.")


def are_ids(row: object) -> bool:
    """Whether it is a list of whole numbers: a tensor may have had other axes or numbers."""
    return isinstance(row, Sequence) and all(
        isinstance(number, int) and not isinstance(number, bool) for number in row
    )
