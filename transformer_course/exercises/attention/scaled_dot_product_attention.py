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
NOT_CLEARED = (
    "if mask is not None:\n        weights = weights.masked_fill(~mask, 0.0)\n    return",
    "return",
)


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
                torch.tensor([[30.0, 0.0], [0.0, 30.0], [1.0, 0.0]]),
                torch.tensor([[30.0, 0.0], [0.0, 30.0], [1.0, 1.0]]),
                torch.arange(1.0, 13.0).reshape(3, 4),
                torch.tensor([[False, True, True], [True, True, True], [True, True, True]]),
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


# The commonest mistakes come first, since pairs are tried in this order; the others have a file of
# their own.

# A row that is all False, and what is returned

scaled_dot_product_attention.mistake(
    "a row that is all False attends to every key",
    edits=[NOT_CLEARED],
    observed="All other rows are right. With one low number such as -1e9 everywhere, the softmax "
    "gives hidden keys equal weights; such a row should be 0.",
    change="After the softmax, set weights to 0 where the mask is False.",
)
scaled_dot_product_attention.mistake(
    "a row that is all False becomes NaN: -inf everywhere",
    edits=[("~mask, lowest", "~mask, -math.inf"), NOT_CLEARED],
    observed="All other rows are right. The softmax of nothing but -inf is 0 / 0.",
    change="Fill with `torch.finfo(scores.dtype).min`, and set weights to 0 where the mask is "
    "False.",
)

scaled_dot_product_attention.mistake(
    "output and weights are returned in the wrong order",
    edits=[("return weights @", "return weights, weights @"), ("value, weights", "value")],
    observed="The first of your results has a column for each key, the second is d_v wide.",
    change="Return `output, weights`.",
)
scaled_dot_product_attention.mistake(
    "only the output is returned",
    edits=[("value, weights", "value")],
    observed="The pair (output, weights) is wanted, so that you can see who attends to whom.",
    change="Return `output, weights`.",
)

# The temperature: by how much a larger score raises a weight

scaled_dot_product_attention.mistake(
    "the scores are not divided by sqrt(d_k)",
    edits=[(" / math.sqrt(query.shape[-1])", "")],
    observed="A score larger by 1 gets 2.718 times the weight, whatever d_k is. For d_k = 4 it "
    "should get 1.649 times the weight, which is e ** (1 / 2).",
    change="Divide the scores by `math.sqrt(query.shape[-1])`.",
)
scaled_dot_product_attention.mistake(
    "divided by d_k: the root is missing, or taken out twice",
    edits=[("math.sqrt(query.shape[-1])", "query.shape[-1]")],
    observed="For d_k = 4 a score larger by 1 gets 1.284 = e ** (1 / 4) times the weight; it "
    "should get 1.649 = e ** (1 / 2).",
    change="Divide the scores once, by `math.sqrt(query.shape[-1])`.",
)
scaled_dot_product_attention.mistake(
    "divided by half of d_k: `d_k ** 1/2` is (d_k ** 1) / 2",
    edits=[("math.sqrt(query.shape[-1])", "(query.shape[-1] / 2)")],
    observed="Right for d_k = 4, where the root is the half. For d_k = 5 the scores are divided by "
    "2.5; it should be 2.236.",
    change="Write `d_k ** 0.5` or `math.sqrt(d_k)`: `**` binds tighter than `/`.",
)
scaled_dot_product_attention.mistake(
    "multiplied by sqrt(d_k) instead of divided",
    edits=[("/ math.sqrt(query.shape[-1])", "* query.shape[-1] ** 0.5")],
    observed="For d_k = 4 a score larger by 1 gets 7.389 = e ** 2 times the weight; it should get "
    "1.649 = e ** (1 / 2).",
    change="Divide the scores by `math.sqrt(query.shape[-1])`.",
)
scaled_dot_product_attention.mistake(
    "the root is that of the number of keys",
    edits=[("query.shape[-1]", "key.shape[-2]")],
    observed="How much a larger score counts depends on how many keys there are, not on how wide "
    "they are.",
    change="A score is a sum of d_k products: use the last axis, `math.sqrt(query.shape[-1])`.",
)
scaled_dot_product_attention.mistake(
    "the root is that of the values' width",
    edits=[("math.sqrt(query.shape[-1])", "value.shape[-1] ** 0.5")],
    observed="How much a larger score counts depends on d_v, though values have no part in scores.",
    change="Take d_k from the query: `math.sqrt(query.shape[-1])`.",
)
scaled_dot_product_attention.mistake(
    "the root is that of axis 1",
    edits=[("query.shape[-1]", "query.shape[1]")],
    observed="In a matrix axis 1 is the width; with a batch axis it counts queries, with heads it "
    "counts heads.",
    change="Use the last axis, `query.shape[-1]`.",
)
scaled_dot_product_attention.mistake(
    "divided by 8, which is sqrt(d_k) in the paper only",
    edits=[("math.sqrt(query.shape[-1])", "8")],
    observed="A score larger by 1 gets 1.133 = e ** (1 / 8) times the weight, whatever d_k is.",
    change="Read d_k off the query: `math.sqrt(query.shape[-1])`.",
)
scaled_dot_product_attention.mistake(
    "divided by sqrt(512), the root of the paper's d_model",
    edits=[("query.shape[-1]", "512")],
    observed="A score larger by 1 gets 1.045 = e ** (1 / 22.6) times the weight, whatever d_k is: "
    "the weights are nearly equal.",
    change="A score is a sum of d_k products, so divide by `math.sqrt(query.shape[-1])`.",
)
scaled_dot_product_attention.mistake(
    "divided by sqrt(d_k) after the softmax",
    edits=[
        (" / math.sqrt(query.shape[-1])", ""),
        ("own.softmax(scores)", "torch.softmax(scores, dim=-1) / math.sqrt(query.shape[-1])"),
    ],
    observed="Each row of your weights sums to 1 / sqrt(d_k), and the scores go into the softmax "
    "unscaled.",
    change="Divide the scores, before the softmax.",
)
