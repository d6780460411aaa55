"""The ways to decode as functions of one kind, and sentences to decode."""

import pytest
import torch
from torch import Tensor

from transformer_course.model import Transformer
from transformer_course.translation.decoding.beam import (
    beam_search,
)
from transformer_course.translation.decoding.next_token import (
    greedy,
    sample,
)

from ...model.small import PAD

BOS, EOS = 1, 2
SOURCE = torch.tensor([[5, 6, 7, 8, EOS], [9, 5, EOS, PAD, PAD], [4, EOS, PAD, PAD, PAD]])
MAX_LEN = 70


def words_of(ids: Tensor, eos: int) -> list[list[int]]:
    return [[token for token in row if token not in (eos, PAD)] for row in ids.tolist()]


def by_greedy(
    model: Transformer, source: Tensor, eos: int = EOS, **settings: object
) -> list[list[int]]:
    return words_of(greedy(model, source, BOS, eos, **settings), eos)


def by_sampling(
    model: Transformer, source: Tensor, eos: int = EOS, **settings: object
) -> list[list[int]]:
    generator = torch.Generator().manual_seed(0)
    return words_of(sample(model, source, BOS, eos, generator, **settings), eos)


def by_nucleus(
    model: Transformer, source: Tensor, eos: int = EOS, **settings: object
) -> list[list[int]]:
    return by_sampling(model, source, eos, temperature=0.8, top_k=8, top_p=0.9, **settings)


def by_beam(
    model: Transformer, source: Tensor, eos: int = EOS, **settings: object
) -> list[list[int]]:
    return [list(best.tokens) for best, *_ in beam_search(model, source, BOS, eos, 4, **settings)]


METHODS = {"greedy": by_greedy, "sample": by_sampling, "nucleus": by_nucleus, "beam": by_beam}
all_methods = pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)


def likely_end(model: Transformer) -> int:
    """Find a token that can play the end token: greedy says it after a few others."""
    (row,) = by_greedy(model, SOURCE[1:2], eos=-1, max_length=4)
    return row[-1]
