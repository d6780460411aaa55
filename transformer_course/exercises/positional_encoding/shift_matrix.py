"""The matrix that moves an encoding by some positions."""

import math  # noqa: F401 (a mistake takes a logarithm)

import torch
from torch import Tensor

from transformer_course import model
from transformer_course.checker.cases import Case, Property
from transformer_course.checker.exercise import exercise
from transformer_course.exercises.positional_encoding.sinusoidal_encoding import sinusoidal_encoding
from transformer_course.exercises.positional_encoding.wavelengths import wavelengths


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
    "both sines have a minus sign",
    edits=[("[cos, sin, -sin, cos]", "[cos, -sin, -sin, cos]")],
    observed="Both sines in your blocks have the same sign, so lengths change.",
    change="Put the minus before the lower left sine only.",
)
shift_matrix.mistake(
    "the minus sign is before a cosine",
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
    "the lower right corner of the blocks is a sine",
    edits=[("-sin, cos]", "-sin, sin]")],
    observed="Offset 0 should give ones on the diagonal; every second of yours is 0.",
    change="Put cosines into both corners of the diagonal: `[[cos, sin], [-sin, cos]]`.",
)
shift_matrix.mistake(
    "a negative offset does nothing",
    edits=[("offset * frequency", "max(offset, 0) * frequency")],
    observed="Offset -2 gives a matrix that changes nothing; `range(-2)` is empty.",
    change="Rotate by `offset * frequency[i]`, which is negative for a negative offset.",
)
shift_matrix.mistake(
    "the sign of the offset is lost",
    edits=[("offset * frequency", "abs(offset) * frequency")],
    observed="Offset -2 gives the matrix of offset 2.",
    change="Rotate by `offset * frequency[i]`, which is negative for a negative offset.",
)
shift_matrix.mistake(
    "angles are divided by 2 pi",
    edits=[("angle = offset", "angle = 1 / (2 * math.pi) * offset")],
    observed="Your angles count turns, those of sine and cosine are radians: with offset 1 the "
    "first corner is .987 instead of .540.",
    change="The angle is `offset * frequency[i]`, which is `2 * math.pi * offset / wavelength[i]`.",
)
shift_matrix.mistake(
    "angles are multiplied by 2 pi",
    edits=[("angle = offset", "angle = 2 * math.pi * offset")],
    observed="Your first block changes nothing, whatever the offset: a whole turn for each "
    "position.",
    change="Leave 2 pi out: the angle is the offset times the frequency, in radians.",
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
    "block i is at row i instead of row 2i, so the blocks overlap",
    edits=[
        (
            "return torch.block_diag(*blocks)",
            "matrix = torch.zeros(d_model, d_model)\n"
            "    for row, block in enumerate(blocks):\n"
            "        matrix[row : row + 2, row : row + 2] = block\n"
            "    return matrix",
        )
    ],
    observed="The lower right of your matrix is empty, and pairs are mixed.",
    change="Pair i has the rows and columns 2i and 2i + 1.",
)
shift_matrix.mistake(
    "the sines connect every dimension with the next one",
    edits=[
        (
            "torch.block_diag(*blocks)",
            "(cos.repeat_interleave(2).diag() + sin.repeat_interleave(2)[:-1].diag(1) - "
            "sin.repeat_interleave(2)[:-1].diag(-1))",
        )
    ],
    observed="Your second diagonals are full. Between dimensions 1 and 2, which belong to "
    "different pairs, there should be a 0.",
    change="Leave every second number there at 0: only dimensions 2i and 2i + 1 belong together.",
)
shift_matrix.mistake(
    "the last block stays 0",
    edits=[("    return", "    blocks[-1] = 0\n    return")],
    observed="The last two rows are 0: a loop that ends early leaves out the last pair.",
    change="There are d_model / 2 pairs: `range(d_model // 2)` goes up to the last one.",
)
shift_matrix.mistake(
    "the last pair is not rotated",
    edits=[("    return", "    blocks[-1] = torch.eye(2)\n    return")],
    observed="The last block is [[1, 0], [0, 1]]: a loop that ends early leaves out the last pair.",
    change="There are d_model / 2 pairs: `range(d_model // 2)` goes up to the last one.",
)
shift_matrix.mistake(
    "the fractions are cut off",
    edits=[("block_diag(*blocks)", "block_diag(*blocks).trunc()")],
    observed="Your matrix holds whole numbers only: it was made for them.",
    change="Fill a matrix of floating-point numbers, such as `torch.zeros(d_model, d_model)`.",
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
    "all pairs have the frequency of the first",
)
shift_matrix.shares(sinusoidal_encoding, "multiplied by 10000 ** (2i / d_model) instead of divided")
shift_matrix.mistake(
    "all pairs but the first stand still",
    edits=[
        ("1 / 10000.0", "torch.exp(-10000.0"),
        ("** (2", "* (2"),
        ("/ d_model)\n", "/ d_model))\n"),
    ],
    observed="All blocks but the first change nothing: their frequency is 0.",
    change="The frequency is `torch.exp(-math.log(10000) * 2 * i / d_model)`: is the logarithm "
    "there, and is the exponent divided by d_model?",
)
shift_matrix.shares(
    wavelengths,
    "the logarithm has base 10",
    "the base is 1000",
)
shift_matrix.mistake(
    "the power is missing: 10000 is a factor",
    edits=[("10000.0 ** (", "10000.0 * (")],
    observed="The first block changes nothing: pair 0, the fastest, stands still.",
    change="Raise 10000 to the power: `10000 ** (2 * i / d_model)`.",
)
shift_matrix.shares(
    wavelengths,
    "the base is 100000",
    "the exponent is (2i + 1) / d_model",
    "the power is divided by d_model instead of the exponent",
    "the width is always taken as 512",
)
shift_matrix.mistake(
    "the exponent has no parentheses",
    edits=[("(2 * i / d_model)", "2 * i / d_model")],
    observed="You divide by 10000 ** 2, multiply by i and divide by d_model: pair 0 stands still.",
    change="Put the exponent into parentheses: `10000 ** (2 * i / d_model)`.",
    unless=r"(?s)\A(?=.)(?!.*(\*\*|pow))",
)
shift_matrix.mistake(
    "the blocks are added to an identity matrix",
    edits=[("block_diag(*blocks)", "block_diag(*blocks) + torch.eye(d_model)")],
    observed="Offset 0 should give ones on the diagonal; yours gives twos: everything there is too "
    "large by 1.",
    change="Begin with `torch.zeros(d_model, d_model)` instead of `torch.eye(d_model)`.",
)
shift_matrix.mistake(
    "the lower sine is missing",
    edits=[("-sin, cos]", "0 * sin, cos]")],
    observed="The lower left of each block is 0, so a block is not a rotation: lengths change.",
    change="Put minus the sine there: `[[cos, sin], [-sin, cos]]`.",
)
shift_matrix.mistake(
    "the upper sine is missing",
    edits=[("[cos, sin, -sin", "[cos, 0 * sin, -sin")],
    observed="The upper right of each block is 0, so a block is not a rotation: lengths change.",
    change="Put the sine there: `[[cos, sin], [-sin, cos]]`.",
)
shift_matrix.mistake(
    "the lower right corner of the blocks is 0",
    edits=[("-sin, cos]", "-sin, 0 * cos]")],
    observed="Offset 0 should give ones on the diagonal; every second of yours is 0.",
    change="Put the cosine into both corners of the diagonal: `[[cos, sin], [-sin, cos]]`.",
)
shift_matrix.mistake(
    "the blocks are stacked in one column",
    edits=[("torch.block_diag(*blocks)", "blocks.flatten(0, 1)")],
    observed="Your result has shape (d_model, 2): each block is below the one before.",
    change="Place them on the diagonal of one matrix: `torch.block_diag(*blocks)`.",
)
shift_matrix.mistake(
    "the two rows of a block have different frequencies",
    edits=[
        ("torch.arange(d_model // 2)", "torch.arange(d_model) / 2"),
        ("[cos, sin, -sin, cos]", "[cos[0::2], sin[0::2], -sin[1::2], cos[1::2]]"),
    ],
    observed="The lower row of each block turns more slowly than the upper one: row 1 does not "
    "have the length 1 that a rotation gives it together with row 0.",
    change="Both dimensions of a pair, 2i and 2i + 1, share the exponent 2i / d_model.",
)
shift_matrix.mistake(
    "the slowest pair comes first",
    edits=[("torch.arange(d_model // 2)", "torch.arange(d_model // 2).flip(0)")],
    observed="Your first block hardly turns; pair 0 should turn fastest.",
    change="Reverse the order of the frequencies.",
)
