"""The feed-forward network, which acts on each position alone."""

import torch
from torch import Tensor, nn

from transformer_course import model
from transformer_course.checker.cases import (
    Case,
    Property,
    gradients,
    in_double_precision,
    vectors,
)
from transformer_course.checker.exercise import exercise


def _equal_vectors_equal_outputs(value: Tensor, case: Case) -> bool:
    (x,) = case.inputs
    same = (x.flatten(0, 1)[:, None] == x.flatten(0, 1)).all(dim=-1)
    outputs = value.flatten(0, 1)
    return torch.allclose((outputs[:, None] - outputs)[same], torch.tensor(0.0), atol=1e-5)


def _bends(value: Tensor, case: Case) -> bool:
    """Whether the positions, which hold a, b, a + b and 0, show that it is not an affine map."""
    a, b, both, nothing = value.unbind(1)[:4]
    return not torch.allclose(both + nothing, a + b, atol=1e-4)


def _two_and_their_sum(a: Tensor, b: Tensor) -> Tensor:
    """Return sentences of the positions a, b, a + b, 0, a."""
    return torch.stack([a, b, a + b, torch.zeros_like(a), a], dim=1)


@exercise(
    reference=model.FeedForward,
    cases=[
        Case((_two_and_their_sum(*vectors(2, 1, 2)),), construct=(2, 8)),
        Case((_two_and_their_sum(*vectors(2, 3, 6)),), construct=(6, 10)),
        Case((_two_and_their_sum(*vectors(2, 2, 8)),), construct=(8, 5)),
        Case(
            (vectors(3, 2, 4),),
            construct=(4, 6),
            observe=in_double_precision,
            looks_at="the same module and numbers in float64",
        ),
        Case(
            (vectors(2, 2, 3),),
            construct=(3, 4),
            observe=gradients,
            looks_at="the gradients of `x` and of all parameters",
        ),
        Case(
            (8 * vectors(4, 5, 6),),
            construct=(6, 6),
            looks_at="the result in training mode",
            training=True,
        ),
    ],
    properties=[
        Property(
            "equal vectors get equal outputs, wherever they are", _equal_vectors_equal_outputs
        ),
        Property(
            "it is not an affine map: f(a + b) + f(0) differs from f(a) + f(b)",
            _bends,
        ),
    ],
    hints=[
        "Two linear layers. How wide is what goes into each of them, and what comes out?",
        "`nn.Linear(d_model, d_ff)` expands and `nn.Linear(d_ff, d_model)` contracts. The ReLU "
        "goes between them, and nothing else happens.",
        "`return self.contract(self.expand(x).relu())`",
    ],
)
class FeedForward(nn.Module):
    """Expand each vector to d_ff features, apply ReLU, contract it again."""

    def __init__(self, d_model: int, d_ff: int) -> None:
        super().__init__()
        self.expand = nn.Linear(d_model, d_ff)
        self.contract = nn.Linear(d_ff, d_model)

    def forward(self, x: Tensor) -> Tensor:
        """Apply the same two layers to each position of x, (batch, length, d_model)."""
        return self.contract(self.expand(x).relu())
