"""Temperature, top-k and nucleus: the probabilities to draw the next token from."""

import math

import torch
from torch import Tensor

from transformer_course.checker.cases import Case, Property, vectors
from transformer_course.checker.exercise import exercise
from transformer_course.translation import decoding

_LOGITS = torch.tensor(
    [[0.07, 0.50, 0.15, 0.03, 0.25], [0.04, 0.09, 0.36, 0.31, 0.20], [0.62, 0.02, 0.05, 0.20, 0.11]]
).log()


def _sums_to_one(value: Tensor, case: Case) -> bool:
    return torch.allclose(value.sum(dim=-1), torch.ones(len(value), dtype=value.dtype))


def _keeps_the_best(value: Tensor, case: Case) -> bool:
    return torch.equal(value.argmax(dim=-1), case.inputs[0].argmax(dim=-1))


def _leaves_at_most_k(value: Tensor, case: Case) -> bool:
    top_k = case.inputs[2] or value.shape[-1]
    return bool(((value > 0).sum(dim=-1) <= top_k).all())


@exercise(
    reference=decoding.next_token_probabilities,
    cases=[
        Case((_LOGITS, 1.0, None, None)),
        Case((_LOGITS, 0.5, None, None)),
        Case((_LOGITS, 1.0, 2, None)),
        Case((_LOGITS, 1.0, None, 0.7)),
        Case((_LOGITS, 2.0, None, 0.6)),
        Case((_LOGITS[:2], 1.0, None, 0.2)),
        Case((_LOGITS[:1], 1.0, 3, 0.8)),
        Case((_LOGITS[:1], 1.0, 2, 0.95)),
        Case((vectors(2, 9, seed=4).double(), 0.7, 5, 0.9)),
    ],
    properties=[
        Property("each row sums to 1", _sums_to_one),
        Property("the most probable token stays the most probable", _keeps_the_best),
        Property("at most `top_k` tokens are left", _leaves_at_most_k),
    ],
    hints=[
        "Take the filters one after the other and test each alone, with the others off: the "
        "temperature works on the logits, top-k too, the nucleus on probabilities.",
        "Top-k: a logit of minus infinity becomes probability 0, and the softmax renormalises the "
        "rest. Nucleus: sort, and look at the sum of all tokens *before* each one. While that sum "
        "is below `top_p`, the token is still needed.",
        "`ordered, places = probabilities.sort(dim=-1, descending=True)`, then "
        "`ordered.cumsum(dim=-1) - ordered >= top_p` marks what is left out, and "
        "`torch.zeros_like(ordered).scatter(-1, places, ordered)` puts the tokens back in their "
        "places. Divide by the sum at the end.",
    ],
)
def next_token_probabilities(logits, temperature=1.0, top_k=None, top_p=None) -> Tensor:
    """Return the probabilities [B, V] to draw the next token from; None switches a filter off."""
    logits = logits / temperature
    if top_k is not None:
        smallest_kept = logits.topk(top_k, dim=-1).values[:, -1:]
        logits = logits.masked_fill(logits < smallest_kept, -math.inf)
    probabilities = logits.softmax(dim=-1)
    if top_p is not None:
        ordered, places = probabilities.sort(dim=-1, descending=True)
        sum_before = ordered.cumsum(dim=-1) - ordered
        ordered = ordered * (sum_before < top_p)
        probabilities = torch.zeros_like(ordered).scatter(-1, places, ordered)
    return probabilities / probabilities.sum(dim=-1, keepdim=True)
