from collections import Counter

import pytest

from transformer_course.translation.corpora.corpus import SentencePair
from transformer_course.translation.corpora.splits import complete, held_out


@pytest.mark.parametrize(
    ("sources", "held"),
    [(2, 1), (9, 1), (100, 10), (2686, 200), (10_000, 200), (29_000, 580), (200_000, 1000)],
)
def test_how_many_are_held_out(sources: int, held: int) -> None:
    assert held_out(sources) == held


@pytest.mark.parametrize(("times", "sources"), [(5, 30), (20, 300)])
def test_sources_that_come_often_leave_most_of_them_for_training(times: int, sources: int) -> None:
    pairs = [SentencePair(str(n), str(time)) for n in range(sources) for time in range(times)]
    splits, _ = complete(pairs, {}, 0)
    assert len({pair.source for pair in splits["train"]}) == 0.8 * sources


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
    assert len(splits["dev"]) == len(splits["test"]) == held_out(300) == 30
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
