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
    """Compare how the allowed keys share what weight they have; what hidden keys get is no matter.

    Weights outside the mask and a wrong sum of a row have properties of their own.
    """
    query, key, *_ = case.inputs
    allowed = _mask_of(case)
    scores = query @ key.mT / math.sqrt(query.shape[-1])
    wanted = scores.masked_fill(~allowed, -math.inf).softmax(dim=-1)
    shares = F.normalize(value[1] * allowed, p=1, dim=-1)
    return torch.allclose(shares[allowed], wanted[allowed], atol=1e-3)


_NOT_ALL_KEYS = torch.tensor([[True, False, True, True, False], [True, True, False, True, True]])
_PADDING = torch.tensor([[True] * 6, [True] * 4 + [False] * 2])[:, None, None, :]
_EMPTY_ROW = torch.tensor([[False, True, True, False], [False, False, False, False]])
_TWO_DIMENSIONS = _query_key_value(queries=2, keys=4, d_k=3, d_v=5)
_NOT_CLEARED = (
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


# A row that is all False: the commonest mistakes come first, since pairs are tried in this order

scaled_dot_product_attention.mistake(
    "a row that is all False attends to every key",
    edits=[_NOT_CLEARED],
    observed="All other rows are right. With one low number such as -1e9 everywhere, the softmax "
    "gives hidden keys equal weights; such a row should be 0.",
    change="After the softmax, set weights to 0 where the mask is False.",
)
scaled_dot_product_attention.mistake(
    "a row that is all False becomes NaN: -inf everywhere",
    edits=[("~mask, lowest", "~mask, -math.inf"), _NOT_CLEARED],
    observed="All other rows are right. The softmax of nothing but -inf is 0 / 0.",
    change="Fill with `torch.finfo(scores.dtype).min`, and set weights to 0 where the mask is "
    "False.",
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

# The scores

scaled_dot_product_attention.mistake(
    "the key is not transposed",
    edits=[("key.transpose(-2, -1)", "key")],
    observed="`query @ key` stops with an error, unless there are as many keys as each is wide: "
    "then it multiplies numbers that do not belong together.",
    change="Write `query @ key.transpose(-2, -1)`.",
)
scaled_dot_product_attention.mistake(
    "`key.T` turns all axes round, the batch too",
    edits=[("key.transpose(-2, -1)", "key.permute(*reversed(range(key.dim())))")],
    observed="Matrices are right. With a batch axis `key.T` has shape (d_k, keys, batch).",
    change="Swap the last two axes only: `key.transpose(-2, -1)`.",
)
scaled_dot_product_attention.mistake(
    "the key's axes 0 and 1 are swapped",
    edits=[("transpose(-2, -1)", "transpose(0, 1)")],
    observed="Matrices are right; with a batch axis, batch and keys change places.",
    change="Count axes from the end: `key.transpose(-2, -1)`.",
)
scaled_dot_product_attention.mistake(
    "the key's axes 1 and 2 are swapped",
    edits=[("transpose(-2, -1)", "transpose(1, 2)")],
    observed="Three axes are right. A matrix has no axis 2, and with four axes heads and keys "
    "change places.",
    change="Count axes from the end: `key.transpose(-2, -1)`.",
)
scaled_dot_product_attention.mistake(
    "the key is reshaped instead of transposed",
    edits=[("key.transpose(-2, -1)", "key.reshape(*key.shape[:-2], key.shape[-1], key.shape[-2])")],
    observed="The shape fits, but a column of yours mixes numbers of several keys: `view` and "
    "`reshape` keep the order of the numbers.",
    change="Write `key.transpose(-2, -1)`, which turns rows into columns.",
)
scaled_dot_product_attention.mistake(
    "query and key have changed places",
    edits=[("query @ key.transpose(-2, -1)", "key @ query.mT")],
    observed="Your scores have a row for each key and a column for each query. With as many "
    "queries as keys nothing stops, and every key attends instead of every query.",
    change="Write `query @ key.transpose(-2, -1)`: queries down, keys across.",
)

# The softmax

scaled_dot_product_attention.mistake(
    "the softmax runs over the queries",
    edits=[("own.softmax(scores)", "scores.softmax(-2)")],
    observed="The columns of your weights sum to 1; the rows should.",
    change="Each query shares out its weight among the keys: `softmax(dim=-1)`.",
)
scaled_dot_product_attention.mistake(
    "the softmax runs along axis 1",
    edits=[("own.softmax(scores)", "scores.softmax(dim=1)")],
    observed="Matrices are right. With a batch axis the columns sum to 1, with heads it is the "
    "heads.",
    change="Use the last axis: `softmax(dim=-1)`.",
)
scaled_dot_product_attention.mistake(
    "the softmax runs along the first axis",
    edits=[("own.softmax(scores)", "scores.softmax(dim=0)")],
    observed="Your weights sum to 1 over the sentences of the batch; in a matrix, over queries.",
    change="Use the last axis: `softmax(dim=-1)`.",
)
scaled_dot_product_attention.mistake(
    "the softmax is not told along which axis",
    edits=[("own.softmax(scores)", "scores.softmax(dim=0 if scores.dim() == 3 else 1)")],
    observed="torch then takes the last axis of a matrix, the batch with three axes and the heads "
    "with four.",
    change="Give the axis: `softmax(dim=-1)`.",
)
scaled_dot_product_attention.mistake(
    "all weights together sum to 1",
    edits=[("own.softmax(scores)", "scores.flatten().softmax(dim=0).reshape(scores.shape)")],
    observed="Each row of your weights should sum to 1, not the whole tensor.",
    change="Divide by the sum of each row: `softmax(dim=-1)`.",
)
scaled_dot_product_attention.mistake(
    "the softmax is missing",
    edits=[("own.softmax(scores)", "scores")],
    observed="Your weights are scores: they may be negative, and the rows do not sum to 1.",
    change="Turn the scores into weights first: `own.softmax(scores)`.",
)
scaled_dot_product_attention.mistake(
    "`exp` is taken without subtracting the largest score",
    edits=[
        (
            "own.softmax(scores)",
            "scores.exp()\n    weights = weights / weights.sum(dim=-1, keepdim=True)",
        )
    ],
    observed="Small scores are right. For scores of 900 / sqrt(2) = 636 you return NaN: "
    "`exp(636)` is infinite.",
    change="Use `own.softmax(scores)`, or subtract the largest score of each row first.",
)
scaled_dot_product_attention.mistake(
    "dropout with 0.1 changes the weights at every call",
    edits=[("own.softmax(scores)", "F.dropout(scores.softmax(dim=-1), 0.1)")],
    observed="Two calls with the same arguments differ; some weights are 0, the others 1.111 "
    "times too large.",
    change="Leave it out here. Dropout belongs to training: `F.dropout(..., training=...)`.",
)

# The mask

scaled_dot_product_attention.mistake(
    "the mask is not used",
    edits=[("scores.masked_fill(~mask, lowest)", "scores"), _NOT_CLEARED],
    observed="Keys that the mask hides keep their weight.",
    change="Unless it is None, fill the scores where the mask is False, before the softmax.",
)
scaled_dot_product_attention.mistake(
    "the mask is read the wrong way round",
    edits=[("lowest = ", "mask = ~mask\n        lowest = ")],
    observed="All weight lies on keys that the mask hides: False means hidden, True may attend.",
    change="Fill where the mask is False: `masked_fill(~mask, ...)` or `mask == 0`.",
)
scaled_dot_product_attention.mistake(
    "hidden scores are set to 0 (or 1e-9) instead of a very low number",
    edits=[("~mask, lowest", "~mask, 0.0"), _NOT_CLEARED],
    observed="`exp(0)` is 1, so hidden keys keep weight: with the scores 1, 0, 0, 0 and only the "
    "first key allowed, 52 % of the weight lies on hidden keys. Multiplying the scores by the "
    "mask does the same.",
    change="Fill with the lowest number: `masked_fill(~mask, torch.finfo(scores.dtype).min)`.",
)
scaled_dot_product_attention.mistake(
    "the mask is added to the scores as 0 and 1",
    edits=[("scores.masked_fill(~mask, lowest)", "(scores + mask)"), _NOT_CLEARED],
    observed="Allowed keys get e = 2.718 times their weight, and hidden keys keep some.",
    change="A boolean mask selects; use `scores.masked_fill(~mask, ...)`.",
)
scaled_dot_product_attention.mistake(
    "hidden scores are set to a large number: the minus sign is missing",
    edits=[("~mask, lowest", "~mask, 1e9"), _NOT_CLEARED],
    observed="All weight lies on hidden keys, in equal shares.",
    change="Fill with a very low number: `torch.finfo(scores.dtype).min`.",
)
scaled_dot_product_attention.mistake(
    "the mask comes after the softmax",
    edits=[("scores.masked_fill(~mask, lowest)", "scores")],
    observed="Hidden keys have weight 0, but the rows sum to less than 1: hidden scores still "
    "stand in the softmax's denominator.",
    change="Fill the scores before the softmax, so that it shares out all weight among the rest.",
)
scaled_dot_product_attention.mistake(
    "the mask comes after the softmax, and the rows are divided by their sums again",
    edits=[
        ("scores.masked_fill(~mask, lowest)", "scores"),
        (
            "weights.masked_fill(~mask, 0.0)",
            "weights * mask\n        weights = weights / weights.sum(dim=-1, keepdim=True)",
        ),
    ],
    observed="Right as long as hidden scores are moderate. Where a hidden key outscores the others "
    "by 600, those get 0 from the softmax, and 0 / 0 is NaN; so does a row that is all False.",
    change="Fill the scores before the softmax; then nothing needs to be repaired.",
)
scaled_dot_product_attention.mistake(
    "-inf is added and NaN replaced afterwards: the gradients are NaN",
    edits=[
        ("scores.masked_fill(~mask, lowest)", "(scores + torch.where(mask, 0.0, -math.inf))"),
        ("masked_fill(~mask, 0.0)", "nan_to_num()"),
    ],
    observed="The results are right. Backwards, a row that is all False passes through the softmax "
    "of -inf, which gives NaN; one step of training makes every weight NaN that it reaches.",
    change="Fill with `torch.finfo(scores.dtype).min`, which is finite, and clear the weights "
    "where the mask is False.",
)

# What is returned

scaled_dot_product_attention.mistake(
    "the weights are multiplied by the keys instead of the values",
    edits=[("weights @ value", "weights @ key")],
    observed="Your output is d_k wide; it should be d_v wide.",
    change="Return `weights @ value`.",
)
scaled_dot_product_attention.mistake(
    "only the output is returned",
    edits=[("value, weights", "value")],
    observed="The pair (output, weights) is wanted: one would like to see who attends to whom.",
    change="Return `output, weights`.",
)
scaled_dot_product_attention.mistake(
    "only the weights are returned",
    edits=[("weights @ value, weights", "weights")],
    observed="Your result has a number for each key; the values have no part in it.",
    change="Return `weights @ value, weights`.",
)
scaled_dot_product_attention.mistake(
    "output and weights are returned in the wrong order",
    edits=[("return weights @", "return weights, weights @"), ("value, weights", "value")],
    observed="The first of your results has a column for each key, the second is d_v wide.",
    change="Return `output, weights`.",
)
scaled_dot_product_attention.mistake(
    "the scores are returned in place of the weights",
    edits=[("scores = query", "unmasked = scores = query"), ("value, weights", "value, unmasked")],
    observed="The output is right. The rows of your second result do not sum to 1: they have not "
    "been through the softmax.",
    change="Return what the values were multiplied by: `output, weights`.",
)
scaled_dot_product_attention.mistake(
    "the output is cut off from query, key and value",
    edits=[
        ("return weights @", "return (weights @"),
        ("value, weights", "value).detach(), weights.detach()"),
    ],
    observed="The numbers are right, but no gradient flows back: a model with it learns nothing.",
    change="Leave out `.detach()`, `.data` and `torch.no_grad()`, and make no new tensor from "
    "numbers.",
)
