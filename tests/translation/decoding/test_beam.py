import math
import random
from collections.abc import Callable
from itertools import pairwise, product

import pytest
import torch

from transformer_course.model import Transformer
from transformer_course.translation.decoding.beam import (
    Hypothesis,
    LengthPenalty,
    beam_search,
    gnmt,
    mean_length,
    search,
)
from transformer_course.translation.decoding.forced import sequence_log_probability
from transformer_course.translation.decoding.prefix_scorers import FunctionScorer

from ...model.small import VOCAB, small_model
from .searches import (
    BOS,
    EOS,
    SOURCE,
    by_greedy,
    likely_end,
)

PENALTIES = {"none": gnmt(0), "mean": mean_length, "gnmt .6": gnmt(0.6), "gnmt 1": gnmt(1)}
all_penalties = pytest.mark.parametrize("penalty", PENALTIES.values(), ids=PENALTIES)


# Toys with known optima

A, B, C, D = 3, 4, 5, 6
Table = dict[tuple[int, ...], dict[int, float]]

# Greedy takes A, but the best translation begins with B.
GREEDY_LOSES: Table = {
    (): {A: 0.6, B: 0.4},
    (A,): {A: 0.55, B: 0.45},
    (B,): {A: 0.95, B: 0.05},
    (A, A): {EOS: 1},
    (A, B): {EOS: 1},
    (B, A): {EOS: 1},
    (B, B): {EOS: 1},
}
# The two best prefixes after two steps are both children of A.
SAME_PARENT: Table = {
    (): {A: 0.7, B: 0.3},
    (A,): {A: 0.51, B: 0.49},
    (B,): {A: 0.6, B: 0.4},
    (A, A): {A: 0.25, B: 0.2, C: 0.2, D: 0.2, EOS: 0.15},
    (A, B): {A: 0.9, B: 0.1},
    (B, A): {A: 0.4, B: 0.3, C: 0.3},
    (B, B): {A: 0.5, B: 0.5},
}
# The first hypothesis to end is not the best.
EARLY_END: Table = {(): {A: 0.7, EOS: 0.3}, (A,): {EOS: 0.9, A: 0.1}, (A, A): {EOS: 1}}


def toy(table: Table, sentences: int = 1) -> FunctionScorer:
    def logits(prefix: tuple[int, ...]) -> list[float]:
        row = table[prefix]
        return [math.log(row[token]) if token in row else -math.inf for token in range(VOCAB)]

    return FunctionScorer(logits, sentences)


def searched(table: Table, limit: int, beam: int, **settings: object) -> Hypothesis:
    ((best,),) = search(toy(table), BOS, EOS, [limit], beam, **settings)
    return best


@pytest.mark.parametrize(
    ("table", "limit", "beam", "tokens", "probability"),
    [
        (GREEDY_LOSES, 3, 1, (A, A), 0.33),
        (GREEDY_LOSES, 3, 2, (B, A), 0.38),
        (SAME_PARENT, 3, 1, (A, A, A), 0.0892),
        (SAME_PARENT, 3, 2, (A, B, A), 0.3087),
        (EARLY_END, 3, 2, (A,), 0.63),
    ],
)
def test_toys_with_known_optima(
    table: Table, limit: int, beam: int, tokens: tuple[int, ...], probability: float
) -> None:
    best = searched(table, limit, beam, length_penalty=gnmt(0))
    assert best.tokens == tokens
    assert math.exp(best.log_probability) == pytest.approx(probability, abs=1e-4)
    assert best.score == best.log_probability


def test_first_to_end_is_kept_although_it_loses() -> None:
    ((best, second),) = search(toy(EARLY_END), BOS, EOS, [3], 2, gnmt(0), n_best=2)
    assert (best.tokens, second.tokens) == ((A,), ())
    assert math.exp(second.log_probability) == pytest.approx(0.3)


# A sentence of 2 tokens with log-probability -1.2, and one of 5 tokens with -1.5.
SHORT_OR_LONG: Table = {
    (): {A: math.exp(-1.2), B: math.exp(-1.5), C: 1 - math.exp(-1.2) - math.exp(-1.5)},
    (A,): {EOS: 1},
    (B,): {A: 1},
    (B, A): {A: 1},
    (B, A, A): {A: 1},
    (B, A, A, A): {EOS: 1},
    (C,): {A: 0.1, B: 0.1, C: 0.2, D: 0.2, EOS: 0.1, 7: 0.1, 8: 0.1, 9: 0.1},
    **{(C, token): {EOS: 1} for token in (A, B, C, D, 7, 8, 9)},
}


@pytest.mark.parametrize(
    ("penalty", "winner", "short", "long"),
    [
        (gnmt(0), (A,), -1.2, -1.5),
        (mean_length, (B, A, A, A), -0.6, -0.3),
        (gnmt(0.6), (A,), -1.094, -1.104),
    ],
    ids=["none", "mean", "gnmt"],
)
def test_length_normalisation_decides(
    penalty: LengthPenalty, winner: tuple[int, ...], short: float, long: float
) -> None:
    (found,) = search(toy(SHORT_OR_LONG), BOS, EOS, [6], 8, penalty, n_best=8)
    scores = {hypothesis.tokens: hypothesis.score for hypothesis in found}
    assert found[0].tokens == winner
    assert scores[A,] == pytest.approx(short, abs=5e-4)
    assert scores[B, A, A, A] == pytest.approx(long, abs=5e-4)


@pytest.mark.parametrize(
    ("penalty", "words"),
    [(gnmt(0), 0), (mean_length, 9), (gnmt(1), 9)],
    ids=["none", "mean", "gnmt"],
)
def test_what_is_behind_may_still_win_at_the_limit(penalty: LengthPenalty, words: int) -> None:
    table: Table = {(): {EOS: 0.6, A: 0.4}} | {(A,) * n: {A: 1} for n in range(1, 8)}
    table |= {(A,) * 8: {A: 1}, (A,) * 9: {EOS: 1}}
    best = searched(table, 10, 2, length_penalty=penalty)
    assert best.tokens == (A,) * words
    # After one token its score is lower than that of the hypothesis that has ended.
    assert math.log(0.4) / penalty(1) < math.log(0.6) / penalty(1)


def test_search_ends_when_nothing_better_can_come() -> None:
    def steps(limit: int, penalty: LengthPenalty, n_best: int = 1) -> int:
        asked: set[int] = set()

        def logits(prefix: tuple[int, ...]) -> list[float]:
            asked.add(len(prefix))
            return [math.log(0.9 if token == EOS else 0.1 / (VOCAB - 1)) for token in range(VOCAB)]

        search(FunctionScorer(logits), BOS, EOS, [limit], 3, penalty, n_best)
        return len(asked)

    assert steps(30, gnmt(0)) == 1
    assert steps(30, mean_length) == 1  # the best of the others has -4.8 / 30, worse than -.105
    assert steps(60, mean_length) == 2  # but -4.8 / 60 would be better
    assert steps(30, gnmt(0), n_best=2) == 2


def test_limit_cuts_off_what_has_not_ended() -> None:
    best = searched({(A,) * n: {A: 1} for n in range(4)}, 4, 1)
    assert best == Hypothesis((A,) * 4, 0.0, 0.0)


def test_fewer_hypotheses_come_back_where_fewer_are_possible() -> None:
    (found,) = search(toy({(): {A: 1}, (A,): {EOS: 1}}), BOS, EOS, [5], 3, n_best=3)
    assert [hypothesis.tokens for hypothesis in found] == [(A,)]


# Beam search: against exhaustive and against plain search

FEW = (A, B)  # the words of a language so small that all its sentences can be listed
LONGEST = 4
ALL_SENTENCES = len(FEW) ** LONGEST + sum(len(FEW) ** n for n in range(LONGEST))


def random_toy(seed: int, sentences: int = 1) -> tuple[FunctionScorer, Callable]:
    """Make a language of few words and a large vocabulary, so that the beam may be wide."""

    def logits(prefix: tuple[int, ...]) -> list[float]:
        draw = random.Random(f"{seed} {prefix}")
        row = [-math.inf] * ALL_SENTENCES
        for token in (EOS, *FEW):
            row[token] = draw.gauss(0, 2)
        return row

    def log_probability(tokens: tuple[int, ...]) -> float:
        rows = [torch.tensor(logits(tokens[:n])).log_softmax(-1) for n in range(len(tokens))]
        return sum(row[token].item() for row, token in zip(rows, tokens, strict=True))

    return FunctionScorer(logits, sentences), log_probability


def all_sentences(limit: int) -> list[tuple[int, ...]]:
    ended = [(*words, EOS) for n in range(limit) for words in product(FEW, repeat=n)]
    return ended + list(product(FEW, repeat=limit))


@all_penalties
@pytest.mark.parametrize("seed", range(8))
def test_wide_beam_finds_what_exhaustive_search_finds(penalty: LengthPenalty, seed: int) -> None:
    limits = [LONGEST, 1, 3]
    decoder, log_probability = random_toy(seed, sentences=3)
    n_best = 2
    found = search(decoder, BOS, EOS, limits, ALL_SENTENCES, penalty, n_best)
    for limit, hypotheses in zip(limits, found, strict=True):
        scores = {s: log_probability(s) / penalty(len(s)) for s in all_sentences(limit)}
        expected = sorted(scores, key=lambda sentence: -scores[sentence])[:n_best]
        for hypothesis, sentence in zip(hypotheses, expected, strict=True):
            assert hypothesis.tokens == tuple(token for token in sentence if token != EOS)
            assert hypothesis.score == pytest.approx(scores[sentence], abs=1e-5)


def plain_search(
    log_probability: Callable, limit: int, beam: int, penalty: LengthPenalty
) -> list[tuple[int, ...]]:
    """Search with a beam as one would write it down first, and never give up before the limit."""
    live: list[tuple[int, ...]] = [()]
    finished: list[tuple[int, ...]] = []
    for length in range(1, limit + 1):
        longer = [(*prefix, token) for prefix in live for token in (EOS, *FEW)]
        best = sorted(longer, key=lambda prefix: -log_probability(prefix))[:beam]
        ended = [prefix for prefix in best if prefix[-1] == EOS or length == limit]
        finished += ended
        live = [prefix for prefix in best if prefix not in ended]
    return sorted(finished, key=lambda prefix: -log_probability(prefix) / penalty(len(prefix)))


@all_penalties
@pytest.mark.parametrize("beam", [1, 2, 3])
@pytest.mark.parametrize("seed", range(6))
def test_giving_up_loses_nothing(penalty: LengthPenalty, beam: int, seed: int) -> None:
    limit = 7
    decoder, log_probability = random_toy(seed)
    (found,) = search(decoder, BOS, EOS, [limit], beam, penalty, n_best=beam)
    expected = plain_search(log_probability, limit, beam, penalty)[:beam]
    assert [h.tokens for h in found] == [
        tuple(token for token in sentence if token != EOS) for sentence in expected
    ]


# Beam search with a model


@all_penalties
def test_beam_of_one_is_greedy(model: Transformer, penalty: LengthPenalty) -> None:
    eos = likely_end(model)
    found = beam_search(model, SOURCE, BOS, eos, 1, penalty, max_length=15)
    assert [list(best.tokens) for best, *_ in found] == by_greedy(model, SOURCE, eos, max_length=15)


@all_penalties
@pytest.mark.parametrize("max_length", [12, 6])
def test_n_best_are_sorted_different_and_scored_as_forced_decoding_does(
    model: Transformer, penalty: LengthPenalty, max_length: int
) -> None:
    eos, n_best = likely_end(model), 4
    found = beam_search(model, SOURCE, BOS, eos, 5, penalty, n_best, max_length)
    for source, hypotheses in zip(SOURCE, found, strict=True):
        assert len({hypothesis.tokens for hypothesis in hypotheses}) == n_best
        assert all(one.score >= two.score for one, two in pairwise(hypotheses))
        for hypothesis in hypotheses:
            end = [eos] if len(hypothesis.tokens) < max_length else []
            target = [BOS, *hypothesis.tokens, *end]
            forced = sequence_log_probability(
                model, source[None], torch.tensor([target[:-1]]), torch.tensor([target[1:]])
            )
            assert hypothesis.log_probability == pytest.approx(forced.item(), abs=1e-9)
            assert hypothesis.score == hypothesis.log_probability / penalty(len(target) - 1)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"beam": 0}, "beam must be a whole number of at least 1; got 0"),
        ({"beam": -1}, "beam must be a whole number of at least 1; got -1"),
        ({"beam": 1.5}, "beam must be a whole number of at least 1; got 1.5"),
        ({"beam": VOCAB + 1}, f"at most the size of the vocabulary, {VOCAB}.* got {VOCAB + 1}"),
        ({"n_best": 0}, "n_best must be between 1 and the beam, 5; got 0"),
        ({"n_best": 6}, "n_best must be between 1 and the beam, 5; got 6. Use a wider beam"),
    ],
)
def test_impossible_searches_are_refused(settings: dict[str, float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        beam_search(small_model(), SOURCE, BOS, EOS, **settings)


def test_beam_may_be_as_wide_as_the_vocabulary() -> None:
    ((best,),) = beam_search(small_model(), SOURCE[:1], BOS, EOS, VOCAB, max_length=3)
    assert len(best.tokens) <= 3


def test_limit_of_no_tokens_is_refused() -> None:
    with pytest.raises(ValueError, match="each limit must be at least 1 token; got 0"):
        search(toy(EARLY_END, 2), BOS, EOS, [3, 0])


def test_nothing_to_search_for_finds_nothing() -> None:
    assert search(toy(EARLY_END, 0), BOS, EOS, []) == []


@pytest.mark.parametrize("alpha", [-0.1, math.nan])
def test_negative_length_penalty_is_refused(alpha: float) -> None:
    with pytest.raises(ValueError, match=f"alpha must be zero or more; got {alpha}"):
        gnmt(alpha)
