"""The table of sines and cosines that says where a token stands."""

import math
from collections.abc import Callable

import torch
from torch import Tensor

from transformer_course import model
from transformer_course.checker.cases import Case, Property
from transformer_course.checker.exercise import exercise
from transformer_course.exercises.positional_encoding.wavelengths import wavelengths


def _first_pairs(code: Callable, length: int, d_model: int) -> Tensor:
    """Leave out pairs whose angles, where they are multiplied, hold too few digits."""
    result = code(length, d_model)
    return result[..., :4] if getattr(result, "ndim", 0) else result  # NumPy's too


@exercise(
    reference=model.sinusoidal_encoding,
    cases=[
        Case((2, 4)),
        Case((3, 4)),
        Case((4, 4)),
        Case((3, 6)),
        Case((2, 8)),
        Case((40, 4)),
        Case((5, 16), observe=_first_pairs, looks_at="the first two pairs"),
    ],
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
    "there is a cosine in every column",
    edits=[("angle.sin()", "angle.cos()")],
    observed="Row 0 holds ones only; it should be 0, 1, 0, 1, ....",
    change="Put the sine into the even columns (0, 2, ...).",
)
sinusoidal_encoding.mistake(
    "the cosine overwrites the sine",
    edits=[("torch.empty", "torch.zeros"), ("[:, 1::2]", "[:, 0::2]")],
    observed="The even columns hold cosines, and the odd ones are never filled.",
    change="Put the cosine into the odd columns: `encoding[:, 1::2]`.",
)
sinusoidal_encoding.mistake(
    "all sines are in the left half and all cosines in the right half",
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
    "sines and cosines are stacked along the first axis, and a reshape mixes the positions",
    edits=[
        (
            "return encoding",
            "return torch.stack([angle.sin(), angle.cos()]).reshape(length, d_model)",
        )
    ],
    observed="Row 0 holds sines only, the last row cosines only: a reshape takes the numbers as "
    "they lie, first all sines, then all cosines.",
    change="Stack along the last axis, `torch.stack([...], dim=-1)`, before you reshape.",
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
    "angles are divided by 2 pi",
    edits=[("angle = position", "angle = 1 / (2 * math.pi) * position")],
    observed="Column 0 is the sine of the position / 6.283, not of the position.",
    change="The angle is the position times the frequency, in radians; or 2 pi times the position, "
    "divided by the wavelength.",
)
sinusoidal_encoding.mistake(
    "the angles are rounded down",
    edits=[("position * frequency", "(position * frequency).floor()")],
    observed="Columns 0 and 1 are right; in the others an angle below 1 is 0.",
    change="Divide with `/`; `//` rounds down to whole numbers.",
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
    "the list of frequencies is repeated as a whole",
    edits=[
        ("angle.sin()", "angle.repeat(1, 2)[:, 0::2].sin()"),
        ("angle.cos()", "angle.repeat(1, 2)[:, 1::2].cos()"),
    ],
    observed="Sine and cosine of a pair have different frequencies: with two pairs, columns 0 and "
    "2 are the same, and so are columns 1 and 3.",
    change="Repeat each frequency beside itself: `repeat_interleave(2, dim=-1)`, not `repeat` or "
    "`cat`; or fill `encoding[:, 0::2]` and `encoding[:, 1::2]` from the same angles.",
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
    "all pairs have the frequency of the first",
)
sinusoidal_encoding.mistake(
    "multiplied by 10000 ** (2i / d_model) instead of divided",
    edits=[("1 / 10000.0", "10000.0")],
    observed="Later pairs turn faster and faster, so neighbouring positions differ wildly.",
    change="Divide by it, or give the exponent a minus sign.",
)
sinusoidal_encoding.mistake(
    "all pairs but the first stand still",
    edits=[
        ("1 / 10000.0", "torch.exp(-10000.0"),
        ("** (2", "* (2"),
        ("/ d_model)\n", "/ d_model))\n"),
    ],
    observed="Columns 2 and 3 are 0 and 1 in every row: their frequency is 0.",
    change="The frequency is `torch.exp(-math.log(10000) * 2 * i / d_model)`: is the logarithm "
    "there, and is the exponent divided by d_model?",
)
sinusoidal_encoding.shares(
    wavelengths,
    "the logarithm has base 10",
    "the base is 1000",
)
sinusoidal_encoding.mistake(
    "the power is missing: 10000 is a factor",
    edits=[("10000.0 ** (", "10000.0 * (")],
    observed="Columns 0 and 1 are 0 and 1 in every row: pair 0, the fastest, stands still.",
    change="Raise 10000 to the power: `10000 ** (2 * i / d_model)`.",
)
sinusoidal_encoding.shares(
    wavelengths,
    "the base is 100000",
    "the exponent is (2i + 1) / d_model",
    "the power is divided by d_model instead of the exponent",
    "the width is always taken as 512",
)
sinusoidal_encoding.mistake(
    "the exponent has no parentheses",
    edits=[("(2 * i / d_model)", "2 * i / d_model")],
    observed="You divide by 10000 ** 2, multiply by i and divide by d_model: pair 0 stands still.",
    change="Put the exponent into parentheses: `10000 ** (2 * i / d_model)`.",
    unless=r"(?s)\A(?=.)(?!.*(\*\*|pow))",
)

# Rows and columns

sinusoidal_encoding.mistake(
    "the row of the last position stays 0",
    edits=[("return encoding", "encoding[-1] = 0\n    return encoding")],
    observed="A loop that ends early leaves the last row at 0.",
    change="Positions go up to length - 1: `range(length)` holds them all.",
)
sinusoidal_encoding.mistake(
    "the last pair of columns stays 0",
    edits=[("return encoding", "encoding[:, -2:] = 0\n    return encoding")],
    observed="A loop that ends early leaves the last two columns at 0.",
    change="There are d_model / 2 pairs: `range(d_model // 2)` goes up to the last one.",
)
sinusoidal_encoding.mistake(
    "position 0 is set to zero, as if it were padding",
    edits=[("return encoding", "encoding[0] = 0\n    return encoding")],
    observed="Row 0 holds zeros only; it should be 0, 1, 0, 1, ....",
    change="Leave row 0 as it is: position 0 is the first word.",
)
sinusoidal_encoding.mistake(
    "pair i is in columns i and i + 1, so the pairs overlap",
    edits=[
        (
            "return encoding",
            "encoding.zero_()\n"
            "    for pair in range(d_model // 2):\n"
            "        encoding[:, pair] = angle[:, pair].sin()\n"
            "        encoding[:, pair + 1] = angle[:, pair].cos()\n"
            "    return encoding",
        )
    ],
    observed="Each pair overwrites the cosine of the pair before, and the last columns stay 0.",
    change="Pair i has the columns 2i and 2i + 1.",
)
sinusoidal_encoding.mistake(
    "the last position is missing",
    edits=[("return encoding", "return encoding[:-1]")],
    observed="You return length - 1 rows.",
    change="Positions go from 0 to length - 1: `torch.arange(length)`.",
)
sinusoidal_encoding.mistake(
    "the fractions are cut off",
    edits=[("torch.empty(length, d_model)", "torch.empty(length, d_model, dtype=torch.long)")],
    observed="You return zeros and ones only: the tensor that you fill holds whole numbers.",
    change="Fill a tensor of floating-point numbers, such as `torch.zeros(length, d_model)`.",
)
sinusoidal_encoding.mistake(
    "the positions are not turned into a column",
    edits=[("[:, None]", "")],
    observed="Positions and frequencies are both rows, so they are multiplied one by one, which "
    "works only where there are as many of one as of the other.",
    change="Make the positions a column: `torch.arange(length)[:, None]`.",
)
sinusoidal_encoding.mistake(
    "positions and frequencies are both rows",
    edits=[
        ("[:, None]", ""),
        ("return encoding", "return torch.stack([angle.sin(), angle.cos()], dim=-1).flatten(-2)"),
    ],
    observed="They are multiplied one by one, which works only where there are as many of one as "
    "of the other.",
    change="Make the positions a column: `torch.arange(length)[:, None]`.",
)
sinusoidal_encoding.mistake(
    "`length` and `d_model` are swapped among the arguments",
    edits=[
        ("length: int, d_model: int", "d_model: int, length: int"),
        ("torch.arange(d_model // 2)", "torch.arange(0, d_model, 2) / 2"),
    ],
    observed="Asked for 2 positions of width 4, you return 4 positions of width 2.",
    change="Put `length` first: `def sinusoidal_encoding(length, d_model)`.",
)
sinusoidal_encoding.mistake(
    "positions are spread over 0 to 1",
    edits=[("[:, None]", "[:, None] / max(length - 1, 1)")],
    observed="The last row is always that of position 1, whatever the length: the same position "
    "gets another encoding in a longer sequence.",
    change="Use the position itself: 0, 1, 2, ....",
)
sinusoidal_encoding.mistake(
    "the slowest pair comes first",
    edits=[("torch.arange(d_model // 2)", "torch.arange(d_model // 2).flip(0)")],
    observed="Columns 0 and 1 hardly change from row to row; pair 0 should turn fastest.",
    change="Reverse the order of the frequencies.",
)
