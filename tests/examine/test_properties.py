"""Right models pass every test, and each test is seen to fail; the twelve have tests of their own.

The twelve broken models of the lesson stand in tests/exercises/test_broken_models.py.
"""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from transformer_course.examine.broken_models import (
    TWELVE,
    attend_by,
    broken,
    head_view_without_transpose,
    replace_class,
)
from transformer_course.examine.properties import (
    TESTS,
    effect_of_target_tokens,
    failed_tests,
    naive_test,
)
from transformer_course.model import (
    LayerNorm,
    Transformer,
    capture_attention,
    fused_attention,
)

from ..model.small import both_norm_orders, new_model, small_model

Break = Callable[[Transformer], None]


# Right models


@both_norm_orders
@pytest.mark.parametrize("make", [new_model, small_model], ids=["fresh, float32", "moved, float64"])
@pytest.mark.parametrize("positions", ["sinusoidal", "learned"])
@pytest.mark.parametrize("tying", ["three_way", "two_way", "none"])
def test_right_model_passes_every_test(
    make: Callable[..., Transformer], norm_first: bool, positions: str, tying: str
) -> None:
    model = make(norm_first=norm_first, positions=positions, tying=tying)
    assert failed_tests(model) == set()


@both_norm_orders
def test_right_model_passes_every_test_on_the_textbook_path(norm_first: bool) -> None:
    model = small_model(norm_first=norm_first)
    with capture_attention(model):
        assert failed_tests(model) == set()


@pytest.mark.parametrize("pad_id", [1, 7, 12])
def test_any_id_may_be_the_padding(pad_id: int) -> None:
    assert failed_tests(small_model(pad_id=pad_id)) == set()


def test_vocabularies_may_differ() -> None:
    assert failed_tests(small_model(source_vocab=9, target_vocab=17, tying="two_way")) == set()


def test_model_in_training_mode_passes_and_stays_there() -> None:
    model = new_model(dropout=0.5).train()
    before = {name: parameter.clone() for name, parameter in model.named_parameters()}
    assert failed_tests(model) == set()
    assert all(module.training for module in model.modules())
    assert all(torch.equal(before[name], p) for name, p in model.named_parameters())
    assert all(p.grad is None for p in model.parameters())


def test_effects_of_a_right_model_fill_the_upper_triangle() -> None:
    effect = effect_of_target_tokens(small_model())
    assert torch.equal(effect > 1e-4, torch.ones_like(effect, dtype=torch.bool).triu())


# Broken models beyond the twelve, for the tests that none of those fails alone


def mask_of_the_first_sentence_for_all(model: Transformer) -> None:
    def attend(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> Tensor:
        return fused_attention(q, k, v, None if mask is None else mask[:1])

    attend_by(model, attend)


class NormOverTheBatch(LayerNorm):
    def forward(self, x: Tensor) -> Tensor:
        mean, variance = x.mean(), x.var(correction=0)
        return self.gain * (x - mean) / (variance + self.eps).sqrt() + self.bias


def norm_over_the_batch(model: Transformer) -> None:
    replace_class(model, LayerNorm, NormOverTheBatch)


def wrong_head_view_both_ways(model: Transformer) -> None:
    """Heads that are split and merged wrongly leak nothing from later to earlier tokens."""

    def attend(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> Tensor:
        output = fused_attention(*map(head_view_without_transpose, (q, k, v)), mask)
        batch, heads, length, d_k = output.shape
        return output.reshape(batch, length, heads, d_k).transpose(1, 2)

    attend_by(model, attend)


class DecoderEncodingAgain(Transformer):
    def decode(self, target_ids: Tensor, memory: Tensor, source_ids: Tensor) -> Tensor:
        return super().decode(target_ids, self.encode(source_ids), source_ids)


def decoder_encoding_again(model: Transformer) -> None:
    model.__class__ = DecoderEncodingAgain


def scale_a_tenth_too_large(model: Transformer) -> None:
    attend_by(model, lambda q, k, v, mask: fused_attention(1.1 * q, k, v, mask))


CAUGHT_BY: dict[Break, set[str]] = {
    mask_of_the_first_sentence_for_all: {"ignores_the_batch", "reads_only_the_memory"},
    norm_over_the_batch: {"ignores_the_batch", "ignores_padding", "sees_no_future"},
    wrong_head_view_both_ways: {"ignores_memory_order", "sees_the_past"},
    decoder_encoding_again: {"reads_only_the_memory"},
    scale_a_tenth_too_large: {"divides_by_root_d_k"},
}


@both_norm_orders
@pytest.mark.parametrize("break_model", CAUGHT_BY, ids=lambda f: f.__name__)
def test_broken_model_is_caught_but_passes_the_naive_test(
    break_model: Break, norm_first: bool
) -> None:
    model = small_model(norm_first=norm_first)
    break_model(model)
    assert naive_test(model)
    assert failed_tests(model) >= CAUGHT_BY[break_model]


def test_every_test_catches_something() -> None:
    caught = [failed_tests(broken(name, small_model())) for name in TWELVE]
    assert set.union(*caught, *CAUGHT_BY.values()) == {test.__name__ for test in TESTS}


# The naive test is a test all the same


class OneTokenTooFew(Transformer):
    def decode(self, target_ids: Tensor, memory: Tensor, source_ids: Tensor) -> Tensor:
        return super().decode(target_ids, memory, source_ids)[:, :-1]


class NotANumber(Transformer):
    def decode(self, target_ids: Tensor, memory: Tensor, source_ids: Tensor) -> Tensor:
        return super().decode(target_ids, memory, source_ids) * float("nan")


class NoGradientAtAll(Transformer):
    def decode(self, target_ids: Tensor, memory: Tensor, source_ids: Tensor) -> Tensor:
        return super().decode(target_ids, memory, source_ids) * 0


@pytest.mark.parametrize("wrong", [OneTokenTooFew, NotANumber, NoGradientAtAll])
def test_naive_test_notices_wrong_shapes_nan_and_no_gradient(wrong: type[Transformer]) -> None:
    model = small_model()
    assert naive_test(model)
    model.__class__ = wrong
    assert not naive_test(model)
