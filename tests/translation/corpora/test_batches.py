import pytest
import torch

from transformer_course.translation.corpora.batches import (
    Batch,
    EncodedPair,
    collate,
    length_batches,
    pad_rows,
    padding_waste,
)

BOS, EOS, PAD = 1, 2, 0
BUDGET = 60


@pytest.fixture
def encoded() -> list[EncodedPair]:
    """300 pairs of 1 to 12 tokens, the target about as long as the source."""
    generator = torch.Generator().manual_seed(0)
    sizes = torch.randint(1, 13, (300,), generator=generator).tolist()
    more = torch.randint(0, 3, (300,), generator=generator).tolist()
    return [([5] * size, [6] * (size + extra)) for size, extra in zip(sizes, more, strict=True)]


def test_rows_are_filled_to_the_longest() -> None:
    assert pad_rows([[3], [4, 5, 6], []], PAD).tolist() == [[3, 0, 0], [4, 5, 6], [0, 0, 0]]


def test_ids_are_whole_numbers_even_without_any() -> None:
    assert pad_rows([[], []], PAD).dtype == torch.int64


def test_collate_shifts_the_target_and_closes_the_source() -> None:
    source, target_in, target_out = collate([([7, 8], [9, 10, 11]), ([7], [9])], BOS, EOS, PAD)
    assert source.tolist() == [[7, 8, EOS], [7, EOS, PAD]]
    assert target_in.tolist() == [[BOS, 9, 10, 11], [BOS, 9, PAD, PAD]]
    assert target_out.tolist() == [[9, 10, 11, EOS], [9, EOS, PAD, PAD]]


def test_collate_keeps_empty_sentences() -> None:
    source, target_in, target_out = collate([([], [])], BOS, EOS, PAD)
    assert (source.tolist(), target_in.tolist(), target_out.tolist()) == ([[EOS]], [[BOS]], [[EOS]])


def test_collate_refuses_an_empty_batch() -> None:
    with pytest.raises(ValueError, match="at least one sentence pair"):
        collate([], BOS, EOS, PAD)


def test_every_pair_is_in_one_batch(encoded: list[EncodedPair]) -> None:
    batches = length_batches(encoded, BUDGET, torch.Generator().manual_seed(0))
    assert sorted(number for batch in batches for number in batch) == list(range(len(encoded)))


def test_batches_keep_within_the_budget_and_use_it(encoded: list[EncodedPair]) -> None:
    sizes = [
        len(batch) * max(len(encoded[number][1]) + 1 for number in batch)
        for batch in length_batches(encoded, BUDGET, torch.Generator().manual_seed(0))
    ]
    assert max(sizes) <= BUDGET
    assert sum(sizes) / len(sizes) > 0.8 * BUDGET


def test_sentence_beyond_the_budget_gets_a_batch_of_its_own() -> None:
    pairs = [([5], [6] * length) for length in (2, 100, 2, 90)]
    assert sorted(length_batches(pairs, 10)) == [[0, 2], [1], [3]]


def test_no_pairs_make_no_batches() -> None:
    assert length_batches([], BUDGET) == []


def test_generator_determines_the_batches(encoded: list[EncodedPair]) -> None:
    first, again, other = (
        length_batches(encoded, BUDGET, torch.Generator().manual_seed(seed)) for seed in (0, 0, 1)
    )
    assert first == again
    assert first != other
    assert {frozenset(batch) for batch in first} != {frozenset(batch) for batch in other}


def test_without_a_generator_batches_go_from_short_to_long(encoded: list[EncodedPair]) -> None:
    order = [number for batch in length_batches(encoded, BUDGET) for number in batch]
    lengths = [len(encoded[number][1]) for number in order]
    assert lengths == sorted(lengths)


def test_global_random_state_is_left_alone(encoded: list[EncodedPair]) -> None:
    before = torch.get_rng_state()
    length_batches(encoded, BUDGET, torch.Generator().manual_seed(0))
    assert torch.equal(torch.get_rng_state(), before)


def test_waste_is_the_share_of_padding() -> None:
    batch = Batch.from_pairs([([7, 8], [9]), ([7], [9])], BOS, EOS, PAD)
    assert padding_waste([batch], PAD) == 1 / 10
    assert padding_waste([batch, Batch.from_pairs([([7], [9])], BOS, EOS, PAD)], PAD) == 1 / 14


def test_similar_lengths_waste_less_than_random_ones(encoded: list[EncodedPair]) -> None:
    generator = torch.Generator().manual_seed(0)
    groups = length_batches(encoded, BUDGET, generator)
    order = iter(torch.randperm(len(encoded), generator=generator).tolist())
    random_groups = [[next(order) for _ in group] for group in groups]

    def waste(groups: list[list[int]]) -> float:
        batches = [Batch.from_pairs([encoded[n] for n in g], BOS, EOS, PAD) for g in groups]
        return padding_waste(batches, PAD)

    assert waste(groups) < waste(random_groups) / 3
