"""The table of sines and cosines that says where a token stands."""

import math
from collections.abc import Callable

import torch
from torch import Tensor

from transformer_course import model
from transformer_course.checker.cases import Case, Property
from transformer_course.checker.exercise import exercise


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
