"""Layer norm, with gain and bias."""

import torch
from torch import Tensor

from transformer_course import model
from transformer_course.checker.cases import Case, Property, gradients, vectors
from transformer_course.checker.exercise import exercise
from transformer_course.exercises.layers.inputs import gain_and_bias


def _with_one_constant_vector(x: Tensor) -> Tensor:
    x[-1, -1] = 3.0
    return x


def _without_gain_and_bias(value: Tensor, case: Case) -> Tensor:
    _, gain, bias, *_ = case.inputs
    return (value - bias) / gain


def _mean_is_zero(value: Tensor, case: Case) -> bool:
    mean = _without_gain_and_bias(value, case).mean(dim=-1)
    return torch.allclose(mean, torch.zeros_like(mean), atol=1e-4)


def _variance_is_one(value: Tensor, case: Case) -> bool:
    x, _, _, *rest = case.inputs
    (eps,) = rest or [1e-5]
    before = x.var(dim=-1, correction=0)
    after = _without_gain_and_bias(value, case).var(dim=-1, correction=0)
    return torch.allclose(after, before / (before + eps), atol=1e-3)


@exercise(
    reference=model.layer_norm,
    cases=[
        Case((vectors(2, 3, 4), *gain_and_bias(4), 1e-5)),
        Case((vectors(4, 4, 4), *gain_and_bias(4), 1e-5)),
        Case((vectors(5).double(), *(part.double() for part in gain_and_bias(5)), 1e-5)),
        Case((1e-4 * vectors(3, 2, 6), *gain_and_bias(6))),
        Case((_with_one_constant_vector(vectors(2, 4, 3)), *gain_and_bias(3), 0.1)),
        Case(
            (vectors(2, 4), *gain_and_bias(4), 1e-5),
            observe=gradients,
            looks_at="the gradients of `x`, `gain` and `bias`",
        ),
    ],
    properties=[
        Property("without gain and bias, the mean of each vector is 0", _mean_is_zero),
        Property(
            "without gain and bias, the variance of each vector is v / (v + eps), where v is its "
            "variance in x",
            _variance_is_one,
        ),
    ],
    hints=[
        "Four steps: the mean of each vector, its variance, bring it to mean 0 and variance 1, "
        "then gain and bias. Along which axis does a vector run?",
        "`x.mean(dim=-1, keepdim=True)` keeps an axis of length 1, so that it can be subtracted "
        "from `x`. The variance is the mean of the squared distances from the mean.",
        "`variance = ((x - mean) ** 2).mean(dim=-1, keepdim=True)`; then "
        "`gain * (x - mean) / torch.sqrt(variance + eps) + bias`.",
    ],
)
def layer_norm(x: Tensor, gain: Tensor, bias: Tensor, eps: float = 1e-5) -> Tensor:
    """Bring each vector of x to mean 0 and variance 1, then apply gain and bias."""
    mean = x.mean(dim=-1, keepdim=True)
    variance = x.var(dim=-1, keepdim=True, correction=0)
    return gain * (x - mean) / torch.sqrt(variance + eps) + bias
