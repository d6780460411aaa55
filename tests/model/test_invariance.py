"""The invariance suite: right models pass, and each broken model is caught.

A naive test, of shapes and of any gradient, passes every one of the broken models.
"""

from collections.abc import Callable

import pytest
import torch.nn.functional as F

from transformer_course.model import Transformer, capture_attention

from . import broken_models as broken
from .invariance import CHECKS, failed_checks
from .small import VOCAB, both_norm_orders, other_tokens, random_ids, small_model

Break = Callable[[Transformer], None]

# The twelve broken models and the checks made for them; both norm orders fail the same ones.
TWELVE: dict[Break, set[str]] = {
    broken.no_mask: {
        "later_target_tokens_change_nothing",
        "padding_changes_nothing",
        "decoder_knows_the_source_by_its_memory_alone",
    },
    broken.inverted_mask: {
        "later_target_tokens_change_nothing",
        "earlier_target_tokens_reach_every_logit",
        "source_tokens_reach_every_logit",
        "padding_changes_nothing",
    },
    broken.no_scale: {"temperature_is_the_root_of_d_k"},
    broken.softmax_over_queries: {"queries_do_not_compete", "attention_weights_sum_to_one"},
    broken.no_softmax: {"attention_weights_sum_to_one"},
    broken.wrong_head_view: {"attention_ignores_the_order_of_memory"},
    broken.cross_attention_ignoring_memory: {"source_tokens_reach_every_logit"},
    broken.no_residual: {"input_passes_silent_sublayers"},
    broken.no_relu: {"feed_forward_is_not_affine"},
    broken.zero_positional_encoding: {"positions_tell_repeated_tokens_apart"},
    broken.detached_decoder: {"gradient_reaches_every_parameter"},
    broken.key_projection_for_queries: {"gradient_reaches_every_parameter"},
}
# Others, because each check must be seen to fail.
BEYOND: dict[Break, set[str]] = {
    broken.mask_of_the_first_sentence_for_all: {"batch_order_only_reorders_the_logits"},
    broken.norm_over_the_batch: {"batch_mates_change_nothing"},
    broken.wrong_head_view_both_ways: {"attention_ignores_the_order_of_memory"},
}
CAUGHT_BY = TWELVE | BEYOND

every_broken_model = pytest.mark.parametrize("break_model", CAUGHT_BY, ids=lambda f: f.__name__)


def passes_the_naive_test(model: Transformer) -> bool:
    source, target = random_ids(3, 5), random_ids(3, 7)
    logits = model(source, target)
    F.cross_entropy(logits.flatten(0, 1), other_tokens(target).flatten()).backward()
    gradients = [p.grad for p in model.parameters() if p.grad is not None]
    return (
        logits.shape == (3, 7, VOCAB)
        and bool(logits.isfinite().all())
        and any(bool(gradient.any()) for gradient in gradients)
    )


@both_norm_orders
@pytest.mark.parametrize("positions", ["sinusoidal", "learned"])
@pytest.mark.parametrize("tying", ["three_way", "two_way", "none"])
def test_right_model_passes_every_check(norm_first: bool, positions: str, tying: str) -> None:
    model = small_model(norm_first=norm_first, positions=positions, tying=tying)
    assert failed_checks(model) == set()


@both_norm_orders
def test_right_model_passes_every_check_on_the_textbook_path(norm_first: bool) -> None:
    model = small_model(norm_first=norm_first)
    with capture_attention(model):
        assert failed_checks(model) == set()


@both_norm_orders
@every_broken_model
def test_broken_model_passes_the_naive_test(break_model: Break, norm_first: bool) -> None:
    model = small_model(norm_first=norm_first)
    break_model(model)
    assert passes_the_naive_test(model)


@both_norm_orders
@every_broken_model
def test_broken_model_is_caught(break_model: Break, norm_first: bool) -> None:
    model = small_model(norm_first=norm_first)
    break_model(model)
    assert failed_checks(model) >= CAUGHT_BY[break_model]


def test_every_check_catches_something() -> None:
    assert set.union(*CAUGHT_BY.values()) == {check.__name__ for check in CHECKS}
