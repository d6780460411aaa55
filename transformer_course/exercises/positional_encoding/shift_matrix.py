"""The matrix that moves an encoding by some positions."""

import math  # noqa: F401 (a mistake takes its logarithm)

import torch
from torch import Tensor

from transformer_course import model
from transformer_course.checker.cases import Case, Property
from transformer_course.checker.exercise import exercise
from transformer_course.exercises.positional_encoding.sinusoidal_encoding import sinusoidal_encoding
from transformer_course.exercises.positional_encoding.wavelengths import wavelengths


def _moves_every_position(matrix: Tensor, case: Case) -> bool:
    offset, d_model = case.inputs
    encoding = model.sinusoidal_encoding(20, d_model)
    moved = encoding[5:15] @ matrix.float().T
    return torch.allclose(moved, encoding[5 + offset : 15 + offset], atol=1e-4)


@exercise(
    reference=model.shift_matrix,
    cases=[Case((2, 4)), Case((1, 4)), Case((-2, 6)), Case((0, 6)), Case((1, 8))],
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


shift_matrix.mistake(
    "it moves backwards",
    edits=[("[cos, sin, -sin, cos]", "[cos, -sin, sin, cos]")],
    observed="Your matrix takes position p to p - offset; it is the transpose of the right one.",
    change="Use the block `[[cos, sin], [-sin, cos]]`: the sine comes first in a pair.",
)
shift_matrix.mistake(
    "the minus sign is missing",
    edits=[("-sin", "sin")],
    observed="Both sines in your blocks have the same sign, so lengths change.",
    change="Put the minus before the lower left sine: cos(a + b) = cos b cos a - sin b sin a.",
)
shift_matrix.mistake(
    "the minus sign stands before a cosine",
    edits=[("-sin, cos]", "sin, -cos]")],
    observed="Offset 0 should change nothing, but your matrix then flips every second dimension.",
    change="Put the minus before the lower left sine: `[[cos, sin], [-sin, cos]]`.",
)
shift_matrix.mistake(
    "sine and cosine are swapped in the blocks",
    edits=[("[cos, sin, -sin, cos]", "[sin, cos, -cos, sin]")],
    observed="Offset 0 should give ones on the diagonal; yours gives zeros there.",
    change="Put the cosines on the diagonal: `[[cos, sin], [-sin, cos]]`.",
)
shift_matrix.mistake(
    "the offset is not used",
    edits=[("offset * frequency", "frequency")],
    observed="Every offset gives the same matrix, that of offset 1.",
    change="Rotate pair `i` by `offset * frequency[i]`.",
)
shift_matrix.mistake(
    "the power is taken of each element, not of the matrix",
    edits=[
        ("offset * frequency", "frequency"),
        ("block_diag(*blocks)", "block_diag(*blocks) ** offset"),
    ],
    observed="Offset 1 is right and offset 2 is not: its elements are the squares of those.",
    change="Use `torch.linalg.matrix_power`, or multiply the angle by the offset.",
)
shift_matrix.mistake(
    "the blocks are laid out in halves",
    edits=[
        (
            "torch.block_diag(*blocks)",
            "torch.diag_embed(blocks.permute(1, 2, 0)).transpose(1, 2).reshape(d_model, d_model)",
        )
    ],
    observed="Your matrix is [[C, S], [-S, C]] with diagonal C and S: it fits an encoding with "
    "all sines first.",
    change="Put a 2 x 2 block on the diagonal for each pair: columns 2i and 2i + 1.",
)
shift_matrix.mistake(
    "the blocks are not put together",
    edits=[("torch.block_diag(*blocks)", "blocks")],
    observed="Your result has shape (d_model / 2, 2, 2).",
    change="Place them on the diagonal of one matrix: `torch.block_diag(*blocks)`.",
)
shift_matrix.mistake(
    "it moves dimensions instead of positions",
    edits=[("torch.block_diag(*blocks)", "torch.eye(d_model).roll(offset, dims=0)")],
    observed="Your matrix holds zeros and ones only: it carries each dimension `offset` places on.",
    change="Keep each pair in place and rotate it by `offset * frequency[i]`.",
)
shift_matrix.shares(
    wavelengths,
    "the 2 of the exponent 2i / d_model is missing",
    "the exponent is doubled twice",
    "pairs are counted from 1",
    "the exponents reach 1",
    "the exponent is rounded down to 0",
)
shift_matrix.shares(sinusoidal_encoding, "multiplied by 10000 ** (2i / d_model) instead of divided")
shift_matrix.shares(
    wavelengths,
    "the logarithm of 10000 is missing",
    "the logarithm has base 10",
    "the base is 1000",
)
