from collections import Counter

import pytest

from transformer_course.translation.corpora.corpus import SentencePair
from transformer_course.translation.corpora.splits import complete, held_out


@pytest.mark.parametrize(
    ("pairs", "held"),
    [(2, 1), (9, 1), (100, 10), (2686, 200), (10_000, 200), (29_000, 580), (200_000, 1000)],
)
def test_how_many_are_held_out(pairs: int, held: int) -> None:
    assert held_out(pairs) == held


@pytest.mark.parametrize("seed", range(20))
def test_a_sentence_and_its_repetitions_fall_on_one_side(seed: int) -> None:
    """Every tenth source sentence is said five times, in other words."""
    pairs = [
        SentencePair(f"source {number}", f"target {number}, {time}")
        for number in range(300)
        for time in range(5 if number % 10 == 0 else 1)
    ]
    splits, repeated = complete(pairs, {}, seed)
    sources = {name: {pair.source for pair in split} for name, split in splits.items()}
    assert not sources["train"] & (sources["dev"] | sources["test"])
    assert not sources["dev"] & sources["test"]
    assert len(splits["dev"]) == len(splits["test"]) == held_out(len(pairs)) == 42
    times = Counter(pair.source for pair in pairs)
    held = splits["dev"] + splits["test"]
    assert repeated == sum(times[pair.source] - 1 for pair in held)
    assert len(splits["train"]) + len(held) + repeated == len(pairs)
    assert {*splits["train"], *held} <= {*pairs}


def test_what_is_given_stays_as_it_is() -> None:
    pairs = [SentencePair(str(number), "x") for number in range(50)]
    given = [SentencePair("7", "y"), SentencePair("7", "z")]
    splits, repeated = complete(pairs, {"test": given}, 0)
    assert splits["test"] is given
    assert repeated == 1
    assert len(splits["dev"]) == 5
    assert "7" not in {pair.source for pair in splits["train"] + splits["dev"]}
