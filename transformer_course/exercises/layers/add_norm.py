"""A residual connection with layer norm, in both orders."""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from transformer_course import model
from transformer_course.checker.cases import Case, Property, gradients, vectors
from transformer_course.checker.exercise import exercise
from transformer_course.exercises.layers.inputs import gain_and_bias


class Zeros(nn.Module):
    """A sub-layer that has nothing to say."""

    def forward(self, x: Tensor) -> Tensor:
        """Return zeros, as many as in x."""
        return torch.zeros_like(x)


def _norm(d_model: int) -> nn.Module:
    norm = model.LayerNorm(d_model)
    with torch.no_grad():
        for parameter, value in zip(norm.parameters(), gain_and_bias(d_model), strict=True):
            parameter.copy_(value)
    return norm


def _post_norm_ends_normalised(value: Tensor, case: Case) -> bool:
    _, _, norm, norm_first = case.inputs
    mean = ((value - norm.bias) / norm.gain).mean(dim=-1)
    return norm_first or torch.allclose(mean, torch.zeros_like(mean), atol=1e-4)


def _pre_norm_keeps_x(value: Tensor, case: Case) -> bool:
    x, sublayer, _, norm_first = case.inputs
    return not (norm_first and isinstance(sublayer, Zeros)) or torch.allclose(value, x)


def _by_the_model(x: Tensor, sublayer: nn.Module, norm: nn.Module, norm_first: bool) -> Tensor:
    add_norm = model.AddNorm(x.shape[-1], 0.0, norm_first)
    add_norm.norm = norm
    return add_norm(x, sublayer)


@exercise(
    reference=_by_the_model,
    cases=[
        Case((vectors(2, 3, 4), nn.Tanh(), _norm(4), False)),
        Case((vectors(2, 3, 4), nn.Tanh(), _norm(4), True)),
        Case((vectors(3, 2, 5).double(), nn.Softmax(dim=1), _norm(5).double(), False)),
        Case((vectors(3, 2, 5).double(), nn.Softmax(dim=1), _norm(5).double(), True)),
        Case((vectors(1, 2, 3), Zeros(), _norm(3), True)),
        Case(
            (vectors(2, 2, 3), nn.Tanh(), _norm(3), False),
            observe=gradients,
            looks_at="the gradient of `x`",
        ),
        Case(
            (vectors(2, 2, 3), nn.Tanh(), _norm(3), True),
            observe=gradients,
            looks_at="the gradient of `x`",
        ),
    ],
    properties=[
        Property(
            "with norm_first=False each vector of the result is normalised",
            _post_norm_ends_normalised,
        ),
        Property(
            "with norm_first=True a sub-layer that returns zeros leaves x as it was",
            _pre_norm_keeps_x,
        ),
    ],
    hints=[
        "Both orders add what the sub-layer returns to `x` itself. They differ in what is "
        "normalised: the sum, or what the sub-layer reads.",
        "`sublayer` and `norm` are called like functions. With `norm_first=True` the sub-layer "
        "gets `norm(x)`, and nothing is normalised after the sum.",
        "`x + sublayer(norm(x))` if `norm_first`, else `norm(x + sublayer(x))`.",
    ],
)
def add_norm(x: Tensor, sublayer: Callable, norm: Callable, norm_first: bool) -> Tensor:
    """Add what the sub-layer returns to x; normalise its input (norm_first) or the sum."""
    if norm_first:
        return x + sublayer(norm(x))
    return norm(x + sublayer(x))
