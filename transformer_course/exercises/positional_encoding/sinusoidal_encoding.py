"""The table of sines and cosines that says where a token stands."""

import math

import torch
from torch import Tensor

from transformer_course import model
from transformer_course.checker.cases import Case, Property
from transformer_course.checker.exercise import exercise
from transformer_course.exercises.positional_encoding.wavelengths import wavelengths


@exercise(
    reference=model.sinusoidal_encoding,
    cases=[Case((2, 4)), Case((3, 4)), Case((4, 4)), Case((3, 6)), Case((2, 8)), Case((9, 4))],
    properties=[
        Property(
            "row 0 is 0, 1, 0, 1, ...",
            lambda value, case: torch.allclose(
                value[0].float(), torch.tensor([0.0, 1.0]).repeat(case.inputs[1] // 2)
            ),
        ),
        Property(
            "each row has length sqrt(d_model / 2)",
            lambda value, case: torch.allclose(
                value.float().norm(dim=1), torch.tensor(math.sqrt(case.inputs[1] / 2)), rtol=1e-4
            ),
        ),
        Property(
            "column 0 is the sine of the position",
            lambda value, case: torch.allclose(
                value[:, 0].float(), torch.arange(case.inputs[0]).sin(), atol=1e-4
            ),
        ),
    ],
    hints=[
        "Two vectors are enough: the positions 0, 1, ... and one frequency for each pair. Their "
        "outer product holds every angle.",
        "The frequency of pair `i` is `10000 ** (-2 * i / d_model)`, for i = 0 .. d_model / 2 - 1.",
        "With `angle` of shape (length, d_model / 2): `encoding[:, 0::2] = angle.sin()` and "
        "`encoding[:, 1::2] = angle.cos()`.",
    ],
)
def sinusoidal_encoding(length: int, d_model: int) -> Tensor:
    """Return the encoding of positions 0 .. length - 1, shape (length, d_model)."""
    position = torch.arange(length)[:, None]
    i = torch.arange(d_model // 2)
    frequency = 1 / 10000.0 ** (2 * i / d_model)
    angle = position * frequency
    encoding = torch.empty(length, d_model)
    encoding[:, 0::2] = angle.sin()
    encoding[:, 1::2] = angle.cos()
    return encoding


sinusoidal_encoding.mistake(
    "sine and cosine are swapped",
    edits=[("angle.sin()", "angle.cos()"), ("angle.cos()", "angle.sin()")],
    observed="Row 0 is 1, 0, 1, 0, ...: at position 0 the sine, 0, goes first.",
    change="Put the sine into the even columns (0, 2, ...) and the cosine into the odd ones.",
)
sinusoidal_encoding.mistake(
    "there is a sine in every column",
    edits=[("angle.cos()", "angle.sin()")],
    observed="Row 0 holds zeros only; it should be 0, 1, 0, 1, ....",
    change="Put the cosine into the odd columns (1, 3, ...).",
)
sinusoidal_encoding.mistake(
    "all sines stand in the left half and all cosines in the right half",
    edits=[("[:, 0::2]", "[:, : d_model // 2]"), ("[:, 1::2]", "[:, d_model // 2 :]")],
    observed="Row 0 is 0 ... 0, 1 ... 1; it should be 0, 1, 0, 1, ....",
    change="Let sine and cosine take turns: pair `i` sits in columns 2i and 2i + 1.",
)
sinusoidal_encoding.mistake(
    "sine and cosine take turns from row to row",
    edits=[
        ("[:, 0::2]", "[0::2]"),
        ("sin()", "sin()[0::2].repeat_interleave(2, dim=1)"),
        ("[:, 1::2]", "[1::2]"),
        ("cos()", "cos()[1::2].repeat_interleave(2, dim=1)"),
    ],
    observed="Row 0 is all sines, row 1 all cosines: `[0::2]` picks rows.",
    change="Fill columns: `encoding[:, 0::2]` and `encoding[:, 1::2]`.",
)
sinusoidal_encoding.mistake(
    "positions are counted from 1",
    edits=[("torch.arange(length)", "torch.arange(1, length + 1)")],
    observed="The first row begins with 0.841, 0.540: that is position 1, not position 0.",
    change="Count from 0: `torch.arange(length)`.",
)
sinusoidal_encoding.mistake(
    "positions are divided by the length",
    edits=[("torch.arange(length)[:, None]", "torch.arange(length)[:, None] / length")],
    observed="Row 1 depends on `length`: the same position gets another encoding in a longer "
    "sequence.",
    change="Use the position itself: 0, 1, 2, ....",
)
sinusoidal_encoding.mistake(
    "angles are multiplied by 2 pi",
    edits=[("angle = position", "angle = 2 * math.pi * position")],
    observed="Columns 0 and 1 are 0 and 1 in every row: a whole turn for each position.",
    change="Leave 2 pi out: the angle is the position times the frequency, in radians.",
)
sinusoidal_encoding.mistake(
    "sine and cosine of a pair have different frequencies",
    edits=[
        ("torch.arange(d_model // 2)", "torch.arange(d_model) / 2"),
        ("angle.sin()", "angle[:, 0::2].sin()"),
        ("angle.cos()", "angle[:, 1::2].cos()"),
    ],
    observed="The squares of columns 0 and 1 do not add up to 1: column 1 turns more slowly.",
    change="Use the exponent 2i / d_model, i being the number of the pair, in both columns.",
)
sinusoidal_encoding.mistake(
    "i counts columns in the exponent 2i / d_model",
    edits=[
        ("torch.arange(d_model // 2)", "torch.arange(d_model)"),
        ("angle.sin()", "angle[:, 0::2].sin()"),
        ("angle.cos()", "angle[:, 1::2].cos()"),
    ],
    observed="Sine and cosine of a pair have different frequencies, and the last wavelength is "
    "near 2 pi * 10000 ** 2.",
    change="Let i count pairs: columns 2i and 2i + 1 share the exponent 2i / d_model.",
)
sinusoidal_encoding.mistake(
    "the encoding lies on its side",
    edits=[("return encoding", "return encoding.T")],
    observed="Your result has shape (d_model, length).",
    change="Give each position a row: `position[:, None] * frequency`.",
)
sinusoidal_encoding.shares(
    wavelengths,
    "the 2 of the exponent 2i / d_model is missing",
    "the exponent is doubled twice",
    "pairs are counted from 1",
    "the exponents reach 1",
    "the exponent is rounded down to 0",
)
sinusoidal_encoding.mistake(
    "multiplied by 10000 ** (2i / d_model) instead of divided",
    edits=[("1 / 10000.0", "10000.0")],
    observed="Later pairs turn faster and faster, so neighbouring positions differ wildly.",
    change="Divide by it, or give the exponent a minus sign.",
)
sinusoidal_encoding.shares(
    wavelengths,
    "the logarithm of 10000 is missing",
    "the logarithm has base 10",
    "the base is 1000",
)
