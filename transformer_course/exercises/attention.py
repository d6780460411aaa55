"""Lesson 2: the exercises on attention and its masks, with their known mistakes."""

import math
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from transformer_course import model
from transformer_course.exercises.cases import Case, Property, vectors
from transformer_course.exercises.exercise import exercise, shared_mistake

# --- scaled_dot_product_attention ------------------------------------------------------------


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
        "`softmax(dim=-1)`, then `masked_fill(~mask, 0.0)` for the empty rows. Return "
        "`weights @ value, weights`.",
    ],
)
def scaled_dot_product_attention(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """Return the output (..., query, d_v) and the weights (..., query, key)."""
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
    if mask is None:
        weights = scores.softmax(dim=-1)
    else:
        lowest = torch.finfo(scores.dtype).min
        weights = scores.masked_fill(~mask, lowest).softmax(dim=-1)
        weights = weights.masked_fill(~mask, 0.0)
    return weights @ value, weights


class _Attention:
    """Attention in steps, so that a mistake replaces one."""

    def compare(self, query: Tensor, key: Tensor) -> Tensor:
        return query @ key.mT

    def divisor(self, query: Tensor, key: Tensor, value: Tensor) -> float:
        return math.sqrt(query.shape[-1])

    def polarity(self, mask: Tensor) -> Tensor:
        return mask

    def hide(self, scores: Tensor, mask: Tensor) -> Tensor:
        return scores.masked_fill(~mask, torch.finfo(scores.dtype).min)

    def normalise(self, scores: Tensor, d_k: int) -> Tensor:
        return scores.softmax(dim=-1)

    def clear(self, weights: Tensor, mask: Tensor) -> Tensor:
        return weights.masked_fill(~mask, 0.0)

    def blend(self, weights: Tensor, key: Tensor, value: Tensor) -> Tensor:
        return weights @ value

    def results(self, output: Tensor, weights: Tensor, scores: Tensor) -> Tensor | tuple:
        return output, weights

    def __call__(
        self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None
    ) -> Tensor | tuple:
        d_k = query.shape[-1]
        scores = self.compare(query, key) / self.divisor(query, key, value)
        if mask is None:
            weights = self.normalise(scores, d_k)
        else:
            mask = self.polarity(mask)
            weights = self.clear(self.normalise(self.hide(scores, mask), d_k), mask)
        return self.results(self.blend(weights, key, value), weights, scores)


# A row that is all False: the commonest mistakes come first, since pairs are tried in this order


@scaled_dot_product_attention.mistake(
    "a row that is all False attends to every key",
    observed="All other rows are right. With one low number such as -1e9 everywhere, the softmax "
    "gives hidden keys equal weights; such a row should be 0.",
    change="After the softmax, set weights to 0 where the mask is False.",
)
class _EmptyRowIsUniform(_Attention):
    def clear(self, weights: Tensor, mask: Tensor) -> Tensor:
        return weights


@scaled_dot_product_attention.mistake(
    "a row that is all False becomes NaN: -inf everywhere",
    observed="All other rows are right. The softmax of nothing but -inf is 0 / 0.",
    change="Fill with `torch.finfo(scores.dtype).min`, and set weights to 0 where the mask is "
    "False.",
)
class _EmptyRowIsNan(_Attention):
    def hide(self, scores: Tensor, mask: Tensor) -> Tensor:
        return scores.masked_fill(~mask, -math.inf)

    def clear(self, weights: Tensor, mask: Tensor) -> Tensor:
        return weights


# The temperature: by how much a larger score raises a weight


@scaled_dot_product_attention.mistake(
    "the scores are not divided by sqrt(d_k)",
    observed="A score larger by 1 gets 2.718 times the weight, whatever d_k is. For d_k = 4 it "
    "should get 1.649 times the weight, which is e ** (1 / 2).",
    change="Divide the scores by `math.sqrt(query.shape[-1])`.",
)
class _NoScale(_Attention):
    def divisor(self, query: Tensor, key: Tensor, value: Tensor) -> float:
        return 1.0


@scaled_dot_product_attention.mistake(
    "divided by d_k: the root is missing, or taken out twice",
    observed="For d_k = 4 a score larger by 1 gets 1.284 = e ** (1 / 4) times the weight; it "
    "should get 1.649 = e ** (1 / 2).",
    change="Divide the scores once, by `math.sqrt(query.shape[-1])`.",
)
class _DividedByWidth(_Attention):
    def divisor(self, query: Tensor, key: Tensor, value: Tensor) -> float:
        return query.shape[-1]


@scaled_dot_product_attention.mistake(
    "multiplied by sqrt(d_k) instead of divided",
    observed="For d_k = 4 a score larger by 1 gets 7.389 = e ** 2 times the weight; it should get "
    "1.649 = e ** (1 / 2).",
    change="Divide the scores by `math.sqrt(query.shape[-1])`.",
)
class _MultipliedByRoot(_Attention):
    def divisor(self, query: Tensor, key: Tensor, value: Tensor) -> float:
        return 1 / math.sqrt(query.shape[-1])


@scaled_dot_product_attention.mistake(
    "the root is that of the number of keys",
    observed="How much a larger score counts depends on how many keys there are, not on how wide "
    "they are.",
    change="A score is a sum of d_k products: use the last axis, `math.sqrt(query.shape[-1])`.",
)
class _RootOfKeys(_Attention):
    def divisor(self, query: Tensor, key: Tensor, value: Tensor) -> float:
        return math.sqrt(key.shape[-2])


@scaled_dot_product_attention.mistake(
    "the root is that of the values' width",
    observed="How much a larger score counts depends on d_v, though values have no part in scores.",
    change="Take d_k from the query: `math.sqrt(query.shape[-1])`.",
)
class _RootOfValueWidth(_Attention):
    def divisor(self, query: Tensor, key: Tensor, value: Tensor) -> float:
        return math.sqrt(value.shape[-1])


@scaled_dot_product_attention.mistake(
    "the root is that of axis 1",
    observed="In a matrix axis 1 is the width; with a batch axis it counts queries, with heads it "
    "counts heads.",
    change="Use the last axis, `query.shape[-1]`.",
)
class _RootOfSecondAxis(_Attention):
    def divisor(self, query: Tensor, key: Tensor, value: Tensor) -> float:
        return math.sqrt(query.shape[1])


@scaled_dot_product_attention.mistake(
    "divided by 8, which is sqrt(d_k) in the paper only",
    observed="A score larger by 1 gets 1.133 = e ** (1 / 8) times the weight, whatever d_k is.",
    change="Read d_k off the query: `math.sqrt(query.shape[-1])`.",
)
class _RootOf64(_Attention):
    def divisor(self, query: Tensor, key: Tensor, value: Tensor) -> float:
        return 8.0


@scaled_dot_product_attention.mistake(
    "divided by sqrt(512), the root of the paper's d_model",
    observed="A score larger by 1 gets 1.045 = e ** (1 / 22.6) times the weight, whatever d_k is: "
    "the weights are nearly equal.",
    change="A score is a sum of d_k products, so divide by `math.sqrt(query.shape[-1])`.",
)
class _RootOf512(_Attention):
    def divisor(self, query: Tensor, key: Tensor, value: Tensor) -> float:
        return math.sqrt(512)


@scaled_dot_product_attention.mistake(
    "divided by sqrt(d_k) after the softmax",
    observed="Each row of your weights sums to 1 / sqrt(d_k), and the scores go into the softmax "
    "unscaled.",
    change="Divide the scores, before the softmax.",
)
class _ScaledAfterSoftmax(_NoScale):
    def normalise(self, scores: Tensor, d_k: int) -> Tensor:
        return scores.softmax(dim=-1) / math.sqrt(d_k)


# The scores


@scaled_dot_product_attention.mistake(
    "the key is not transposed",
    observed="`query @ key` stops with an error, unless there are as many keys as each is wide: "
    "then it multiplies numbers that do not belong together.",
    change="Write `query @ key.transpose(-2, -1)`.",
)
class _KeyNotTransposed(_Attention):
    def compare(self, query: Tensor, key: Tensor) -> Tensor:
        return query @ key


@scaled_dot_product_attention.mistake(
    "`key.T` turns all axes round, the batch too",
    observed="Matrices are right. With a batch axis `key.T` has shape (d_k, keys, batch).",
    change="Swap the last two axes only: `key.transpose(-2, -1)`.",
)
class _AllAxesTurned(_Attention):
    def compare(self, query: Tensor, key: Tensor) -> Tensor:
        return query @ key.permute(*reversed(range(key.dim())))


@scaled_dot_product_attention.mistake(
    "the key's axes 0 and 1 are swapped",
    observed="Matrices are right; with a batch axis, batch and keys change places.",
    change="Count axes from the end: `key.transpose(-2, -1)`.",
)
class _FirstAxesSwapped(_Attention):
    def compare(self, query: Tensor, key: Tensor) -> Tensor:
        return query @ key.transpose(0, 1)


@scaled_dot_product_attention.mistake(
    "the key's axes 1 and 2 are swapped",
    observed="Three axes are right. A matrix has no axis 2, and with four axes heads and keys "
    "change places.",
    change="Count axes from the end: `key.transpose(-2, -1)`.",
)
class _MiddleAxesSwapped(_Attention):
    def compare(self, query: Tensor, key: Tensor) -> Tensor:
        return query @ key.transpose(1, 2)


@scaled_dot_product_attention.mistake(
    "the key is reshaped instead of transposed",
    observed="The shape fits, but a column of yours mixes numbers of several keys: `view` and "
    "`reshape` keep the order of the numbers.",
    change="Write `key.transpose(-2, -1)`, which turns rows into columns.",
)
class _KeyReshaped(_Attention):
    def compare(self, query: Tensor, key: Tensor) -> Tensor:
        return query @ key.reshape(*key.shape[:-2], key.shape[-1], key.shape[-2])


@scaled_dot_product_attention.mistake(
    "query and key have changed places",
    observed="Your scores have a row for each key and a column for each query. With as many "
    "queries as keys nothing stops, and every key attends instead of every query.",
    change="Write `query @ key.transpose(-2, -1)`: queries down, keys across.",
)
class _KeysAttend(_Attention):
    def compare(self, query: Tensor, key: Tensor) -> Tensor:
        return key @ query.mT


# The softmax


@scaled_dot_product_attention.mistake(
    "the softmax runs over the queries",
    observed="The columns of your weights sum to 1; the rows should.",
    change="Each query shares out its weight among the keys: `softmax(dim=-1)`.",
)
class _SoftmaxOverQueries(_Attention):
    def normalise(self, scores: Tensor, d_k: int) -> Tensor:
        return scores.softmax(dim=-2)


@scaled_dot_product_attention.mistake(
    "the softmax runs along axis 1",
    observed="Matrices are right. With a batch axis the columns sum to 1, with heads it is the "
    "heads.",
    change="Use the last axis: `softmax(dim=-1)`.",
)
class _SoftmaxAlongAxis1(_Attention):
    def normalise(self, scores: Tensor, d_k: int) -> Tensor:
        return scores.softmax(dim=1)


@scaled_dot_product_attention.mistake(
    "the softmax runs along the first axis",
    observed="Your weights sum to 1 over the sentences of the batch; in a matrix, over queries.",
    change="Use the last axis: `softmax(dim=-1)`.",
)
class _SoftmaxAlongAxis0(_Attention):
    def normalise(self, scores: Tensor, d_k: int) -> Tensor:
        return scores.softmax(dim=0)


@scaled_dot_product_attention.mistake(
    "the softmax is not told along which axis",
    observed="torch then takes the last axis of a matrix, the batch with three axes and the heads "
    "with four.",
    change="Give the axis: `softmax(dim=-1)`.",
)
class _SoftmaxWithoutAxis(_Attention):
    def normalise(self, scores: Tensor, d_k: int) -> Tensor:
        return scores.softmax(dim=0 if scores.dim() == 3 else 1)


@scaled_dot_product_attention.mistake(
    "all weights together sum to 1",
    observed="Each row of your weights should sum to 1, not the whole tensor.",
    change="Divide by the sum of each row: `softmax(dim=-1)`.",
)
class _OneSoftmaxForAll(_Attention):
    def normalise(self, scores: Tensor, d_k: int) -> Tensor:
        return scores.flatten().softmax(dim=0).reshape(scores.shape)


@scaled_dot_product_attention.mistake(
    "the softmax is missing",
    observed="Your weights are scores: they may be negative, and the rows do not sum to 1.",
    change="Turn the scores into weights first: `scores.softmax(dim=-1)`.",
)
class _NoSoftmax(_Attention):
    def normalise(self, scores: Tensor, d_k: int) -> Tensor:
        return scores


@scaled_dot_product_attention.mistake(
    "`exp` is taken without subtracting the largest score",
    observed="Small scores are right. For scores of 900 / sqrt(2) = 636 you return NaN: "
    "`exp(636)` is infinite.",
    change="Use `scores.softmax(dim=-1)`, or subtract the largest score of each row first.",
)
class _RawExponential(_Attention):
    def normalise(self, scores: Tensor, d_k: int) -> Tensor:
        growth = scores.exp()
        return growth / growth.sum(dim=-1, keepdim=True)


@scaled_dot_product_attention.mistake(
    "dropout with 0.1 changes the weights at every call",
    observed="Two calls with the same arguments differ; some weights are 0, the others 1.111 "
    "times too large.",
    change="Leave it out here. Dropout belongs to training: `F.dropout(..., training=...)`.",
)
class _AlwaysDropout(_Attention):
    def normalise(self, scores: Tensor, d_k: int) -> Tensor:
        return F.dropout(scores.softmax(dim=-1), 0.1)


# The mask


@scaled_dot_product_attention.mistake(
    "the mask is not used",
    observed="Keys that the mask hides keep their weight.",
    change="Unless it is None, fill the scores where the mask is False, before the softmax.",
)
class _MaskIgnored(_Attention):
    def hide(self, scores: Tensor, mask: Tensor) -> Tensor:
        return scores

    def clear(self, weights: Tensor, mask: Tensor) -> Tensor:
        return weights


@scaled_dot_product_attention.mistake(
    "the mask is read the wrong way round",
    observed="All weight lies on keys that the mask hides: False means hidden, True may attend.",
    change="Fill where the mask is False: `masked_fill(~mask, ...)` or `mask == 0`.",
)
class _MaskInverted(_Attention):
    def polarity(self, mask: Tensor) -> Tensor:
        return ~mask


@scaled_dot_product_attention.mistake(
    "hidden scores are set to 0 (or 1e-9) instead of a very low number",
    observed="`exp(0)` is 1, so hidden keys keep weight: with the scores 1, 0, 0, 0 and only the "
    "first key allowed, 52 % of the weight lies on hidden keys. Multiplying the scores by the "
    "mask does the same.",
    change="Fill with the lowest number: `masked_fill(~mask, torch.finfo(scores.dtype).min)`.",
)
class _FilledWithZero(_Attention):
    def hide(self, scores: Tensor, mask: Tensor) -> Tensor:
        return scores * mask

    def clear(self, weights: Tensor, mask: Tensor) -> Tensor:
        return weights


@scaled_dot_product_attention.mistake(
    "the mask is added to the scores as 0 and 1",
    observed="Allowed keys get e = 2.718 times their weight, and hidden keys keep some.",
    change="A boolean mask selects; use `scores.masked_fill(~mask, ...)`.",
)
class _MaskAdded(_MaskIgnored):
    def hide(self, scores: Tensor, mask: Tensor) -> Tensor:
        return scores + mask


@scaled_dot_product_attention.mistake(
    "hidden scores are set to a large number: the minus sign is missing",
    observed="All weight lies on hidden keys, in equal shares.",
    change="Fill with a very low number: `torch.finfo(scores.dtype).min`.",
)
class _FilledWithLarge(_MaskIgnored):
    def hide(self, scores: Tensor, mask: Tensor) -> Tensor:
        return scores.masked_fill(~mask, 1e9)


@scaled_dot_product_attention.mistake(
    "the mask comes after the softmax",
    observed="Hidden keys have weight 0, but the rows sum to less than 1: hidden scores still "
    "stand in the softmax's denominator.",
    change="Fill the scores before the softmax, so that it shares out all weight among the rest.",
)
class _MaskAfterSoftmax(_Attention):
    def hide(self, scores: Tensor, mask: Tensor) -> Tensor:
        return scores


@scaled_dot_product_attention.mistake(
    "the mask comes after the softmax, and the rows are divided by their sums again",
    observed="Right as long as hidden scores are moderate. Where a hidden key outscores the others "
    "by 600, those get 0 from the softmax, and 0 / 0 is NaN; so does a row that is all False.",
    change="Fill the scores before the softmax; then nothing needs to be repaired.",
)
class _MaskAndRenormalise(_MaskAfterSoftmax):
    def clear(self, weights: Tensor, mask: Tensor) -> Tensor:
        weights = weights * mask
        return weights / weights.sum(dim=-1, keepdim=True)


@scaled_dot_product_attention.mistake(
    "-inf is added and NaN replaced afterwards: the gradients are NaN",
    observed="The results are right. Backwards, a row that is all False passes through the softmax "
    "of -inf, which gives NaN; one step of training makes every weight NaN that it reaches.",
    change="Fill with `torch.finfo(scores.dtype).min`, which is finite, and clear the weights "
    "where the mask is False.",
)
class _GradientIsNan(_Attention):
    def hide(self, scores: Tensor, mask: Tensor) -> Tensor:
        return scores + torch.zeros_like(scores).masked_fill(~mask, -math.inf)

    def clear(self, weights: Tensor, mask: Tensor) -> Tensor:
        return weights.nan_to_num()


# What is returned


@scaled_dot_product_attention.mistake(
    "the weights are multiplied by the keys instead of the values",
    observed="Your output is d_k wide; it should be d_v wide.",
    change="Return `weights @ value`.",
)
class _KeysBlended(_Attention):
    def blend(self, weights: Tensor, key: Tensor, value: Tensor) -> Tensor:
        return weights @ key


@scaled_dot_product_attention.mistake(
    "only the output is returned",
    observed="The pair (output, weights) is wanted: one would like to see who attends to whom.",
    change="Return `output, weights`.",
)
class _OutputOnly(_Attention):
    def results(self, output: Tensor, weights: Tensor, scores: Tensor) -> Tensor | tuple:
        return output


@scaled_dot_product_attention.mistake(
    "only the weights are returned",
    observed="Your result has a number for each key; the values have no part in it.",
    change="Return `weights @ value, weights`.",
)
class _WeightsOnly(_Attention):
    def results(self, output: Tensor, weights: Tensor, scores: Tensor) -> Tensor | tuple:
        return weights


@scaled_dot_product_attention.mistake(
    "output and weights are returned in the wrong order",
    observed="The first of your results has a column for each key, the second is d_v wide.",
    change="Return `output, weights`.",
)
class _SwappedResults(_Attention):
    def results(self, output: Tensor, weights: Tensor, scores: Tensor) -> Tensor | tuple:
        return weights, output


@scaled_dot_product_attention.mistake(
    "the scores are returned in place of the weights",
    observed="The output is right. The rows of your second result do not sum to 1: they have not "
    "been through the softmax.",
    change="Return what the values were multiplied by: `output, weights`.",
)
class _ScoresReturned(_Attention):
    def results(self, output: Tensor, weights: Tensor, scores: Tensor) -> Tensor | tuple:
        return output, scores


@scaled_dot_product_attention.mistake(
    "the output is cut off from query, key and value",
    observed="The numbers are right, but no gradient flows back: a model with it learns nothing.",
    change="Leave out `.detach()`, `.data` and `torch.no_grad()`, and make no new tensor from "
    "numbers.",
)
class _Detached(_Attention):
    def results(self, output: Tensor, weights: Tensor, scores: Tensor) -> Tensor | tuple:
        return output.detach(), weights.detach()


# --- masks -----------------------------------------------------------------------------------


def _hides_all_padding(value: Tensor, case: Case) -> bool:
    ids, pad_id = case.inputs
    padding = (ids == pad_id)[:, None, None, :]
    return not (value.bool() & padding).any()


_RAGGED = torch.tensor([[5, 7, 4, 6], [8, 4, 0, 0], [6, 0, 0, 0]])
_PAD_IS_3 = torch.tensor([[0, 4, 2, 3, 3], [5, 0, 1, 6, 3]])
_PADDED_IN_FRONT = torch.tensor([[1, 1, 6, 0], [7, 5, 4, 8]])
_SQUARE = torch.tensor([[4, 5, 6], [6, 4, 0], [5, 0, 0]])


@exercise(
    reference=model.padding_mask,
    cases=[
        Case((torch.tensor([[5, 7, 0]]), 0)),
        Case((_RAGGED, 0)),
        Case((_PAD_IS_3, 3)),
        Case((_PADDED_IN_FRONT, 1)),
        Case((_SQUARE, 0)),
    ],
    properties=[
        Property("no padding token may be attended to", _hides_all_padding),
        Property(
            "every other token may be attended to",
            lambda value, case: bool(
                value.bool()[(case.inputs[0] != case.inputs[1])[:, None, None, :]].all()
            ),
        ),
    ],
    hints=[
        "Which comparison of `ids` with `pad_id` is True for the tokens that may be attended to?",
        "`ids != pad_id` has shape (batch, key). The scores have shape (batch, heads, query, key): "
        "where do two new axes go?",
        "`(ids != pad_id)[:, None, None, :]`",
    ],
)
def padding_mask(ids: Tensor, pad_id: int) -> Tensor:
    """Return True for each token that is not padding, shape (batch, 1, 1, key)."""
    return (ids != pad_id)[:, None, None, :]


@exercise(
    reference=model.causal_mask,
    cases=[Case((3,)), Case((4,)), Case((7,))],
    properties=[
        Property(
            "a position may attend to itself", lambda value, case: bool(value.diagonal().all())
        ),
        Property(
            "no position may attend to a later one",
            lambda value, case: not value.bool().triu(1).any(),
        ),
        Property(
            "position i may attend to i + 1 positions",
            lambda value, case: torch.equal(
                value.bool().sum(dim=1), torch.arange(1, case.inputs[0] + 1)
            ),
        ),
    ],
    hints=[
        "Draw the square for three positions: a row for each query, a column for each key. Which "
        "places are True?",
        "Row i is True in columns 0 to i. That is a lower triangle, the diagonal included.",
        "`torch.ones(length, length, dtype=torch.bool)` is all True; `.tril()` keeps the lower "
        "triangle.",
    ],
)
def causal_mask(length: int) -> Tensor:
    """Return True where a query (row) may attend to a key (column), shape (length, length)."""
    return torch.ones(length, length, dtype=torch.bool).tril()


@exercise(
    reference=model.target_mask,
    cases=[
        Case((torch.tensor([[5, 7, 0]]), 0)),
        Case((_RAGGED, 0)),
        Case((_PAD_IS_3, 3)),
        Case((_PADDED_IN_FRONT, 1)),
        Case((_SQUARE, 0)),
    ],
    properties=[
        Property("no padding token may be attended to", _hides_all_padding),
        Property(
            "no position may attend to a later one",
            lambda value, case: not value.bool().triu(1).any(),
        ),
        Property(
            "a token that is not padding may attend to itself",
            lambda value, case: torch.equal(
                value.bool()[:, 0].diagonal(dim1=1, dim2=2), case.inputs[0] != case.inputs[1]
            ),
        ),
    ],
    hints=[
        "You have both masks already. A key may be attended to if the one allows it and the other "
        "does too.",
        "The padding mask has shape (batch, 1, 1, length), the causal one (length, length). They "
        "broadcast to (batch, 1, length, length). Which operator is True where both are?",
        "`padding_mask(ids, pad_id) & causal_mask(ids.shape[1])`",
    ],
)
def target_mask(ids: Tensor, pad_id: int) -> Tensor:
    """Return what both masks allow, shape (batch, 1, length, length)."""
    return model.padding_mask(ids, pad_id) & model.causal_mask(ids.shape[1])


class _MaskSteps:
    """All masks in steps, so that a mistake replaces one."""

    def real(self, ids: Tensor, pad_id: int) -> Tensor:
        return ids != pad_id

    def arrange(self, real: Tensor) -> Tensor:
        return real[:, None, None, :]

    def triangle(self, length: int) -> Tensor:
        return torch.ones(length, length, dtype=torch.bool).tril()

    def form(self, mask: Tensor) -> Tensor:
        return mask


class _Padding(_MaskSteps):
    def __call__(self, ids: Tensor, pad_id: int) -> Tensor:
        return self.form(self.arrange(self.real(ids, pad_id)))


class _Causal(_MaskSteps):
    def __call__(self, length: int) -> Tensor:
        return self.form(self.triangle(length))


class _Target(_MaskSteps):
    def length(self, ids: Tensor) -> int:
        return ids.shape[1]

    def combine(self, padding: Tensor, causal: Tensor) -> Tensor:
        return padding & causal

    def __call__(self, ids: Tensor, pad_id: int) -> Tensor:
        padding = self.arrange(self.real(ids, pad_id))
        return self.form(self.combine(padding, self.triangle(self.length(ids))))


_PADDINGS = {padding_mask: _Padding, target_mask: _Target}
_CAUSALS = {causal_mask: _Causal, target_mask: _Target}
_MASKS = {**_PADDINGS, **_CAUSALS}


# Which tokens are padding, and along which axis


@shared_mistake(
    _PADDINGS,
    "the padding is True and the words are False",
    observed="All attention goes to the padding: True means that a key may be attended to.",
    change="Compare with `!=`, not with `==`.",
)
class _PaddingInverted(_MaskSteps):
    def real(self, ids: Tensor, pad_id: int) -> Tensor:
        return ids == pad_id


@shared_mistake(
    _PADDINGS,
    "0 is taken for the padding instead of `pad_id`",
    observed="Right while `pad_id` is 0. With `pad_id=3` the padding may be attended to, and the "
    "token 0 may not.",
    change="Compare with the argument: `ids != pad_id`. `ids.bool()` compares with 0 too.",
)
class _PaddingIsZero(_MaskSteps):
    def real(self, ids: Tensor, pad_id: int) -> Tensor:
        return ids != 0


@shared_mistake(
    _PADDINGS,
    "ids below `pad_id` count as padding",
    observed="Right while `pad_id` is 0. With `pad_id=3` the tokens 0, 1 and 2 are hidden too.",
    change="Compare with `!=`, not with `>`: an id is a name, its size means nothing.",
)
class _PaddingIsSmall(_MaskSteps):
    def real(self, ids: Tensor, pad_id: int) -> Tensor:
        return ids > pad_id


@shared_mistake(
    _PADDINGS,
    "padding is expected at the end of each row",
    observed="You count the words and let the first so many through. A row that begins with "
    "padding, 1 1 6 0 with `pad_id=1`, hides its words.",
    change="Compare each id by itself: `ids != pad_id`.",
)
class _PaddingAtTheEnd(_MaskSteps):
    def real(self, ids: Tensor, pad_id: int) -> Tensor:
        lengths = (ids != pad_id).sum(dim=1, keepdim=True)
        return torch.arange(ids.shape[1]) < lengths


@shared_mistake(
    _PADDINGS,
    "queries are masked instead of keys",
    observed="The rows of the padding are False; its columns should be, so that nothing attends "
    "to it.",
    change="The last axis is the keys': `[:, None, None, :]`, not `[:, None, :, None]`.",
)
class _QueriesMasked(_MaskSteps):
    def arrange(self, real: Tensor) -> Tensor:
        return real[:, None, :, None]


@shared_mistake(
    _PADDINGS,
    "the padding's queries are masked as well as its keys",
    observed="The rows of the padding are all False: they have nothing to attend to. What comes "
    "out there is never used, so no row needs hiding.",
    change="Mask keys only: `(ids != pad_id)[:, None, None, :]`.",
)
class _QueriesAndKeysMasked(_MaskSteps):
    def arrange(self, real: Tensor) -> Tensor:
        return real[:, None, :, None] & real[:, None, None, :]


@shared_mistake(
    _PADDINGS,
    "the padding mask has two axes, (batch, key)",
    observed="Against (query, key) a (batch, key) mask is an error, or, with as many sentences as "
    "queries, a mask for the wrong rows.",
    change="Insert the axes of heads and queries: `[:, None, None, :]`.",
)
class _NoNewAxes(_MaskSteps):
    def arrange(self, real: Tensor) -> Tensor:
        return real


@shared_mistake(
    _PADDINGS,
    "the axis of the heads is missing",
    observed="A mask of three axes puts the batch where the scores have the heads: an error, or, "
    "with as many sentences as heads, the mask of another sentence.",
    change="Insert two axes: `[:, None, None, :]`.",
)
class _OneNewAxis(_MaskSteps):
    def arrange(self, real: Tensor) -> Tensor:
        return real[:, None, :]


@shared_mistake(
    _PADDINGS,
    "the new axes come first",
    observed="The batch stands where the scores have the queries: row i of the mask belongs to "
    "sentence i.",
    change="Keep the batch in front: `[:, None, None, :]`.",
)
class _AxesInFront(_MaskSteps):
    def arrange(self, real: Tensor) -> Tensor:
        return real[None, None]


@shared_mistake(
    _MASKS,
    "it holds 0 and -inf, to be added to scores",
    observed="Your mask holds numbers; a boolean one is wanted, with True where one may attend.",
    change="Return the comparison or the triangle itself, of dtype `torch.bool`.",
)
class _Additive(_MaskSteps):
    def form(self, mask: Tensor) -> Tensor:
        return torch.zeros(mask.shape).masked_fill(~mask, -math.inf)


@shared_mistake(
    _MASKS,
    "it holds 0 and -1e9, to be added to scores",
    observed="Your mask holds numbers; a boolean one is wanted, with True where one may attend.",
    change="Return the comparison or the triangle itself, of dtype `torch.bool`.",
)
class _AdditiveFinite(_MaskSteps):
    def form(self, mask: Tensor) -> Tensor:
        return torch.zeros(mask.shape).masked_fill(~mask, -1e9)


@padding_mask.mistake(
    "the mask is copied for every query",
    observed="It works, but your mask is as many times larger as there are queries, though all "
    "its rows are equal.",
    change="Leave the axis of the queries at 1: it is broadcast.",
)
class _CopiedForQueries(_Padding):
    def arrange(self, real: Tensor) -> Tensor:
        return real[:, None, None, :].repeat(1, 1, real.shape[1], 1)


# Which positions are the future


@shared_mistake(
    _CAUSALS,
    "each position may attend to the next one too",
    observed="Row 0 allows positions 0 and 1: the answer stands there to be copied.",
    change="Write `tril()`; `tril(1)` keeps one diagonal too many.",
)
class _OneTooMany(_MaskSteps):
    def triangle(self, length: int) -> Tensor:
        return torch.ones(length, length, dtype=torch.bool).tril(1)


@shared_mistake(
    _CAUSALS,
    "a position may not attend to itself",
    observed="The diagonal is False, and row 0 has nothing to attend to.",
    change="Write `tril()`, or `>=` for `>`: the diagonal belongs to what may be seen.",
)
class _OneTooFew(_MaskSteps):
    def triangle(self, length: int) -> Tensor:
        return torch.ones(length, length, dtype=torch.bool).tril(-1)


@shared_mistake(
    _CAUSALS,
    "each position sees itself and the future instead of the past",
    observed="Row 0 allows every position, the last row only itself: rows are queries, columns "
    "are keys.",
    change="Keep the lower triangle: `tril()`, not `triu()`.",
)
class _UpperTriangle(_MaskSteps):
    def triangle(self, length: int) -> Tensor:
        return torch.ones(length, length, dtype=torch.bool).triu()


@shared_mistake(
    _CAUSALS,
    "the future is True and the rest False",
    observed="You mark what is forbidden: each position may then attend to nothing but its future.",
    change="Turn it round with `~`: True means that one may attend.",
)
class _FutureAllowed(_MaskSteps):
    def triangle(self, length: int) -> Tensor:
        return torch.ones(length, length, dtype=torch.bool).triu(1)


@shared_mistake(
    _CAUSALS,
    "each position may attend to itself only",
    observed="Only the diagonal is True, so nothing passes from one position to another.",
    change="Let the past in as well: `torch.ones(length, length).bool().tril()`.",
)
class _DiagonalOnly(_MaskSteps):
    def triangle(self, length: int) -> Tensor:
        return torch.eye(length, dtype=torch.bool)


@shared_mistake(
    _CAUSALS,
    "nothing is cut off from the square",
    observed="Row 0 allows every position, the future too.",
    change="Keep the lower triangle: `tril()`.",
)
class _NoTriangle(_MaskSteps):
    def triangle(self, length: int) -> Tensor:
        return torch.ones(length, length, dtype=torch.bool)


@causal_mask.mistake(
    "it has axes for batch and heads",
    observed="The shape (length, length) is wanted; against scores of more axes it is broadcast.",
    change="Leave out the leading axes.",
)
class _FourAxes(_Causal):
    def form(self, mask: Tensor) -> Tensor:
        return mask[None, None]


# Both


@target_mask.mistake(
    "one of the two masks is enough: OR instead of AND",
    observed="Row 0 allows every word, the future too, and the last row allows the padding. "
    "`+` between boolean tensors is OR as well.",
    change="Both must allow: combine with `&`.",
)
class _Either(_Target):
    def combine(self, padding: Tensor, causal: Tensor) -> Tensor:
        return padding | causal


@target_mask.mistake(
    "the causal mask is left out",
    observed="Your mask has one row for all queries, so each position sees the future.",
    change="Combine it with the causal mask: `& causal_mask(ids.shape[1])`.",
)
class _PaddingOnly(_Target):
    def combine(self, padding: Tensor, causal: Tensor) -> Tensor:
        return padding


@target_mask.mistake(
    "the padding mask is left out",
    observed="Your mask is the same for every sentence: padding may be attended to.",
    change="Combine it with the padding mask: `padding_mask(ids, pad_id) & ...`.",
)
class _CausalOnly(_Target):
    def combine(self, padding: Tensor, causal: Tensor) -> Tensor:
        return causal


@target_mask.mistake(
    "the whole mask is turned round",
    observed="What is forbidden is True: padding and future.",
    change="Turn it round with `~`: True means that one may attend.",
)
class _BothInverted(_Target):
    def form(self, mask: Tensor) -> Tensor:
        return ~mask


@target_mask.mistake(
    "the causal mask is as long as the batch",
    observed="`len(ids)` and `ids.shape[0]` count sentences. That is an error, unless there are as "
    "many sentences as tokens in each.",
    change="Take the length from axis 1: `ids.shape[1]`.",
)
class _LengthOfBatch(_Target):
    def length(self, ids: Tensor) -> int:
        return len(ids)


# --- sees_the_future -------------------------------------------------------------------------


class _Layer:
    """A layer with a name, which the words of a check show."""

    def __init__(self, name: str, forward: Callable[[Tensor], Tensor]) -> None:
        self.name = name
        self.forward = forward

    def __repr__(self) -> str:
        return f"<{self.name}>"

    def __call__(self, x: Tensor) -> Tensor:
        return self.forward(x)


def _attention(name: str, weigh: Callable[[Tensor, Tensor], Tensor]) -> _Layer:
    """Return self-attention; ``weigh`` makes weights of scores and a causal mask."""

    def forward(x: Tensor) -> Tensor:
        return weigh(x @ x.mT / math.sqrt(x.shape[-1]), model.causal_mask(x.shape[1])) @ x

    return _Layer(name, forward)


def _leak(name: str, query: int, key: int, feature: int, amount: float) -> _Layer:
    """Return a running sum; a feature of one position also gets some of a later position."""

    def forward(x: Tensor) -> Tensor:
        leaked = torch.zeros_like(x)
        leaked[:, query, feature] = amount * x[:, key, feature]
        return x.cumsum(dim=1) + leaked

    return _Layer(name, forward)


_CAUSAL_ATTENTION = _attention(
    "attention with a causal mask",
    lambda scores, mask: scores.masked_fill(~mask, -math.inf).softmax(dim=-1),
)
_FREE_ATTENTION = _attention(
    "attention without a mask", lambda scores, mask: scores.softmax(dim=-1)
)
_LAYERS = (
    _CAUSAL_ATTENTION,
    _FREE_ATTENTION,
    _attention(
        "attention with a mask that allows one position too many",
        lambda scores, mask: scores.masked_fill(mask.mT.triu(2), -math.inf).softmax(dim=-1),
    ),
    _attention(
        "attention with 0 in place of future scores",
        lambda scores, mask: (scores * mask).softmax(dim=-1),
    ),
    _attention(
        "attention with the mask after the softmax",
        lambda scores, mask: scores.softmax(dim=-1) * mask,
    ),
    _Layer("the mean of all positions", lambda x: x.mean(dim=1, keepdim=True).expand_as(x)),
    _Layer("the vector of the previous position", lambda x: F.pad(x[:, :-1], (0, 0, 1, 0))),
    _Layer("the vector of the next position", lambda x: F.pad(x[:, 1:], (0, 0, 0, 1))),
    _Layer("a running sum plus the mean of the batch", lambda x: x.cumsum(dim=1) + x.mean(dim=0)),
    _leak("a running sum with a leak in feature 0", query=1, key=3, feature=0, amount=-0.5),
    _leak("a running sum with a weak leak in feature 2", query=0, key=2, feature=2, amount=0.01),
)


def _probed(layer: _Layer, *shape: int) -> Case:
    return Case((layer, vectors(*shape)), written=f"({layer}, x of shape {list(shape)})")


def _by_derivatives(layer: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
    """Say which outputs depend on later inputs, by the derivatives of all by all."""
    derivatives = torch.autograd.functional.jacobian(lambda x: layer(x).sum(dim=0), x)
    return derivatives.abs().amax(dim=(1, 2, 4)).triu(1) > 0


@exercise(
    reference=_by_derivatives,
    cases=[
        *(_probed(layer, 3, 3, 2) for layer in (_CAUSAL_ATTENTION, _FREE_ATTENTION)),
        *(_probed(layer, 2, 4, 3) for layer in _LAYERS),
    ],
    properties=[
        Property(
            "nothing on the diagonal or below it is True: that is no future",
            lambda value, case: not value.bool().tril().any(),
        ),
    ],
    hints=[
        "You need not look into the layer. Call it on `x`, change one input, call it again: which "
        "outputs have moved?",
        "Loop over j. Copy `x`, change position j of the copy, and compare the layer's two "
        "outputs. Only the positions before j are of interest: rows i < j of column j.",
        "`changed = x.clone()`, `changed[:, j] += 1`, then "
        "`(layer(changed) - layer(x)).abs().amax(dim=(0, 2)) > 1e-5` says which positions moved.",
    ],
)
def sees_the_future(layer: nn.Module, x: Tensor) -> Tensor:
    """Return where output i (row) changes with a later input j (column), (length, length)."""
    length = x.shape[1]
    sees = torch.zeros(length, length, dtype=torch.bool)
    before = layer(x)
    for j in range(length):
        changed = x.clone()
        changed[:, j] += 1
        moved = (layer(changed) - before).abs().amax(dim=(0, 2)) > 1e-5
        sees[:j, j] = moved[:j]
    return sees


class _Probe:
    """The search for leaks in steps, so that a mistake replaces one."""

    def change(self, x: Tensor, j: int) -> Tensor:
        changed = x.clone()
        changed[:, j] += 1
        return changed

    def effect(self, after: Tensor, before: Tensor, x: Tensor) -> Tensor:
        return (after - before).abs()

    def moved(self, effect: Tensor) -> Tensor:
        return (effect > 1e-5).any(dim=2).any(dim=0)

    def select(self, moved: Tensor) -> Tensor:
        return moved.triu(1)

    def __call__(self, layer: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
        before = layer(x)
        effects = (self.effect(layer(self.change(x, j)), before, x) for j in range(x.shape[1]))
        return self.select(torch.stack([self.moved(effect) for effect in effects], dim=1))


# Which input is changed


@sees_the_future.mistake(
    "`x` itself is changed, so that the changes pile up",
    observed="When the last input is changed, all those before it are changed already: outputs "
    "move that do not depend on it. The caller's `x` is changed as well.",
    change="Change a copy each time: `changed = x.clone()`.",
)
class _ChangesPileUp(_Probe):
    def change(self, x: Tensor, j: int) -> Tensor:
        x[:, j] += 1
        return x


@sees_the_future.mistake(
    "axis 0 is taken for the positions",
    observed="Axis 0 counts sentences: `x[j]` is the whole sentence j, and there may be fewer "
    "sentences than positions.",
    change="Positions stand on axis 1: change `changed[:, j]`, compare `output[:, i]`.",
)
class _SentenceChanged(_Probe):
    def change(self, x: Tensor, j: int) -> Tensor:
        changed = x.clone()
        changed[j] += 1
        return changed


@sees_the_future.mistake(
    "a feature is changed at every position",
    observed="The last axis of `x` counts features: `x[:, :, j]` is feature j of all positions.",
    change="Change position j, with all its features: `changed[:, j] += 1`.",
)
class _FeatureChanged(_Probe):
    def change(self, x: Tensor, j: int) -> Tensor:
        changed = x.clone()
        changed[:, :, j] += 1
        return changed


@sees_the_future.mistake(
    "NaN is used as a mark",
    observed="A right mask gives later positions weight 0, but 0 times NaN is NaN: attention that "
    "sees nothing of them seems to leak.",
    change="Change the input to another ordinary number, and see whether outputs change.",
)
class _NanAsMark(_Probe):
    def change(self, x: Tensor, j: int) -> Tensor:
        changed = x.clone()
        changed[:, j] = math.nan
        return changed

    def effect(self, after: Tensor, before: Tensor, x: Tensor) -> Tensor:
        return after.isnan().float()


@sees_the_future.mistake(
    "everything from position j on is changed at once",
    observed="One cannot tell any more which of the inputs an output depends on: a leak from "
    "position 3 to 1 shows up in column 2 too.",
    change="Change position j alone: `changed[:, j]`, not `changed[:, j:]`.",
)
class _RestChanged(_Probe):
    def change(self, x: Tensor, j: int) -> Tensor:
        changed = x.clone()
        changed[:, j:] += 1
        return changed


@sees_the_future.mistake(
    "the whole future of output i is changed at once",
    observed="If one later input has an effect, you mark all of them: a mask that allows one "
    "position too many looks like no mask.",
    change="Change one position j at a time, and mark column j only.",
)
class _WholeFutureChanged(_Probe):
    def __call__(self, layer: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
        rows = []
        for i in range(x.shape[1]):
            changed = x.clone()
            changed[:, i + 1 :] += 1
            rows.append(self.moved(self.effect(layer(changed), layer(x), x))[i].expand(x.shape[1]))
        return self.select(torch.stack(rows))


@sees_the_future.mistake(
    "only the last input is changed",
    observed="Only the last column can be True: a layer that sees one position too many is caught "
    "in the last row but one and nowhere else.",
    change="Change each position in turn: `for j in range(length)`.",
)
class _LastInputOnly(_Probe):
    def select(self, moved: Tensor) -> Tensor:
        return moved.triu(1) & (torch.arange(len(moved)) == len(moved) - 1)


# What is compared


@sees_the_future.mistake(
    "the outputs are compared as a whole, not position by position",
    observed="Output j itself moves when input j does, so every layer seems to leak everywhere.",
    change="Compare each position apart: take the largest difference over batch and features only, "
    "`amax(dim=(0, 2))`.",
)
class _WholeOutputCompared(_Probe):
    def moved(self, effect: Tensor) -> Tensor:
        return (effect > 1e-5).any().expand(effect.shape[1])


@sees_the_future.mistake(
    "only feature 0 of each output is compared",
    observed="A leak in another feature stays unseen.",
    change="Compare all features: `amax(dim=(0, 2))`.",
)
class _FirstFeatureCompared(_Probe):
    def moved(self, effect: Tensor) -> Tensor:
        return (effect[:, :, 0] > 1e-5).any(dim=0)


@sees_the_future.mistake(
    "an output counts as changed only if all its numbers are",
    observed="A leak in one feature stays unseen.",
    change="One changed number is enough: `any`, or the largest difference.",
)
class _EveryNumberMustMove(_Probe):
    def moved(self, effect: Tensor) -> Tensor:
        return (effect > 1e-5).all(dim=2).all(dim=0)


@sees_the_future.mistake(
    "the sign of the difference is not taken away",
    observed="An output that falls when a later input grows stays unseen.",
    change="Take the absolute value: `(after - before).abs()`.",
)
class _SignedDifference(_Probe):
    def effect(self, after: Tensor, before: Tensor, x: Tensor) -> Tensor:
        return after - before


@sees_the_future.mistake(
    "the output is compared with `x`, not with the output before the change",
    observed="A layer's output differs from its input anyway, so every layer seems to leak.",
    change="Call the layer twice and compare its outputs: `layer(changed) - layer(x)`.",
)
class _ComparedWithInput(_Probe):
    def effect(self, after: Tensor, before: Tensor, x: Tensor) -> Tensor:
        return (after - x).abs()


@sees_the_future.mistake(
    "small changes are overlooked: the tolerance is too coarse",
    observed="A leak of 1 % of the input stays unseen. Training finds it and enlarges it.",
    change="Allow for rounding only: 1e-5 is enough.",
)
class _CoarseTolerance(_Probe):
    def moved(self, effect: Tensor) -> Tensor:
        return (effect > 0.1).any(dim=2).any(dim=0)


@sees_the_future.mistake(
    "it is the size of the changes, not whether there is one",
    observed="Your matrix holds numbers; True or False is wanted.",
    change="Compare with a small tolerance: `> 1e-5`.",
)
class _SizeOfChange(_Probe):
    def moved(self, effect: Tensor) -> Tensor:
        return effect.amax(dim=(0, 2))


@sees_the_future.mistake(
    "True stands where nothing changes",
    observed="A layer without a mask gives False everywhere, one with a right mask gives True.",
    change="Turn the comparison round: True means that output i has changed.",
)
class _UnchangedMarked(_Probe):
    def moved(self, effect: Tensor) -> Tensor:
        return (effect <= 1e-5).all(dim=2).all(dim=0)


# Which pairs are kept


@sees_the_future.mistake(
    "the past counts as well",
    observed="The lower triangle is True, though each output may see itself and the past.",
    change="Keep the pairs with j > i only: rows above `j`, or `triu(1)`.",
)
class _PastMarked(_Probe):
    def select(self, moved: Tensor) -> Tensor:
        return moved


@sees_the_future.mistake(
    "the diagonal counts as well",
    observed="The diagonal is True: output j may see input j, which is not the future.",
    change="Keep the pairs with j > i, without j = i: `sees[:j, j]`, or `triu(1)`.",
)
class _PresentMarked(_Probe):
    def select(self, moved: Tensor) -> Tensor:
        return moved.triu()


@sees_the_future.mistake(
    "the past is looked at instead of the future",
    observed="The lower triangle of your matrix tells which outputs see the past, as they may.",
    change="Keep the pairs with j > i: a later input j, an earlier output i.",
)
class _PastInsteadOfFuture(_Probe):
    def select(self, moved: Tensor) -> Tensor:
        return moved.tril(-1)


@sees_the_future.mistake(
    "rows and columns have changed places",
    observed="Your row is the input that was changed and your column the output.",
    change="Write `sees[i, j]`, i being the output and j the input: `sees[:j, j] = moved[:j]`.",
)
class _Transposed(_Probe):
    def select(self, moved: Tensor) -> Tensor:
        return moved.triu(1).mT


@sees_the_future.mistake(
    "input i is changed and output j is looked at: the past, entered above the diagonal",
    observed="Every layer that uses the past at all seems to leak. You change the earlier position "
    "and look at later outputs, which may move.",
    change="Change the later input j and look at the earlier output i: `sees[:j, j] = moved[:j]`.",
)
class _PastAboveDiagonal(_Probe):
    def select(self, moved: Tensor) -> Tensor:
        return moved.mT.triu(1)


@sees_the_future.mistake(
    "only the changed position is looked at",
    observed="Your matrix has nothing but its diagonal: output j moves with input j, of course.",
    change="Look at the outputs before j: `sees[:j, j] = moved[:j]`.",
)
class _OnlyItself(_Probe):
    def select(self, moved: Tensor) -> Tensor:
        return moved.triu().tril()


@sees_the_future.mistake(
    "only the last output is looked at",
    observed="Only the last row of your matrix holds anything. The last output has no future: it "
    "may see everything.",
    change="Look at the outputs before j: `sees[:j, j] = moved[:j]`.",
)
class _LastOutputOnly(_Probe):
    def select(self, moved: Tensor) -> Tensor:
        return moved & (torch.arange(len(moved)) == len(moved) - 1)[:, None]


@sees_the_future.mistake(
    "there is one answer for the whole layer",
    observed="You return a single True or False; a matrix is wanted, which says who sees whom.",
    change="Return the matrix; `.any()` of it is your answer.",
)
class _OneAnswer(_Probe):
    def select(self, moved: Tensor) -> Tensor:
        return moved.triu(1).any()
