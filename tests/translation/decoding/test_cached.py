from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from transformer_course.model import (
    Transformer,
    capture_attention,
    evaluating,
    silenced_heads,
)
from transformer_course.model.variants import DeltaAttention, GroupedQueryAttention
from transformer_course.translation.corpora.vocabulary import BOS, EOS
from transformer_course.translation.decoding import cached
from transformer_course.translation.decoding.cached import (
    BLOCK,
    CachedDecoder,
    Sentences,
    encode_by_length,
    packed,
)
from transformer_course.translation.decoding.next_token import greedy
from transformer_course.translation.decoding.prefix_scorers import (
    FunctionScorer,
    PrefixScorer,
    UncachedDecoder,
)

from ...model.small import PAD, VOCAB, both_norm_orders, small_model

MAX_LEN = 2 * BLOCK + 3  # the caches grow three times
SOURCES = {
    "padded": torch.tensor([[5, 6, 7, 8, 2], [9, 5, 2, PAD, PAD], [4, 2, PAD, PAD, PAD]]),
    "full": torch.tensor([[5, 6, 7], [9, 5, 2], [4, 3, 2]]),
    "one empty": torch.tensor([[5, 6, 2], [PAD, PAD, PAD], [9, 2, PAD]]),
}
SOURCE = SOURCES["padded"]

MakeDecoder = Callable[[Transformer, Tensor], PrefixScorer]


all_decoders = pytest.mark.parametrize("decoder", [UncachedDecoder, CachedDecoder])


def words(rows: int, seed: int) -> Tensor:
    """Draw one token per row; none is padding."""
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(PAD + 1, VOCAB, (rows,), generator=generator)


def check_steps(decoders: list[PrefixScorer], rows: int, steps: int, atol: float = 1e-10) -> None:
    """Let all decoders read the same tokens, and hold their logits against the first one's."""
    for seed in range(steps):
        tokens = words(rows, seed)
        expected, *others = (decoder.step(tokens) for decoder in decoders)
        for logits in others:
            torch.testing.assert_close(logits, expected, rtol=0, atol=atol)


@both_norm_orders
@pytest.mark.parametrize("positions", ["sinusoidal", "learned"])
@pytest.mark.parametrize("source", SOURCES.values(), ids=SOURCES)
def test_every_step_equals_a_pass_over_the_whole_prefix(
    norm_first: bool, positions: str, source: Tensor
) -> None:
    model = small_model(max_len=MAX_LEN, norm_first=norm_first, positions=positions)
    with evaluating(model):
        decoders = [UncachedDecoder(model, source), CachedDecoder(model, source)]
        check_steps(decoders, rows=3, steps=MAX_LEN)


@both_norm_orders
def test_single_precision_is_as_good_as_its_digits(norm_first: bool) -> None:
    model = small_model(max_len=MAX_LEN, norm_first=norm_first).float()
    with evaluating(model):
        decoders = [UncachedDecoder(model, SOURCE), CachedDecoder(model, SOURCE)]
        check_steps(decoders, rows=3, steps=MAX_LEN, atol=1e-5)


@pytest.mark.parametrize(
    "parents",
    [[2, 1, 0], [0, 0, 1, 1, 2, 2], [0, 1, 1, 1], [1], [0, 2], [2, 0, 0], [1, 0, 1, 2, 2, 2, 0]],
    ids=str,
)
@both_norm_orders
def test_rows_continue_what_their_parents_read(norm_first: bool, parents: list[int]) -> None:
    model = small_model(norm_first=norm_first)
    with evaluating(model):
        decoders = [UncachedDecoder(model, SOURCE), CachedDecoder(model, SOURCE)]
        check_steps(decoders, rows=3, steps=3)
        for decoder in decoders:
            decoder.reorder(torch.tensor(parents))
        check_steps(decoders, rows=len(parents), steps=3)


@st.composite
def reorderings(draw: st.DrawFn) -> list[list[int]]:
    rows, result = 3, []
    for _ in range(draw(st.integers(1, 6))):
        parents = st.lists(st.integers(0, rows - 1), min_size=1, max_size=7)
        result.append(draw(st.one_of(parents, parents.map(sorted))))
        rows = len(result[-1])
    return result


@settings(max_examples=15, deadline=None)
@given(reorderings())
def test_rows_may_be_rearranged_again_and_again(reorderings: list[list[int]]) -> None:
    model = small_model()
    with evaluating(model):
        decoders = [make(model, SOURCE) for make in (UncachedDecoder, CachedDecoder)]
        for parents in [[0, 1, 2], *reorderings]:
            for decoder in decoders:
                decoder.reorder(torch.tensor(parents))
            check_steps(decoders, rows=len(parents), steps=1)


@all_decoders
def test_no_row_may_be_left(decoder: MakeDecoder) -> None:
    model = small_model()
    with evaluating(model):
        rows = decoder(model, SOURCE)
        rows.step(words(3, 0))
        rows.reorder(torch.tensor([], dtype=torch.long))


@contextmanager
def lengths_read(module: torch.nn.Module) -> Iterator[list[int]]:
    """Note how many positions the module gets at each call."""
    lengths: list[int] = []
    hook = module.register_forward_pre_hook(lambda _, inputs: lengths.append(inputs[0].shape[1]))
    yield lengths
    hook.remove()


def test_source_is_projected_once_and_each_target_position_once() -> None:
    model = small_model()
    layer = model.decoder.layers[1]
    with (
        evaluating(model),
        lengths_read(layer.cross_attention.key_projection) as source_keys,
        lengths_read(layer.add_norm_self_attention) as positions,
    ):
        decoder = CachedDecoder(model, SOURCE)
        assert source_keys == [5]
        for step in range(1, 5):
            check_steps([decoder], rows=3, steps=1)
            assert [kept.shape[2] for kept in decoder.layers[1].target] == [step, step]
    assert source_keys == [5]
    assert positions == [1, 1, 1, 1]


def test_each_sentence_begins_with_a_fresh_cache() -> None:
    model = small_model()
    with evaluating(model):
        check_steps([CachedDecoder(model, SOURCE)], rows=3, steps=3)
        decoders = [UncachedDecoder(model, SOURCE), CachedDecoder(model, SOURCE)]
        check_steps(decoders, rows=3, steps=3)


def test_silenced_heads_are_silent_here_too() -> None:
    model = small_model()
    with evaluating(model):
        decoder, usual = CachedDecoder(model, SOURCE), CachedDecoder(model, SOURCE)
        heads = [("decoder.layers.0.self_attention", 1), ("decoder.layers.1.cross_attention", 3)]
        with silenced_heads(model, heads):
            check_steps([UncachedDecoder(model, SOURCE), decoder], rows=3, steps=3)
            silenced = decoder.step(words(3, 3))
        check_steps([usual], rows=3, steps=3)
        assert (silenced - usual.step(words(3, 3))).abs().max() > 1e-3


def test_attention_can_be_captured() -> None:
    model = small_model()
    with evaluating(model):
        decoder, uncached = CachedDecoder(model, SOURCE), UncachedDecoder(model, SOURCE)
        check_steps([decoder, uncached], rows=3, steps=2)
        with capture_attention(model) as maps:
            decoder.step(words(3, 2))
        with capture_attention(model) as expected:
            uncached.step(words(3, 2))
    assert list(maps) == list(expected)
    for path, weights in maps.items():
        torch.testing.assert_close(weights, expected[path][:, :, -1:], rtol=0, atol=1e-10)


@all_decoders
def test_too_long_source_is_refused(decoder: MakeDecoder) -> None:
    model = small_model()
    too_long = torch.full((1, model.config.max_len + 1), 5)
    with pytest.raises(ValueError, match=r"13 positions.*max_len=12. Shorten"):
        decoder(model, too_long)


@all_decoders
def test_step_beyond_the_last_position_is_refused(decoder: MakeDecoder) -> None:
    model = small_model()
    with evaluating(model):
        rows = decoder(model, SOURCE)
        check_steps([rows], rows=3, steps=model.config.max_len)
        with pytest.raises(ValueError, match=r"max_len=12"):
            rows.step(words(3, 0))


@all_decoders
def test_dropout_is_refused(decoder: MakeDecoder) -> None:
    model = small_model().train()
    with pytest.raises(ValueError, match="inside `with evaluating"):
        decoder(model, SOURCE)


def change_in_place(model: Transformer) -> None:
    with torch.no_grad():
        for weight in model.parameters():
            weight.mul_(1.5)


def load_others(model: Transformer) -> None:
    model.load_state_dict(small_model(seed=1).state_dict())


def take_a_step(model: Transformer) -> None:
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.1, fused=True)
    model(SOURCE, SOURCE).square().mean().backward()
    optimizer.step()


def update_by_hand(model: Transformer) -> None:
    model(SOURCE, SOURCE).square().mean().backward()
    for weight in model.parameters():
        if weight.grad is not None:
            weight.data -= 0.1 * weight.grad


CHANGES = [change_in_place, load_others, take_a_step, update_by_hand, Transformer.float]


@pytest.mark.parametrize("change", CHANGES)
def test_changed_weights_are_seen(change: Callable[[Transformer], object]) -> None:
    model = small_model()
    with evaluating(model):
        check_steps([CachedDecoder(model, SOURCE)], rows=3, steps=1)
    change(model)
    with evaluating(model):
        decoders = [UncachedDecoder(model, SOURCE), CachedDecoder(model, SOURCE)]
        check_steps(decoders, rows=3, steps=2, atol=1e-5 if change is Transformer.float else 1e-10)


def test_weights_are_copied_once() -> None:
    model = small_model()
    assert packed(model.output) is packed(model.output)


def test_model_made_in_inference_mode_decodes() -> None:
    with torch.inference_mode():
        model = small_model()
        for _ in range(2):
            decoders = [UncachedDecoder(model, SOURCE), CachedDecoder(model, SOURCE)]
            check_steps(decoders, rows=3, steps=2)
            model.output.weight.mul_(2)


def test_prefix_decoder_asks_for_each_rows_prefix_behind_the_begin_token() -> None:
    asked: list[tuple[int, ...]] = []

    def logits(prefix: tuple[int, ...]) -> list[float]:
        asked.append(prefix)
        return [0.0, float(len(prefix))]

    decoder = FunctionScorer(logits, sentences=2)
    assert isinstance(decoder, PrefixScorer)
    assert decoder.step(torch.tensor([1, 1])).tolist() == [[0, 0], [0, 0]]
    decoder.step(torch.tensor([5, 6]))
    decoder.reorder(torch.tensor([1, 1, 0]))
    assert decoder.step(torch.tensor([7, 8, 9])).tolist() == [[0, 2], [0, 2], [0, 2]]
    assert asked == [(), (), (5,), (6,), (6, 7), (6, 8), (5, 9)]


@pytest.mark.parametrize("bucket", [1, 2, 3])
def test_sentences_encoded_by_length_are_the_same(
    bucket: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cached, "BUCKET", bucket)
    model = small_model()
    source = torch.tensor([[5, 6, 7, 8], [9, PAD, PAD, PAD], [4, 3, PAD, PAD], [PAD] * 4])
    real = source != PAD
    with torch.no_grad():
        memory, expected = encode_by_length(model, source), model.encode(source)
    torch.testing.assert_close(memory[real], expected[real])


def test_hypotheses_share_the_source_of_their_sentence() -> None:
    model = small_model()
    with evaluating(model):
        decoder = CachedDecoder(model, SOURCE)
        sources = [layer.source for layer in decoder.layers]
        decoder.reorder(torch.tensor([0, 0, 1, 1, 1, 2]))
        assert [layer.source for layer in decoder.layers] == sources
        decoder.reorder(torch.tensor([5, 2, 4]))  # the first sentence has ended
        for layer, (key, value) in zip(decoder.layers, sources, strict=True):
            assert layer.source[0].equal(key[1:]) and layer.source[1].equal(value[1:])


@pytest.mark.parametrize(
    "of_row", [[0, 1, 2], [0, 0, 1, 1], [1, 0, 1, 2, 0, 1], [0, 0, 0]], ids=str
)
def test_rows_of_a_sentence_stand_side_by_side(of_row: list[int]) -> None:
    sentences = Sentences(torch.tensor(of_row))
    x = torch.arange(1.0, 1 + len(of_row)).view(-1, 1, 1)
    beside = sentences.side_by_side(x)
    for number in set(of_row):
        own = [place + 1 for place, of in enumerate(of_row) if of == number]
        assert [value for value in beside[number].flatten().tolist() if value] == own
    assert sentences.in_rows(beside).equal(x)


@pytest.mark.parametrize("variant", [DeltaAttention, partial(GroupedQueryAttention, groups=1)])
def test_attention_of_another_class_is_decoded_without_a_cache(variant: Callable) -> None:
    model = small_model()
    config = model.config
    with torch.no_grad():
        for layer in model.decoder.layers:
            layer.self_attention = variant(config.d_model, config.heads).double()
    wanted = greedy(model, SOURCE, BOS, EOS, decoder=UncachedDecoder)
    assert greedy(model, SOURCE, BOS, EOS).equal(wanted)
    with evaluating(model), pytest.raises(ValueError, match="decode with UncachedDecoder"):
        CachedDecoder(model, SOURCE)


def test_a_model_that_adds_no_positions_is_decoded_without_a_cache() -> None:
    model = small_model()
    model.target_positions = torch.nn.Identity()
    found = greedy(model, SOURCE, BOS, EOS, 4)
    assert found.equal(greedy(model, SOURCE, BOS, EOS, 4, decoder=UncachedDecoder))
    with evaluating(model), pytest.raises(ValueError, match="decode with UncachedDecoder"):
        CachedDecoder(model, SOURCE)
