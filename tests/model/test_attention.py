import math
from collections.abc import Callable
from itertools import product

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from transformer_course.model import (
    causal_mask,
    fused_attention,
    padding_mask,
    scaled_dot_product_attention,
    target_mask,
)

from .small import noise

Attention = Callable[[Tensor, Tensor, Tensor, Tensor | None], Tensor]


def textbook_attention(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None) -> Tensor:
    return scaled_dot_product_attention(q, k, v, mask)[0]


both_paths = pytest.mark.parametrize("attention", [textbook_attention, fused_attention])
half_precisions = pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])


def one_by_one(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> Tensor:
    """Serve every query alone and show it only the keys that it may see: no mask needed."""
    mask = torch.tensor(True) if mask is None else mask
    mask = mask.expand(*q.shape[:-1], k.shape[-2])
    outputs = []
    for *batch, query in product(*map(range, q.shape[:-1])):
        seen = mask[*batch, query]
        keys, values = k[*batch, seen], v[*batch, seen]
        weights = (keys @ q[*batch, query] / math.sqrt(q.shape[-1])).softmax(dim=0)
        outputs.append(weights @ values)
    return torch.stack(outputs).reshape(*q.shape[:-1], v.shape[-1])


@st.composite
def attention_inputs(draw: st.DrawFn) -> tuple[list[Tensor], Tensor | None]:
    """Draw query, key, value and mask of any fitting shapes; some rows may see no key at all."""
    size = st.integers(min_value=1, max_value=4)
    batch = tuple(draw(st.lists(size, max_size=2)))
    n_queries, n_keys, d_k, d_v = (draw(size) for _ in range(4))
    seed = draw(st.integers(min_value=0, max_value=1000))
    tensors = [
        noise(*batch, *shape, seed=seed + number)
        for number, shape in enumerate([(n_queries, d_k), (n_keys, d_k), (n_keys, d_v)])
    ]
    scores_shape = (*batch, n_queries, n_keys)
    axes = draw(st.sampled_from([None, 2, len(scores_shape)]))
    if axes is None:
        return tensors, None
    mask_shape = [draw(st.sampled_from([1, axis])) for axis in scores_shape[-axes:]]
    return tensors, noise(*mask_shape, seed=seed) > 0


def output_and_gradients(
    attention: Attention, tensors: list[Tensor], mask: Tensor | None
) -> list[Tensor]:
    q, k, v = (tensor.clone().requires_grad_() for tensor in tensors)
    output = attention(q, k, v, mask)
    direction = noise(*output.shape, seed=9, dtype=output.dtype)
    return [output, *torch.autograd.grad(output, (q, k, v), direction)]


@settings(max_examples=60, deadline=None, derandomize=True)
@given(attention_inputs())
def test_textbook_fused_and_one_by_one_agree(inputs: tuple[list[Tensor], Tensor | None]) -> None:
    expected = output_and_gradients(one_by_one, *inputs)
    for attention in (textbook_attention, fused_attention):
        actual = output_and_gradients(attention, *inputs)
        torch.testing.assert_close(actual, expected, rtol=0, atol=1e-12)


@settings(max_examples=30, deadline=None, derandomize=True)
@given(attention_inputs())
def test_weights_are_shares_of_the_visible_keys(
    inputs: tuple[list[Tensor], Tensor | None],
) -> None:
    (q, k, v), mask = inputs
    output, weights = scaled_dot_product_attention(q, k, v, mask)
    mask = torch.tensor(True) if mask is None else mask
    visible = mask.expand_as(weights)
    assert (weights[~visible] == 0).all()
    assert (weights >= 0).all()
    torch.testing.assert_close(weights.sum(dim=-1), visible.any(dim=-1).to(weights.dtype))
    torch.testing.assert_close(output, weights @ v)


def test_one_query_worked_out_by_hand() -> None:
    # d_k = 4, so the scores (2, 2, 0, 2) become (1, 1, 0, 1).
    query = torch.tensor([[2.0, 0, 0, 0]])
    key = torch.tensor([[1.0, 0, 0, 0], [1, 0, 0, 0], [0, 1, 0, 0], [1, 0, 0, 0]])
    value = torch.eye(4)
    output, weights = scaled_dot_product_attention(query, key, value)
    share = math.e / (3 * math.e + 1)
    assert weights[0].tolist() == pytest.approx([share, share, 1 - 3 * share, share])
    assert output[0].tolist() == pytest.approx(weights[0].tolist())


@pytest.mark.usefixtures("unchecked_signatures")
def test_a_key_without_its_value_is_refused() -> None:
    """Torch's kernel counts the values only, and reads whatever lies behind the keys."""
    with pytest.raises(ValueError, match="got 2 keys and 3 values"):
        fused_attention(noise(1, 1, 4), noise(1, 2, 4), noise(1, 3, 4))


@both_paths
def test_empty_row_gives_zeros_and_no_gradient(attention: Attention) -> None:
    tensors = [noise(2, 3, 4, 5, seed=seed) for seed in range(3)]
    mask = torch.ones(4, 4, dtype=torch.bool)
    mask[1] = False
    output, query_gradient, *gradients = output_and_gradients(attention, tensors, mask)
    assert (output[:, :, 1] == 0).all()
    assert (query_gradient[:, :, 1] == 0).all()
    assert all(gradient.isfinite().all() for gradient in gradients)


def test_empty_row_is_no_nan_on_the_way_back_either() -> None:
    query = noise(3, 4).requires_grad_()
    nothing_allowed = torch.zeros(3, 3, dtype=torch.bool)
    with torch.autograd.set_detect_anomaly(True):
        textbook_attention(query, query, query, nothing_allowed).sum().backward()
    assert (query.grad == 0).all()


@both_paths
@half_precisions
def test_half_precision_stays_close_and_has_no_nan(
    attention: Attention, dtype: torch.dtype
) -> None:
    tensors = [noise(2, 3, 6, 16, seed=seed) for seed in range(3)]
    mask = causal_mask(6)
    mask[2] = False
    exact = output_and_gradients(attention, tensors, mask)
    half = output_and_gradients(attention, [tensor.to(dtype) for tensor in tensors], mask)
    for got, wanted in zip(half, exact, strict=True):
        assert got.dtype == dtype
        torch.testing.assert_close(got.double(), wanted, rtol=0, atol=0.05)


@both_paths
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
def test_large_scores_saturate_without_nan(attention: Attention, dtype: torch.dtype) -> None:
    query = torch.tensor([[200.0]], dtype=dtype)
    key = torch.tensor([[200.0], [-200.0]], dtype=dtype)
    value = torch.tensor([[1.0], [2.0]], dtype=dtype)
    assert attention(query, key, value, None).tolist() == [[1.0]]
    only_the_worse = torch.tensor([[False, True]])
    assert attention(query, key, value, only_the_worse).tolist() == [[2.0]]


@pytest.mark.usefixtures("unchecked_signatures")
def test_a_query_that_all_sentences_share_may_have_a_mask_for_each() -> None:
    query, key, value = noise(1, 1, 3, 4), noise(2, 1, 5, 4), noise(2, 1, 5, 4)
    mask = torch.ones(2, 1, 3, 5, dtype=torch.bool).tril(2)
    expected, _ = scaled_dot_product_attention(query, key, value, mask)
    torch.testing.assert_close(fused_attention(query, key, value, mask), expected)


def test_padding_mask_hides_padded_keys_from_every_query_and_head() -> None:
    mask = padding_mask(torch.tensor([[5, 3, 0], [4, 0, 0]]), pad_id=0)
    assert mask.shape == (2, 1, 1, 3)
    assert mask[:, 0, 0].tolist() == [[True, True, False], [True, False, False]]


def test_padding_mask_takes_any_pad_id() -> None:
    mask = padding_mask(torch.tensor([[5, 0, 9]]), pad_id=9)
    assert mask.flatten().tolist() == [True, True, False]


def test_causal_mask_shows_each_position_itself_and_the_past() -> None:
    assert causal_mask(3).tolist() == [
        [True, False, False],
        [True, True, False],
        [True, True, True],
    ]


def test_target_mask_needs_both_masks_to_allow() -> None:
    mask = target_mask(torch.tensor([[0, 7, 8], [7, 8, 0]]), pad_id=0)
    assert mask.shape == (2, 1, 3, 3)
    assert mask[:, 0].tolist() == [
        [[False, False, False], [False, True, False], [False, True, True]],
        [[True, False, False], [True, True, False], [True, True, False]],
    ]


# Two sentences, two heads, three queries, four keys.
SCORES_SHAPE = (2, 2, 3, 4)
BAD_MASKS = {
    "integers": (
        torch.ones(3, 4, dtype=torch.long),
        TypeError,
        r"True = may attend; got torch.int64",
    ),
    "which polarity": (
        torch.ones(3, 4, dtype=torch.uint8),
        TypeError,
        r"`mask.bool\(\)` if 1 means attend, `mask == 0` if 1 means hide",
    ),
    "additive": (torch.zeros(3, 4), TypeError, r"boolean.*got torch.float32"),
    "batch taken for heads": (
        torch.ones(2, 3, 4, dtype=torch.bool),
        ValueError,
        r"3 axes \(2, 3, 4\), the scores have 4 \(2, 2, 3, 4\).*`mask.unsqueeze\(1\)`",
    ),
    "one axis": (torch.ones(4, dtype=torch.bool), ValueError, r"1 axes.*Give it 2 axes"),
    "other keys": (
        torch.ones(3, 5, dtype=torch.bool),
        ValueError,
        r"shape \(3, 5\) does not fit .* \(2, 2, 3, 4\)\. Its last two axes are \(query, key\)",
    ),
    "other queries": (torch.ones(2, 1, 2, 4, dtype=torch.bool), ValueError, "does not fit"),
    "other batch": (torch.ones(3, 1, 1, 4, dtype=torch.bool), ValueError, "does not fit"),
}


@both_paths
@pytest.mark.parametrize(("mask", "error", "message"), BAD_MASKS.values(), ids=BAD_MASKS)
@pytest.mark.usefixtures("unchecked_signatures")
def test_bad_mask_is_refused(
    attention: Attention, mask: Tensor, error: type[Exception], message: str
) -> None:
    batch, heads, queries, keys = SCORES_SHAPE
    query, memory = noise(batch, heads, queries, 5), noise(batch, heads, keys, 5)
    with pytest.raises(error, match=message):
        attention(query, memory, memory, mask)
