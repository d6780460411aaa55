"""How many positions each pair of the encoding takes for a turn."""

import math
from collections.abc import Callable

import torch
from torch import Tensor

from transformer_course import model
from transformer_course.checker.cases import Case, Property
from transformer_course.checker.exercise import exercise


def _single_precision(code: Callable, *inputs: int) -> Tensor:
    """Call; the statement leaves open in which precision to compute."""
    result = code(*inputs)
    is_double = isinstance(result, Tensor) and result.dtype == torch.float64
    return result.float() if is_double else result


@exercise(
    reference=model.wavelengths,
    cases=[Case((d_model,), observe=_single_precision) for d_model in (4, 6, 10, 512)],
    properties=[
        Property(
            "the first wavelength is 2 pi = 6.283 positions",
            lambda value, case: math.isclose(value[0], 2 * math.pi, rel_tol=1e-4),
        ),
        Property(
            "each wavelength is longer than the one before, by the same factor",
            lambda value, case: torch.allclose(
                value[1:] / value[:-1], torch.tensor(10000 ** (2 / case.inputs[0])), rtol=1e-3
            ),
        ),
    ],
    hints=[
        "A sine is back where it began when its angle has grown by 2 pi. By how much does the "
        "angle of pair `i` grow in one position?",
        "The angle grows by `10000 ** (-2 * i / d_model)` in each position. How many positions "
        "make 2 pi?",
        "`i = torch.arange(d_model // 2)` numbers the pairs; divide 2 pi by the growth of each.",
    ],
)
def wavelengths(d_model: int) -> Tensor:
    """Return the wavelength of each pair in positions, shape (d_model / 2,)."""
    i = torch.arange(d_model // 2)
    frequency = 1 / 10000.0 ** (2 * i / d_model)
    return 2 * math.pi / frequency
