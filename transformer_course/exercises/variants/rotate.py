"""Rotary positions: queries and keys turned by the angle of their place."""

import torch
from torch import Tensor

from transformer_course.checker.cases import Case, Property, gradients, vectors
from transformer_course.checker.exercise import exercise
from transformer_course.model import variants


def _lengths_stay(value: Tensor, case: Case) -> bool:
    return torch.allclose(value.norm(dim=-1), case.inputs[0].norm(dim=-1), atol=1e-4)


@exercise(
    reference=variants.rotate,
    cases=[
        Case((vectors(1, 1, 3, 4),)),
        Case((vectors(2, 3, 5, 6),)),
        Case((vectors(2, 4, 4, 8), 3)),
        Case((vectors(1, 2, 6, 2), 10)),
        Case((vectors(1, 2, 3, 4), 1), observe=gradients, looks_at="the gradient of `x`"),
    ],
    properties=[Property("a rotation changes no vector's length", _lengths_stay)],
    hints=[
        "Three steps: an angle for each position and pair, its cosine and sine, and the rotation "
        "of lesson 1 on features 0 and 1, 2 and 3, and so on.",
        "`x[..., 0::2]` are the first features of all pairs, `x[..., 1::2]` the second ones. "
        "Frequencies are those of the sinusoids: `10000 ** (-2 * i / d_k)` for pair i. Positions "
        "run along axis -2, from `first`.",
        "New first features: `even * cos - odd * sin`; new second ones: `even * sin + odd * cos`. "
        "`torch.stack([...], dim=-1).flatten(-2)` puts the pairs back in their places.",
    ],
)
def rotate(x: Tensor, first: int = 0) -> Tensor:
    """Turn each pair of features of x [..., length, d_k] by position times frequency."""
    d_k = x.shape[-1]
    frequency = 10000 ** (-torch.arange(0, d_k, 2) / d_k)
    position = torch.arange(first, first + x.shape[-2])
    angle = position[:, None] * frequency
    cos, sin = angle.cos(), angle.sin()
    even, odd = x[..., 0::2], x[..., 1::2]
    pairs = torch.stack([even * cos - odd * sin, even * sin + odd * cos], dim=-1)
    return pairs.flatten(-2)
