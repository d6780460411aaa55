"""Scaled dot-product attention with a mask."""

import math
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

from transformer_course import model
from transformer_course.checker.cases import Case, Property, vectors
from transformer_course.checker.exercise import exercise
from transformer_course.exercises import own


def _query_key_value(
    *batch: int, queries: int, keys: int, d_k: int, d_v: int
) -> tuple[Tensor, Tensor, Tensor]:
    return (
        vectors(*batch, queries, d_k, seed=1),
        vectors(*batch, keys, d_k, seed=2),
        vectors(*batch, keys, d_v, seed=3),
    )


def _gradients(code: Callable, *inputs: Tensor) -> tuple[Tensor, ...]:
    """Return the gradients of query, key and value, for a loss that counts each output apart."""
    *leaves, mask = inputs
    leaves = [leaf.clone().requires_grad_() for leaf in leaves]
    output, _ = code(*(leaf.clone() for leaf in leaves), mask)
    if not output.requires_grad:
        return tuple(map(torch.zeros_like, leaves))
    loss = (output * torch.arange(output.numel()).reshape(output.shape)).sum()
    return torch.autograd.grad(loss, leaves, allow_unused=True, materialize_grads=True)


def _mask_of(case: Case) -> Tensor:
    """Return the mask of a case in the shape of the weights, all True if it has none."""
    query, key, _, *masks = case.inputs
    everything = torch.ones(*query.shape[:-1], key.shape[-2], dtype=torch.bool)
    return everything & masks[0] if masks else everything


def _rows_sum_to_one(value: tuple[Tensor, Tensor], case: Case) -> bool:
    total = value[1].sum(dim=-1)
    return torch.allclose(total, _mask_of(case).any(dim=-1).to(total), atol=1e-3)


def _temperature_is_root_d_k(value: tuple[Tensor, Tensor], case: Case) -> bool:
    """Compare how the allowed keys share what weight they have, if they have any.

    Weights outside the mask and a wrong sum of a row have properties of their own.
    """
    query, key, *_ = case.inputs
    allowed = _mask_of(case)
    scores = query @ key.mT / math.sqrt(query.shape[-1])
    shares = F.normalize(value[1] * allowed, p=1, dim=-1)
    wanted = scores.masked_fill(~allowed, -math.inf).softmax(dim=-1) * shares.any(-1, keepdim=True)
    return torch.allclose(shares[allowed], wanted[allowed], atol=1e-3)


_NOT_ALL_KEYS = torch.tensor([[True, False, True, True, False], [True, True, False, True, True]])
_PADDING = torch.tensor([[True] * 6, [True] * 4 + [False] * 2])[:, None, None, :]
_EMPTY_ROW = torch.tensor([[False, True, True, False], [False, False, False, False]])
_TWO_DIMENSIONS = _query_key_value(queries=2, keys=4, d_k=3, d_v=5)


@exercise(
    reference=model.scaled_dot_product_attention,
    cases=[
        Case(_query_key_value(queries=2, keys=3, d_k=4, d_v=5)),
        Case((*_query_key_value(3, queries=2, keys=5, d_k=4, d_v=6), _NOT_ALL_KEYS)),
        Case((*_query_key_value(3, 3, queries=3, keys=3, d_k=3, d_v=3), model.causal_mask(3))),
        Case(
            (
                *(x.double() for x in _query_key_value(2, 3, queries=4, keys=6, d_k=5, d_v=7)),
                _PADDING,
            )
        ),
        Case((*_TWO_DIMENSIONS, _EMPTY_ROW)),
        Case(
            (
                torch.tensor([[30.0, 0.0], [0.0, 30.0], [1.0, 0.0], [-300.0, -30.0]]),
                torch.tensor([[30.0, 0.0], [0.0, 30.0], [1.0, 1.0]]),
                torch.arange(1.0, 13.0).reshape(3, 4),
                torch.tensor([[False, True, True], [True] * 3, [True] * 3, [False, True, True]]),
            )
        ),
        Case(
            (*_TWO_DIMENSIONS, _EMPTY_ROW),
            observe=_gradients,
            looks_at="the gradients of query, key and value, with a row that is all False",
        ),
    ],
    properties=[
        Property(
            "each row of the weights sums to 1, or to 0 where the mask allows no key",
            _rows_sum_to_one,
        ),
        Property(
            "a key that the mask hides has weight 0",
            lambda value, case: bool((value[1].abs()[~_mask_of(case)] < 1e-6).all()),
        ),
        Property(
            "among the keys that may be seen, a score larger by 1 gets e ** (1 / sqrt(d_k)) times "
            "the weight",
            _temperature_is_root_d_k,
        ),
        Property(
            "the output is `weights @ value`",
            lambda value, case: torch.allclose(value[1] @ case.inputs[2], value[0], atol=1e-3),
        ),
    ],
    hints=[
        "Four steps: scores, scale, softmax, weighted mean of the values. Write the shape of each "
        "result beside it. Where must the mask come in so that the weights still sum to 1?",
        "`scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])`. Before the "
        "softmax, `masked_fill(~mask, ...)` puts the lowest number where the mask is False. What "
        "comes out for a row that is all False?",
        "`lowest = torch.finfo(scores.dtype).min`, then `scores.masked_fill(~mask, lowest)`, then "
        "`own.softmax`, then `masked_fill(~mask, 0.0)` for the empty rows. Return "
        "`weights @ value, weights`.",
    ],
)
def scaled_dot_product_attention(query, key, value, mask=None) -> tuple[Tensor, Tensor]:
    """Return the output (..., query, d_v) and the weights (..., query, key)."""
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
    if mask is not None:
        lowest = torch.finfo(scores.dtype).min
        scores = scores.masked_fill(~mask, lowest)
    weights = own.softmax(scores)
    if mask is not None:
        weights = weights.masked_fill(~mask, 0.0)
    return weights @ value, weights
