"""The matrix that moves an encoding by some positions."""

import math  # noqa: F401 (a mistake takes a logarithm)

import torch
from torch import Tensor

from transformer_course import model
from transformer_course.checker.cases import Case, Property
from transformer_course.checker.exercise import exercise


def _moves_every_position(matrix: Tensor, case: Case) -> bool:
    offset, d_model = case.inputs
    encoding = model.sinusoidal_encoding(15 + max(offset, 0), d_model)
    moved = encoding[5:15] @ matrix.float().T
    return torch.allclose(moved, encoding[5 + offset : 15 + offset], atol=1e-4)


@exercise(
    reference=model.shift_matrix,
    cases=[Case((2, 4)), Case((1, 4)), Case((-2, 6)), Case((0, 6)), Case((1, 8)), Case((40, 4))],
    properties=[
        Property("it moves positions 5 to 14 by the offset", _moves_every_position),
        Property(
            "its transpose is its inverse, so that lengths stay the same",
            lambda value, case: torch.allclose(
                value.float() @ value.float().T, torch.eye(case.inputs[1]), atol=1e-4
            ),
        ),
        Property(
            "pairs do not mix: it is zero outside the 2 x 2 blocks on the diagonal",
            lambda value, case: (
                not value[torch.block_diag(*[torch.ones(2, 2)] * (case.inputs[1] // 2)) == 0].any()
            ),
        ),
    ],
    hints=[
        "Look at one pair: how do sin(a + b) and cos(a + b) follow from sin(a) and cos(a)?",
        "sin(a + b) = cos(b) sin(a) + sin(b) cos(a) and cos(a + b) = -sin(b) sin(a) + "
        "cos(b) cos(a). Pair `i` has b = offset * frequency_i.",
        "The block of a pair is `[[cos(b), sin(b)], [-sin(b), cos(b)]]`; `torch.block_diag` puts "
        "the blocks on the diagonal.",
    ],
)
def shift_matrix(offset: int, d_model: int) -> Tensor:
    """Return the matrix M with M @ encoding[p] = encoding[p + offset], for every p."""
    i = torch.arange(d_model // 2)
    frequency = 1 / 10000.0 ** (2 * i / d_model)
    angle = offset * frequency
    sin, cos = angle.sin(), angle.cos()
    blocks = torch.stack([cos, sin, -sin, cos], dim=-1).reshape(-1, 2, 2)
    return torch.block_diag(*blocks)
