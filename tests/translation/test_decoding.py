import math
import random
from collections.abc import Callable
from itertools import pairwise, product

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from transformer_course.model import Transformer, inference_mode
from transformer_course.translation.cached_decoder import (
    CachedDecoder,
    Decoder,
    PrefixDecoder,
    UncachedDecoder,
)
from transformer_course.translation.decoding import (
    Hypothesis,
    LengthPenalty,
    beam_search,
    gnmt,
    greedy,
    mean_length,
    next_token_probabilities,
    sample,
    search,
    sequence_log_probability,
)
from transformer_course.translation.fast_decoding import FastDecoding

from ..model.small import PAD, VOCAB, both_norm_orders, small_model

BOS, EOS = 1, 2
SOURCE = torch.tensor([[5, 6, 7, 8, EOS], [9, 5, EOS, PAD, PAD], [4, EOS, PAD, PAD, PAD]])
MAX_LEN = 70
PENALTIES = {"none": gnmt(0), "mean": mean_length, "gnmt .6": gnmt(0.6), "gnmt 1": gnmt(1)}
all_penalties = pytest.mark.parametrize("penalty", PENALTIES.values(), ids=PENALTIES)


@pytest.fixture(params=[0, 1, 2])
def model(request: pytest.FixtureRequest) -> Transformer:
    """Return an untrained model, whose outputs are as good as random but depend on the source."""
    return small_model(request.param, max_len=MAX_LEN, dropout=0.3)


# Each method as a function to the tokens of each sentence, end token and padding left out.


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


class Compared:
    """Steps two decoders and holds their logits against each other."""

    def __init__(self, model: Transformer, source_ids: Tensor, cached: type, atol: float) -> None:
        self.decoders = UncachedDecoder(model, source_ids), cached(model, source_ids)
        self.atol = atol
        self.steps = 0

    def step(self, tokens: Tensor) -> Tensor:
        expected, logits = (decoder.step(tokens) for decoder in self.decoders)
        torch.testing.assert_close(logits, expected, rtol=0, atol=self.atol)
        self.steps += 1
        return logits

    def reorder(self, parents: Tensor) -> None:
        for decoder in self.decoders:
            decoder.reorder(parents)


@all_methods
@both_norm_orders
@pytest.mark.parametrize("fast", [False, True], ids=["cached", "fast"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_every_step_of_every_method_equals_the_uncached_one(
    method: Callable, norm_first: bool, fast: bool, dtype: torch.dtype
) -> None:
    model = small_model(max_len=MAX_LEN, norm_first=norm_first).to(dtype)
    cached = FastDecoding(model) if fast else CachedDecoder
    made: list[Compared] = []

    def compared(model: Transformer, source_ids: Tensor) -> Decoder:
        made.append(Compared(model, source_ids, cached, 1e-5 if dtype.itemsize == 4 else 1e-10))
        return made[-1]

    settings = {"eos": likely_end(model), "max_length": 12}
    outputs = [
        method(model, SOURCE, **settings, decoder=decoder)
        for decoder in (compared, cached, CachedDecoder, UncachedDecoder)
    ]
    assert outputs == outputs[:1] * 4
    assert made[0].steps >= max(len(row) for row in outputs[0])


@all_methods
def test_neighbours_in_the_batch_change_nothing(method: Callable, model: Transformer) -> None:
    settings = {"eos": likely_end(model), "max_length": 12}
    together = method(model, SOURCE, **settings)
    assert len({len(row) for row in together}) > 1  # they end at different steps
    others = torch.tensor([[9, 3, 10, 11, 12], [9, 5, EOS, PAD, PAD], [7, 7, 7, 7, EOS]])
    assert method(model, others, **settings)[1] == together[1]
    if method in (by_greedy, by_beam):  # random draws depend on the place in the batch
        for row, source in zip(together, SOURCE, strict=True):
            assert method(model, source[source != PAD][None], **settings) == [row]


@all_methods
def test_dropout_is_off_and_comes_back(method: Callable, model: Transformer) -> None:
    evaluated = method(model.eval(), SOURCE, max_length=8)
    assert not model.training
    assert method(model.train(), SOURCE, max_length=8) == evaluated
    assert all(module.training for module in model.modules())


def test_inference_mode_is_left_after_an_error_too(model: Transformer) -> None:
    model.train()
    with pytest.raises(RuntimeError), inference_mode(model):
        assert not model.training
        assert not torch.is_grad_enabled()
        raise RuntimeError
    assert model.training
    assert torch.is_grad_enabled()


@all_methods
def test_model_encodes_once(
    method: Callable, model: Transformer, monkeypatch: pytest.MonkeyPatch
) -> None:
    encodings: list[Tensor] = []
    encode = model.encode
    monkeypatch.setattr(model, "encode", lambda ids: [encodings.append(ids), encode(ids)][1])
    method(model, SOURCE, max_length=8)
    assert len(encodings) == 1


@all_methods
def test_padding_is_never_said(method: Callable, model: Transformer) -> None:
    likely = [0.0] * VOCAB
    likely[PAD], likely[5] = 30.0, 20.0

    def padding_first(model: Transformer, source_ids: Tensor) -> Decoder:
        return PrefixDecoder(lambda prefix: likely, len(source_ids))

    assert method(model, SOURCE, max_length=3, decoder=padding_first) == [[5, 5, 5]] * 3


@all_methods
def test_length_limits_below_one_are_refused(method: Callable, model: Transformer) -> None:
    for max_length in (0, -1):
        message = f"max_length must be at least 1 token; got {max_length}"
        with pytest.raises(ValueError, match=message):
            method(model, SOURCE, max_length=max_length)


@all_methods
def test_source_longer_than_the_model_reads_is_refused(
    method: Callable, model: Transformer
) -> None:
    with pytest.raises(ValueError, match=r"71 positions.*max_len=70. Shorten"):
        method(model, torch.full((2, MAX_LEN + 1), 5))


@all_methods
def test_empty_batch_is_refused(method: Callable, model: Transformer) -> None:
    with pytest.raises(ValueError, match="at least one sentence"):
        method(model, torch.zeros(0, 3, dtype=torch.long))


# Greedy


class Parrot:
    """Says what it was told to, whatever it reads, and notes how many rows each step has."""

    def __init__(self, sentences: list[list[int]]) -> None:
        self.sentences = torch.tensor(sentences)
        self.rows: list[int] = []

    def __call__(self, model: Transformer, source_ids: Tensor) -> Decoder:
        return self

    def step(self, tokens: Tensor) -> Tensor:
        self.rows.append(len(tokens))
        return F.one_hot(self.sentences[:, len(self.rows) - 1], VOCAB).double()

    def reorder(self, parents: Tensor) -> None:
        self.sentences = self.sentences[parents]


def test_each_row_stops_at_its_end_token_and_is_filled_with_padding(model: Transformer) -> None:
    parrot = Parrot([[5, EOS, 9, 9, 9], [5, 6, 7, EOS, 9], [EOS, 9, 9, 9, 9]])
    assert greedy(model, SOURCE, BOS, EOS, decoder=parrot).tolist() == [
        [5, EOS, PAD, PAD],
        [5, 6, 7, EOS],
        [EOS, PAD, PAD, PAD],
    ]
    assert parrot.rows == [3, 2, 1, 1]  # what has ended costs nothing more


def test_length_limit_holds(model: Transformer) -> None:
    parrot = Parrot([[5] * 9, [6] * 9, [7, EOS, *[9] * 7]])
    assert greedy(model, SOURCE, BOS, EOS, max_length=3, decoder=parrot).tolist() == [
        [5, 5, 5],
        [6, 6, 6],
        [7, EOS, PAD],
    ]


def test_model_of_one_position_says_one_token() -> None:
    output = greedy(small_model(max_len=1), torch.tensor([[EOS]]), BOS, EOS)
    assert output.shape == (1, 1)


def test_each_sentence_may_grow_by_fifty_tokens(model: Transformer) -> None:
    for source, lengths in ((SOURCE, [55, 53, 52]), (SOURCE.flip(0), [52, 53, 55])):
        output = greedy(model, source, BOS, EOS, decoder=Parrot([[5] * 80] * 3))
        assert (output != PAD).sum(dim=1).tolist() == lengths


def test_no_output_is_longer_than_the_model_can_read_back(model: Transformer) -> None:
    parrot = Parrot([[5] * 80] * 3)
    output = greedy(model, SOURCE, BOS, EOS, max_length=80, decoder=parrot)
    assert output.shape == (3, MAX_LEN - 1)
    model(SOURCE, torch.cat([torch.full((3, 1), BOS), output], dim=1))


def decoded_alone(model: Transformer, source: Tensor, eos: int, max_length: int) -> list[int]:
    """Decode one sentence the plain way."""
    model.eval()
    target = [BOS]
    while target[-1] != eos and len(target) <= max_length:
        logits = model(source[None], torch.tensor([target]))[0, -1].tolist()
        target.append(max(range(PAD + 1, VOCAB), key=lambda token: logits[token]))
    return target[1:]


def test_greedy_equals_a_plain_loop_over_sentences(model: Transformer) -> None:
    for eos in (EOS, likely_end(model)):
        batch = greedy(model, SOURCE, BOS, eos, max_length=12)
        for row, source in zip(batch, SOURCE, strict=True):
            alone = decoded_alone(model, source[source != PAD], eos, max_length=12)
            assert row.tolist() == alone + [PAD] * (len(row) - len(alone))


def test_output_can_be_trained_on(model: Transformer) -> None:
    output = greedy(model, SOURCE, BOS, EOS, max_length=4)
    model(SOURCE, output).sum().backward()


# Sampling

LOGITS = torch.tensor([0.5, 0.3, 0.15, 0.05], dtype=torch.float64).log()


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({}, [0.5, 0.3, 0.15, 0.05]),
        ({"top_k": 2}, [5 / 8, 3 / 8, 0, 0]),
        ({"top_k": 9}, [0.5, 0.3, 0.15, 0.05]),
        ({"top_p": 0.79}, [5 / 8, 3 / 8, 0, 0]),
        ({"top_p": 0.81}, [50 / 95, 30 / 95, 15 / 95, 0]),
        ({"top_p": 1.0}, [0.5, 0.3, 0.15, 0.05]),
        # Of the three that are left the first two have 80/95, about .84.
        ({"top_k": 3, "top_p": 0.83}, [5 / 8, 3 / 8, 0, 0]),
        ({"temperature": 0.5}, [25 / 36.5, 9 / 36.5, 2.25 / 36.5, 0.25 / 36.5]),
        ({"temperature": 0.5, "top_p": 0.7}, [25 / 34, 9 / 34, 0, 0]),
    ],
)
def test_probabilities_by_hand(settings: dict[str, float], expected: list[float]) -> None:
    # In another order, so that places must be put back.
    order = torch.tensor([2, 0, 3, 1])
    probabilities = next_token_probabilities(LOGITS[order], **settings)
    wanted = torch.tensor(expected, dtype=torch.float64)[order]
    torch.testing.assert_close(probabilities, wanted, rtol=0, atol=1e-12)


def test_of_equally_probable_tokens_the_first_is_kept() -> None:
    probabilities = next_token_probabilities(torch.zeros(2, 1000), top_k=1)
    assert probabilities.nonzero().tolist() == [[0, 0], [1, 0]]


rows_of_logits = st.lists(st.floats(-9, 9), min_size=1, max_size=12).map(torch.tensor)


@settings(deadline=None)
@given(rows_of_logits, st.integers(1, 12), st.floats(0.01, 1), st.floats(0.1, 9))
def test_kept_tokens_are_the_most_probable_and_no_more_than_needed(
    logits: Tensor, top_k: int, top_p: float, temperature: float
) -> None:
    logits = logits.double()
    before = next_token_probabilities(logits, temperature)
    after = next_token_probabilities(logits, temperature, top_k, top_p)
    kept = after > 0
    assert after.sum().item() == pytest.approx(1)
    torch.testing.assert_close(after[kept] * before[kept].sum(), before[kept])
    if not kept.all():
        assert before[kept].min() >= before[~kept].max()
    assert kept.sum() <= top_k
    best = before.sort(descending=True).values[:top_k]
    mass = before[kept].sum() / best.sum()
    assert mass >= top_p - 1e-9
    assert mass - before[kept].min() / best.sum() <= top_p + 1e-9  # without the last: too little


def chi_square(counts: Tensor, probabilities: Tensor) -> float:
    """Distance from the expected counts, in standard deviations beyond its mean."""
    possible = probabilities > 0
    assert counts[~possible].sum() == 0
    expected = probabilities[possible] * counts.sum()
    distance = ((counts[possible] - expected) ** 2 / expected).sum().item()
    freedom = int(possible.sum()) - 1
    return (distance - freedom) / math.sqrt(2 * freedom)


@pytest.mark.parametrize(
    "settings", [{}, {"temperature": 1.5}, {"top_k": 4}, {"top_p": 0.8}], ids=str
)
def test_frequencies_match_the_probabilities(settings: dict[str, float]) -> None:
    sentences = 4000
    logits = torch.linspace(-1.5, 1.5, VOCAB, dtype=torch.float64)
    logits[[PAD, EOS]] = -torch.inf
    drawn = sample(
        small_model(),
        torch.full((sentences, 1), EOS),
        BOS,
        EOS,
        torch.Generator().manual_seed(0),
        max_length=2,
        decoder=lambda *_: PrefixDecoder(lambda prefix: logits.tolist(), sentences),
        **settings,
    )
    probabilities = next_token_probabilities(logits, **settings)
    for tokens in drawn.T:
        assert chi_square(tokens.bincount(minlength=VOCAB), probabilities) < 4
    # The second token does not depend on the first: nor does the table.
    pairs = (drawn[:, 0] * VOCAB + drawn[:, 1]).bincount(minlength=VOCAB**2)
    assert chi_square(pairs, torch.outer(probabilities, probabilities).flatten()) < 4
    other = next_token_probabilities(logits, temperature=0.8)
    assert chi_square(drawn[:, 0].bincount(minlength=VOCAB), other) > 10


@pytest.mark.parametrize("number", [0.0, 1 - 2**-24])
def test_no_random_number_draws_an_impossible_token(
    number: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch, "rand", lambda *sizes, **_: torch.full(sizes, number))
    possible = {0.0: 5, 1 - 2**-24: VOCAB - 2}[number]
    logits = [0.0 if token in (5, VOCAB - 2) else -math.inf for token in range(VOCAB)]

    def two_words(model: Transformer, source_ids: Tensor) -> Decoder:
        return PrefixDecoder(lambda prefix: logits, len(source_ids))

    drawn = by_sampling(small_model(), SOURCE, max_length=2, decoder=two_words)
    assert drawn == [[possible] * 2] * 3


@pytest.mark.parametrize(
    "settings", [{"top_k": 1}, {"top_p": 1e-6}, {"temperature": 1e-4}], ids=str
)
def test_narrowest_sampling_is_greedy(model: Transformer, settings: dict[str, float]) -> None:
    eos = likely_end(model)
    narrow = by_sampling(model, SOURCE, eos, max_length=12, **settings)
    assert narrow == by_greedy(model, SOURCE, eos, max_length=12)


def test_widest_sampling_leaves_nothing_out(model: Transformer) -> None:
    everything = by_sampling(model, SOURCE, max_length=20)
    assert by_sampling(model, SOURCE, max_length=20, top_k=VOCAB, top_p=1.0) == everything


def test_only_the_generator_determines_the_sample(model: Transformer) -> None:
    before = torch.get_rng_state()
    one, again, other = (
        sample(model, SOURCE, BOS, EOS, torch.Generator().manual_seed(seed), max_length=20)
        for seed in (0, 0, 1)
    )
    assert one.equal(again)
    assert not one.equal(other)
    assert torch.get_rng_state().equal(before)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"temperature": 0.0}, "temperature must be positive; got 0.0. .* use greedy"),
        ({"temperature": -1.0}, "temperature must be positive; got -1.0"),
        ({"temperature": math.nan}, "temperature must be positive; got nan"),
        ({"top_k": 0}, "top_k must be at least 1 token; got 0"),
        ({"top_p": 0.0}, "top_p .* above 0 and at most 1; got 0.0"),
        ({"top_p": 1.1}, "top_p .* above 0 and at most 1; got 1.1"),
        ({"top_p": math.nan}, "top_p .* above 0 and at most 1; got nan"),
    ],
)
def test_impossible_sampling_is_refused(settings: dict[str, float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        next_token_probabilities(LOGITS, **settings)
    with pytest.raises(ValueError, match=message):
        sample(small_model(), SOURCE, BOS, EOS, torch.Generator(), **settings)


# Beam search: toys with known optima

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


def toy(table: Table, sentences: int = 1) -> PrefixDecoder:
    def logits(prefix: tuple[int, ...]) -> list[float]:
        row = table[prefix]
        return [math.log(row[token]) if token in row else -math.inf for token in range(VOCAB)]

    return PrefixDecoder(logits, sentences)


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

        search(PrefixDecoder(logits), BOS, EOS, [limit], 3, penalty, n_best)
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


def random_toy(seed: int, sentences: int = 1) -> tuple[PrefixDecoder, Callable]:
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

    return PrefixDecoder(logits, sentences), log_probability


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
        ({"beam": 0}, "beam must be at least 1 hypothesis; got 0. Beam 1 is greedy"),
        ({"beam": -1}, "beam must be at least 1 hypothesis; got -1"),
        ({"beam": VOCAB + 1}, f"at most the size of the vocabulary, {VOCAB}.* got {VOCAB + 1}"),
        ({"n_best": 0}, "n_best must be between 1 and the beam, 5; got 0"),
        ({"n_best": 6}, "n_best must be between 1 and the beam, 5; got 6. Use a wider beam"),
    ],
)
def test_impossible_searches_are_refused(settings: dict[str, int], message: str) -> None:
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


def test_scores_that_are_not_numbers_are_refused() -> None:
    model = small_model()
    with torch.no_grad():
        model.output.weight.fill_(math.nan)
    with pytest.raises(ValueError, match="are the weights finite"):
        beam_search(model, SOURCE, BOS, EOS)


@pytest.mark.parametrize("alpha", [-0.1, math.nan])
def test_negative_length_penalty_is_refused(alpha: float) -> None:
    with pytest.raises(ValueError, match=f"alpha must be zero or more; got {alpha}"):
        gnmt(alpha)


# Forced decoding


def test_sequence_log_probability_adds_up_the_tokens_without_padding(model: Transformer) -> None:
    pairs = [([5, 6], [7, 8, 9]), ([4], [3])]
    rows = [[BOS, *target, EOS] for _, target in pairs]
    source = torch.tensor([[5, 6, EOS], [4, EOS, PAD]])
    target = torch.tensor([rows[0], rows[1] + [PAD] * 2])
    together = sequence_log_probability(model, source, target[:, :-1], target[:, 1:])
    model.eval()
    for total, (words, _), row in zip(together, pairs, rows, strict=True):
        logits = model(torch.tensor([[*words, EOS]]), torch.tensor([row[:-1]]))[0]
        expected = -F.cross_entropy(logits, torch.tensor(row[1:]), reduction="sum")
        torch.testing.assert_close(total, expected.detach(), rtol=0, atol=1e-10)


def test_targets_of_different_shapes_are_refused(unchecked_signatures: None) -> None:
    target = torch.tensor([[BOS, 5, 6]] * 3)
    with pytest.raises(ValueError, match=r"same shape; got \(3, 3\) and \(3, 2\)"):
        sequence_log_probability(small_model(), SOURCE, target, target[:, 1:])
