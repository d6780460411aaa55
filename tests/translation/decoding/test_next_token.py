import math
from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from transformer_course.model import Transformer, evaluating
from transformer_course.translation.decoding.cached import CachedDecoder
from transformer_course.translation.decoding.next_token import (
    greedy,
    next_token_probabilities,
    sample,
)
from transformer_course.translation.decoding.prefix_scorers import (
    FunctionScorer,
    PrefixScorer,
    UncachedDecoder,
)

from ...model.small import PAD, VOCAB, both_norm_orders, small_model
from .searches import (
    BOS,
    EOS,
    MAX_LEN,
    SOURCE,
    all_methods,
    by_beam,
    by_greedy,
    by_sampling,
    likely_end,
)


class Compared:
    """Steps two decoders and holds their logits against each other."""

    def __init__(self, model: Transformer, source_ids: Tensor, atol: float) -> None:
        self.decoders = UncachedDecoder(model, source_ids), CachedDecoder(model, source_ids)
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
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_every_step_of_every_method_equals_the_uncached_one(
    method: Callable, norm_first: bool, dtype: torch.dtype
) -> None:
    model = small_model(max_len=MAX_LEN, norm_first=norm_first).to(dtype)
    made: list[Compared] = []

    def compared(model: Transformer, source_ids: Tensor) -> Compared:
        made.append(Compared(model, source_ids, 1e-5 if dtype.itemsize == 4 else 1e-10))
        return made[-1]

    settings = {"eos": likely_end(model), "max_length": 12}
    outputs = [
        method(model, SOURCE, **settings, decoder=decoder)
        for decoder in (compared, CachedDecoder, UncachedDecoder)
    ]
    assert outputs == outputs[:1] * 3
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
    with pytest.raises(RuntimeError), evaluating(model):
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

    def padding_first(model: Transformer, source_ids: Tensor) -> PrefixScorer:
        return FunctionScorer(lambda prefix: likely, len(source_ids))

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

    def __call__(self, model: Transformer, source_ids: Tensor) -> PrefixScorer:
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
        decoder=lambda *_: FunctionScorer(lambda prefix: logits.tolist(), sentences),
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

    def two_words(model: Transformer, source_ids: Tensor) -> PrefixScorer:
        return FunctionScorer(lambda prefix: logits, len(source_ids))

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
        ({"temperature": 0.0}, "temperature must be positive and finite; got 0.0. .* use greedy"),
        ({"temperature": -1.0}, "temperature must be positive and finite; got -1.0"),
        ({"temperature": math.inf}, "temperature must be positive and finite; got inf"),
        ({"temperature": 1e-40}, "temperature must be positive and finite; got 1e-40"),
        ({"temperature": math.nan}, "temperature must be positive and finite; got nan"),
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


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32, torch.float64])
@pytest.mark.parametrize("temperature", [1e-30, 1e-4, 1e30])
def test_extreme_temperatures_take_the_best_or_all(temperature: float, dtype: torch.dtype) -> None:
    found = next_token_probabilities(LOGITS.to(dtype), temperature)
    flat = torch.full_like(found, 1 / LOGITS.shape[-1])
    torch.testing.assert_close(found, flat if temperature > 1 else found.round())
    torch.testing.assert_close(found.sum(dim=-1), torch.ones_like(found.sum(dim=-1)))


@all_methods
def test_scores_that_are_not_numbers_are_refused(method: Callable) -> None:
    model = small_model()
    with torch.no_grad():
        model.output.weight.fill_(math.nan)
    with pytest.raises(ValueError, match="are the weights finite"):
        method(model, SOURCE)


def test_short_whole_numbers_are_ids_too() -> None:
    model = small_model()
    assert greedy(model, SOURCE.int(), BOS, EOS).equal(greedy(model, SOURCE, BOS, EOS))
