"""Sentences of unequal length, made into rectangles of ids.

Source: Vaswani et al. (2017), "Attention Is All You Need", sections 3.1 (the shift) and 5.1
(batches of similar length, sized in tokens).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor

from transformer_course.translation.corpora.encoded import EncodedPair, lengths_of


def pad_rows(rows: Sequence[list[int]], pad: int) -> Int[Tensor, "batch length"]:
    """Fill each row with ``pad`` up to the longest row of this batch."""
    length = max(len(row) for row in rows)
    padded = [row + [pad] * (length - len(row)) for row in rows]
    return torch.tensor(padded, dtype=torch.long)


def collate(
    pairs: Sequence[EncodedPair], bos: int, eos: int, pad: int
) -> tuple[Int[Tensor, "batch source"], Int[Tensor, "batch target"], Int[Tensor, "batch target"]]:
    """Turn pairs of id lists into source, target in and target out.

    The target goes in behind ``bos`` and comes out before ``eos``, so that at each position the
    token to predict is the next one (section 3.1). The source ends with ``eos`` too: an empty
    sentence then still has one token to attend to.

    Raises
    ------
    ValueError
        If there are no pairs.
    """
    if not pairs:
        raise ValueError("a batch needs at least one sentence pair; got none.")
    source = pad_rows([[*source, eos] for source, _ in pairs], pad)
    target_in = pad_rows([[bos, *target] for _, target in pairs], pad)
    target_out = pad_rows([[*target, eos] for _, target in pairs], pad)
    return source, target_in, target_out


@dataclass(frozen=True)
class Batch:
    """What one training step sees: three rectangles of ids."""

    source: Int[Tensor, "batch source"]
    target_in: Int[Tensor, "batch target"]
    target_out: Int[Tensor, "batch target"]

    @classmethod
    def from_pairs(cls, pairs: Sequence[EncodedPair], bos: int, eos: int, pad: int) -> "Batch":
        """Collate the pairs."""
        return cls(*collate(pairs, bos, eos, pad))

    def to(self, device: torch.device) -> "Batch":
        """Return the batch on a device."""
        return Batch(*(ids.to(device) for ids in (self.source, self.target_in, self.target_out)))

    def parts(self, count: int) -> list["Batch"]:
        """Deal the sentences out into ``count`` parts, fewer where there are fewer sentences."""
        return [
            Batch(self.source[n::count], self.target_in[n::count], self.target_out[n::count])
            for n in range(min(count, len(self.source)))
        ]


def length_batches(
    pairs: Sequence[EncodedPair], batch_tokens: int, generator: torch.Generator | None = None
) -> list[list[int]]:
    """Group the pairs' numbers so that a batch holds sentences of similar length.

    Parameters
    ----------
    pairs
        The encoded sentence pairs.
    batch_tokens
        Most target tokens in a batch, padding and end token included; a longer sentence gets a
        batch of its own. Sources do not count: the scores of the whole vocabulary, one row for each
        target token, need the most memory.
    generator
        Shuffles the sentences of equal length, then the batches; without it nothing is shuffled.
    """
    sources, targets = lengths_of(pairs)
    order = np.array(_shuffled(len(pairs), generator), dtype=np.int64)
    order = order[np.lexsort((sources[order], targets[order]))]
    batches: list[list[int]] = []
    # From short to long, so the newest is the longest of its batch.
    for number, target in zip(order.tolist(), targets[order].tolist(), strict=True):
        if not batches or (target + 1) * (len(batches[-1]) + 1) > batch_tokens:
            batches.append([])
        batches[-1].append(number)
    return [batches[place] for place in _shuffled(len(batches), generator)]


def _shuffled(count: int, generator: torch.Generator | None) -> list[int]:
    if generator is None:
        return list(range(count))
    return torch.randperm(count, generator=generator).tolist()


def padding_share(pairs: Sequence[EncodedPair], groups: Sequence[list[int]]) -> float:
    """Share of the positions that will be padding in the batches of these groups of pairs.

    As :func:`padding_waste`, of batches that need not be made.
    """
    real = positions = 0
    for lengths in lengths_of(pairs):
        with_end = lengths + 1
        real += int(with_end.sum())
        positions += sum(len(group) * int(with_end[group].max()) for group in groups)
    return 1 - real / positions


def padding_waste(batches: Sequence[Batch], pad: int) -> float:
    """Share of the positions, source and target together, that are padding."""
    rectangles = [ids for batch in batches for ids in (batch.source, batch.target_in)]
    padding = sum(int((ids == pad).sum()) for ids in rectangles)
    return padding / sum(ids.numel() for ids in rectangles)
