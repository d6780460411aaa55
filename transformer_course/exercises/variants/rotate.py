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


rotate.mistake(
    "the pairs turn the other way",
    edits=[("cos - odd", "cos + odd"), ("even * sin + odd * cos", "odd * cos - even * sin")],
    observed="Each vector keeps its length, but turns by minus its angle.",
    change="First features: `even * cos - odd * sin`; second ones: `even * sin + odd * cos`.",
)
rotate.mistake(
    "one sign is wrong, so this is no rotation",
    edits=[("cos - odd", "cos + odd")],
    observed="Lengths change: a rotation needs one minus and one plus.",
    change="First features: `even * cos - odd * sin`.",
)
rotate.mistake(
    "the second features have a wrong sign, so this is no rotation",
    edits=[("sin + odd", "sin - odd")],
    observed="Position 0 should stay as it is, but its second features change their sign.",
    change="Second features: `even * sin + odd * cos`.",
)
rotate.mistake(
    "pairs are a feature and its partner half the width away",
    edits=[
        ("x[..., 0::2], x[..., 1::2]", "x.chunk(2, dim=-1)"),
        ("torch.stack([", "torch.cat(["),
        ("pairs.flatten(-2)", "pairs"),
    ],
    observed="It is a rotation, as in Hugging Face's Llama, but of other pairs: weights that "
    "were trained for one layout do not fit the other.",
    change="Pair neighbours: `x[..., 0::2]` and `x[..., 1::2]`.",
)
rotate.mistake(
    "the turned pairs are not put back in their places",
    edits=[("torch.stack([", "torch.cat(["), ("pairs.flatten(-2)", "pairs")],
    observed="At position 0 nothing should change, but the features come out in another order.",
    change="Stack and flatten: `torch.stack([...], dim=-1).flatten(-2)`.",
)
rotate.mistake(
    "pairs are taken from the halves and put back as neighbours",
    edits=[("x[..., 0::2], x[..., 1::2]", "x.chunk(2, dim=-1)")],
    observed="At position 0 nothing should change, but the features come out in another order.",
    change="Take neighbours: `x[..., 0::2]` and `x[..., 1::2]`.",
)
rotate.mistake(
    "cosine and sine are swapped",
    edits=[("angle.cos(), angle.sin()", "angle.sin(), angle.cos()")],
    observed="Position 0 is turned by a quarter of a circle; it should stay as it is.",
    change="`cos, sin = angle.cos(), angle.sin()`.",
)
rotate.mistake(
    "the position is added instead of turning the vectors",
    edits=[
        ("even * cos - odd * sin", "even + sin"),
        ("even * sin + odd * cos", "odd + cos"),
    ],
    observed="This is lesson 1's encoding: lengths change, and dot products do not depend on the "
    "offset alone.",
    change="Multiply: first features `even * cos - odd * sin`, second ones "
    "`even * sin + odd * cos`.",
)
rotate.mistake(
    "the first position is ignored",
    edits=[("arange(first, first + x.shape[-2])", "arange(x.shape[-2])")],
    observed="All is right with `first` 0. In decoding, the newest token arrives alone, and its "
    "place must be told.",
    change="Count from `first`: `torch.arange(first, first + x.shape[-2])`.",
)
rotate.mistake(
    "positions start at 1",
    edits=[("arange(first, first + x.shape[-2])", "arange(first + 1, first + x.shape[-2] + 1)")],
    observed="Position 0 is turned; it should stay as it is.",
    change="The first vector has position `first`.",
)
rotate.mistake(
    "each frequency is the root of what it should be",
    edits=[("torch.arange(0, d_k, 2) / d_k", "torch.arange(0, d_k, 2) / (2 * d_k)")],
    observed="Pair 0 is right, all others turn too fast.",
    change="Pair i turns by `10000 ** (-2 * i / d_k)`.",
)
rotate.mistake(
    "frequencies grow from pair to pair",
    edits=[("(-torch.arange", "(torch.arange")],
    observed="Pair 0 is right, all others turn faster than it; they should turn more slowly.",
    change="The exponent is negative: `10000 ** (-2 * i / d_k)`.",
)
rotate.mistake(
    "all pairs turn alike",
    edits=[("frequency = 10000 **", "frequency = 1 **")],
    observed="Pair 0 is right, all others turn as fast as it.",
    change="Pair i turns by `10000 ** (-2 * i / d_k)`.",
)
rotate.mistake(
    "angles are multiplied by 2 pi",
    edits=[("[:, None] * frequency", "[:, None] * frequency * 2 * torch.pi")],
    observed="Pair 0 hardly moves: one step is a whole turn.",
    change="The frequency is in radians per position already.",
)
rotate.mistake(
    "positions are counted along the heads",
    edits=[("first + x.shape[-2])", "first + x.shape[1])")],
    observed="With as many heads as positions all is right; else shapes do not fit.",
    change="Positions are axis -2.",
)
rotate.mistake(
    "only the first feature of each pair is turned",
    edits=[("even * sin + odd * cos", "odd")],
    observed="Every second feature stays as it is, so lengths change.",
    change="Second features become `even * sin + odd * cos`.",
)
rotate.mistake(
    "no gradient passes",
    edits=[("pairs.flatten(-2)", "pairs.flatten(-2).detach()")],
    observed="The numbers are right, but nothing before this would be trained.",
    change="Leave out `torch.no_grad()`, `.detach()`, `.data` and `.item()`.",
)
rotate.mistake(
    "the second features are computed from first ones that have been turned already",
    edits=[("even * sin + odd", "(even * cos - odd * sin) * sin + odd")],
    observed="The first feature of each pair is right, the second is not. `x[..., 0::2]` is a "
    "view: who writes into the tensor changes it.",
    change="Compute both features before you write either, or write into a new tensor.",
)
rotate.mistake(
    "each head is turned by its own number, and all positions alike",
    edits=[
        ("first + x.shape[-2])", "first + x.shape[1])"),
        ("position[:, None] * frequency", "position[:, None, None] * frequency"),
    ],
    observed="Head 0 stays as it is when `first` is 0: you take axis 1 for the positions, as in "
    "code whose vectors have shape (batch, length, heads, d_k).",
    change="Positions are axis -2: `x.shape[-2]`.",
)
rotate.mistake(
    "angles are laid out for halves, features for neighbours",
    edits=[
        ("position[:, None] * frequency", "position[:, None] * frequency.repeat(2)"),
        ("even * cos", "even * cos[:, 0::2]"),
        ("odd * sin", "odd * sin[:, 0::2]"),
        ("even * sin", "even * sin[:, 1::2]"),
        ("odd * cos", "odd * cos[:, 1::2]"),
    ],
    observed="One pair alone is right; with more, the two features of a pair turn by different "
    "angles, so lengths change.",
    change="Repeat each angle beside itself, with `repeat_interleave(2, dim=-1)`; `repeat` and "
    "`cat` put a second copy behind the first.",
)
rotate.mistake(
    "angles are laid out for neighbours, features for halves",
    edits=[
        ("position[:, None] * frequency", "position[:, None] * frequency.repeat_interleave(2)"),
        ("x[..., 0::2], x[..., 1::2]", "x.chunk(2, dim=-1)"),
        ("torch.stack([", "torch.cat(["),
        ("even * cos", "even * cos[:, : d_k // 2]"),
        ("odd * sin", "odd * sin[:, : d_k // 2]"),
        ("even * sin", "even * sin[:, d_k // 2 :]"),
        ("odd * cos", "odd * cos[:, d_k // 2 :]"),
        ("pairs.flatten(-2)", "pairs"),
    ],
    observed="One pair alone is right; with more, the two features of a pair turn by different "
    "angles, so lengths change.",
    change="Pair neighbours, as the angles are: `x[..., 0::2]` and `x[..., 1::2]`.",
)
rotate.mistake(
    "positions are multiplied by `first`, not counted from it",
    edits=[("arange(first, first + x.shape[-2])", "arange(x.shape[-2]) * max(first, 1)")],
    observed="All is right with `first` 0; else the first vector still stays as it is, and each "
    "further one is `first` steps ahead.",
    change="Add: `torch.arange(x.shape[-2]) + first`.",
)
rotate.mistake(
    "the last position is not counted from `first`",
    edits=[("arange(first, first + x.shape[-2])", "arange(first, x.shape[-2])")],
    observed="All is right with `first` 0; else there are fewer positions than vectors.",
    change="The end counts from `first` as well: `torch.arange(first, first + x.shape[-2])`.",
)
rotate.mistake(
    "each frequency is the square of what it should be",
    edits=[("-torch.arange(0, d_k, 2)", "-2 * torch.arange(0, d_k, 2)")],
    observed="Pair 0 is right, all others turn too slowly. `arange(0, d_k, 2)` is 2i already.",
    change="Pair i turns by `10000 ** (-2 * i / d_k)`.",
)
rotate.mistake(
    "the pairs keep an axis of their own",
    edits=[("pairs.flatten(-2)", "pairs")],
    observed="Your result has an axis too many: [..., length, d_k / 2, 2].",
    change="Put the pairs side by side: `.flatten(-2)`.",
)
rotate.mistake(
    "each feature has a frequency of its own",
    edits=[
        ("torch.arange(0, d_k, 2) / d_k", "torch.arange(d_k) / d_k"),
        ("even * cos", "even * cos[:, 0::2]"),
        ("odd * sin", "odd * sin[:, 0::2]"),
        ("even * sin", "even * sin[:, 1::2]"),
        ("odd * cos", "odd * cos[:, 1::2]"),
    ],
    observed="The two features of a pair turn by different angles, so lengths change.",
    change="There are half as many frequencies as features, `10000 ** (-2 * i / d_k)`, and each "
    "belongs to both features of its pair.",
)
rotate.mistake(
    "all positions are turned like the first one",
    edits=[("arange(first, first + x.shape[-2])", "full((x.shape[-2],), first)")],
    observed="With `first` 0 nothing is turned at all: each position needs an angle of its own.",
    change="Count the positions: `torch.arange(first, first + x.shape[-2])`.",
)
rotate.mistake(
    "`first` is added to the angles, not to the positions",
    edits=[
        ("arange(first, first + x.shape[-2])", "arange(x.shape[-2])"),
        ("[:, None] * frequency", "[:, None] * frequency + first"),
    ],
    observed="With `first` 0, and in pair 0, all is right; the other pairs turn too far.",
    change="Add it to the positions, before they are multiplied by the frequencies.",
)
rotate.mistake(
    "pairs are counted from 1",
    edits=[("torch.arange(0, d_k, 2)", "torch.arange(2, d_k + 2, 2)")],
    observed="Each pair turns as slowly as the next one should; the first should turn by 1 for "
    "each position.",
    change="Pair i turns by `10000 ** (-2 * i / d_k)`, and i begins at 0.",
)
rotate.mistake(
    "the last pair turns by 1/10000",
    edits=[
        (
            "-torch.arange(0, d_k, 2) / d_k",
            "-torch.arange(0, d_k, 2) / max(1, d_k - 2)",
        )
    ],
    observed="Pair 0 is right, all others turn too slowly: with `linspace`, or a division by "
    "d_k - 2, the last exponent becomes -1.",
    change="Divide by d_k: `10000 ** (-2 * i / d_k)`.",
)
rotate.mistake(
    "`first` is subtracted",
    edits=[("arange(first, first + x.shape[-2])", "arange(-first, x.shape[-2] - first)")],
    observed="All is right with `first` 0; else the vectors are turned back.",
    change="Add: `torch.arange(first, first + x.shape[-2])`.",
)
rotate.mistake(
    "only the second feature of each pair is turned",
    edits=[("even * cos - odd * sin", "even")],
    observed="Every first feature stays as it is, so lengths change.",
    change="First features become `even * cos - odd * sin`.",
)
rotate.mistake(
    "the angles are taken for degrees",
    edits=[("[:, None] * frequency", "[:, None] * frequency * torch.pi / 180")],
    observed="Everything turns by far too little: one step turns pair 0 by a degree.",
    change="The frequency is in radians per position already, and so `cos` and `sin` want it.",
)
