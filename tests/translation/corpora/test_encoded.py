import random

import numpy as np
import pytest
import torch

from transformer_course.translation import BOS, EOS, PAD
from transformer_course.translation.corpora.batches import (
    Batch,
    length_batches,
    padding_share,
    padding_waste,
)
from transformer_course.translation.corpora.encoded import EncodedPair, EncodedText, IdRows


def pairs_of(seed: int) -> list[EncodedPair]:
    chance = random.Random(seed)
    return [
        tuple([chance.randrange(4, 70_000) for _ in range(chance.randrange(9))] for _ in range(2))
        for _ in range(200)
    ]


def encoded(pairs: list[EncodedPair]) -> EncodedText:
    return EncodedText(*zip(*pairs, strict=True))


def test_rows_come_back() -> None:
    rows = [[5, 70_000], [], [7]]
    held = IdRows(iter(rows))
    assert [*held] == rows
    assert held[-1] == [7]
    assert held.lengths.tolist() == [2, 0, 1]
    assert [*IdRows([])] == []
    for number in (3, -4):
        with pytest.raises(IndexError, match="there are 3 rows"):
            held[number]


def test_pairs_come_back() -> None:
    pairs = pairs_of(0)
    assert [*encoded(pairs)] == pairs


@pytest.mark.parametrize("seed", range(20))
def test_batches_are_those_of_lists_and_of_a_stable_sort(seed: int) -> None:
    """Recorded runs depend on it: ties stay in the order in which they were shuffled."""
    pairs = pairs_of(seed)
    groups, of_lists = (
        length_batches(each, 40, torch.Generator().manual_seed(seed))
        for each in (encoded(pairs), pairs)
    )
    assert groups == of_lists
    generator = torch.Generator().manual_seed(seed)
    order = torch.randperm(len(pairs), generator=generator).tolist()
    order.sort(key=lambda number: (len(pairs[number][1]), len(pairs[number][0])))
    assert [
        number for group in sorted(groups, key=lambda g: order.index(g[0])) for number in group
    ] == order


@pytest.mark.parametrize("seed", range(20))
def test_padding_is_known_before_batches_are_made(seed: int) -> None:
    pairs = pairs_of(seed)
    groups = length_batches(pairs, 40)
    batches = [Batch.from_pairs([pairs[n] for n in group], BOS, EOS, PAD) for group in groups]
    assert padding_share(encoded(pairs), groups) == pytest.approx(padding_waste(batches, PAD))


def test_ids_take_four_bytes() -> None:
    assert IdRows([[1] * 1000])._ids.nbytes == 4000
    assert IdRows([[1]])._ids.dtype == np.int32
