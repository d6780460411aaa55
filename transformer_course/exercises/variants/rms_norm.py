"""RMS norm: layer norm without mean and bias."""

import torch
from torch import Tensor

from transformer_course.checker.cases import Case, Property, gradients, vectors
from transformer_course.checker.exercise import exercise
from transformer_course.exercises.layers.inputs import gain_and_bias
from transformer_course.model import variants


def _gain(d_model: int) -> Tensor:
    return gain_and_bias(d_model)[0]


def _mean_square_is_one(value: Tensor, case: Case) -> bool:
    x, gain, *rest = case.inputs
    (eps,) = rest or [1e-6]
    before = x.square().mean(dim=-1)
    after = (value / gain).square().mean(dim=-1)
    return torch.allclose(after, before / (before + eps), atol=1e-3)


def _with_one_zero_vector(x: Tensor) -> Tensor:
    x[-1, -1] = 0.0
    return x


@exercise(
    reference=variants.rms_norm,
    cases=[
        Case((vectors(2, 3, 4) + 1, _gain(4), 1e-6)),
        Case((vectors(4, 4, 4), _gain(4), 1e-6)),
        Case((vectors(5).double(), _gain(5).double(), 1e-6)),
        Case((1e-3 * vectors(3, 2, 6), _gain(6))),
        Case((_with_one_zero_vector(vectors(2, 4, 3)), _gain(3), 0.1)),
        Case(
            (vectors(2, 4), _gain(4), 1e-6),
            observe=gradients,
            looks_at="the gradients of `x` and `gain`",
        ),
    ],
    properties=[
        Property(
            "without the gain, the mean square of each vector is m / (m + eps), where m is its "
            "mean square in x",
            _mean_square_is_one,
        )
    ],
    hints=[
        "Like layer norm, but nothing is subtracted and nothing is added: square, mean, root.",
        "`x.square().mean(dim=-1, keepdim=True)` is the mean square of each vector. `eps` belongs "
        "under the root.",
        "`return gain * x / torch.sqrt(mean_square + eps)`",
    ],
)
def rms_norm(x: Tensor, gain: Tensor, eps: float = 1e-6) -> Tensor:
    """Divide each vector of x by its root mean square, then scale each feature."""
    mean_square = x.square().mean(dim=-1, keepdim=True)
    return gain * x / torch.sqrt(mean_square + eps)
