"""Lesson 1: the exercises on positional encoding and embeddings, with their known mistakes."""

import math

import torch
from torch import Tensor, nn

from transformer_course.exercises.cases import Case, Property
from transformer_course.exercises.exercise import exercise
from transformer_course.model import positional_encoding as model


@exercise(
    reference=model.sinusoidal_encoding,
    cases=[Case((1, 2)), Case((3, 4)), Case((5, 6)), Case((4, 4)), Case((13, 10))],
    properties=[
        Property(
            "row 0 is 0, 1, 0, 1, ...",
            lambda value, case: torch.allclose(
                value[0].double(), torch.tensor([0.0, 1.0]).repeat(case.inputs[1] // 2).double()
            ),
        ),
        Property(
            "each row has squared length d_model / 2",
            lambda value, case: torch.allclose(
                value.double().square().sum(-1),
                torch.tensor(case.inputs[1] / 2).double(),
                atol=1e-4,
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
    frequency = 10000.0 ** (-torch.arange(0, d_model, 2) / d_model)
    angle = position * frequency
    encoding = torch.empty(length, d_model)
    encoding[:, 0::2] = angle.sin()
    encoding[:, 1::2] = angle.cos()
    return encoding


class SinusoidalSteps:
    """The sinusoidal encoding in steps, so that a mistake replaces one."""

    def positions(self, length: int) -> Tensor:
        return torch.arange(length, dtype=torch.float64)

    def exponents(self, d_model: int) -> Tensor:
        return torch.arange(0, d_model, 2, dtype=torch.float64) / d_model

    def frequencies(self, d_model: int) -> Tensor:
        return 10000.0 ** -self.exponents(d_model)

    def waves(self, angle: Tensor) -> tuple[Tensor, Tensor]:
        return angle.sin(), angle.cos()

    def columns(self, even: Tensor, odd: Tensor) -> Tensor:
        return torch.stack([even, odd], dim=-1).flatten(1)

    def __call__(self, length: int, d_model: int) -> Tensor:
        angle = self.positions(length)[:, None] * self.frequencies(d_model)
        return self.columns(*self.waves(angle)).float()


@sinusoidal_encoding.mistake(
    "sine and cosine are swapped",
    observed="Row 0 is 1, 0, 1, 0, ...: position 0 should give sin(0) = 0 first.",
    change="Put the sine into the even columns (0, 2, ...) and the cosine into the odd ones.",
)
class SwappedWaves(SinusoidalSteps):
    def waves(self, angle: Tensor) -> tuple[Tensor, Tensor]:
        return angle.cos(), angle.sin()


@sinusoidal_encoding.mistake(
    "positions are counted from 1",
    observed="The first row is 0.841, 0.540, ...: that is position 1, not position 0.",
    change="Count from 0: `torch.arange(length)`.",
)
class PositionsFromOne(SinusoidalSteps):
    def positions(self, length: int) -> Tensor:
        return torch.arange(1, length + 1, dtype=torch.float64)
