"""RMS norm: layer norm without mean and bias."""

import torch
from torch import Tensor

from transformer_course.checker.cases import Case, Property, gradients, vectors
from transformer_course.checker.exercise import exercise
from transformer_course.exercises.layers.inputs import gain_and_bias
from transformer_course.exercises.layers.layer_norm import layer_norm
from transformer_course.model import variants


def _gain(d_model: int) -> Tensor:
    return gain_and_bias(d_model)[0]


def _mean_square_is_one(value: Tensor, case: Case) -> bool:
    x, gain, *rest = case.inputs
    (eps,) = rest or [1e-6]
    before = x.square().mean(dim=-1)
    after = (value / gain).square().mean(dim=-1)
    return torch.allclose(after, before / (before + eps), atol=1e-3)


def _with_one_zero_vector(x: Tensor) -> Tensor:
    x[-1, -1] = 0.0
    return x


@exercise(
    reference=variants.rms_norm,
    cases=[
        Case((vectors(2, 3, 4) + 1, _gain(4), 1e-6)),
        Case((vectors(4, 4, 4), _gain(4), 1e-6)),
        Case((vectors(5).double(), _gain(5).double(), 1e-6)),
        Case((1e-3 * vectors(3, 2, 6), _gain(6))),
        Case((_with_one_zero_vector(vectors(2, 4, 3)), _gain(3), 0.1)),
        Case(
            (vectors(2, 4), _gain(4), 1e-6),
            observe=gradients,
            looks_at="the gradients of `x` and `gain`",
        ),
    ],
    properties=[
        Property(
            "without the gain, the mean square of each vector is m / (m + eps), where m is its "
            "mean square in x",
            _mean_square_is_one,
        )
    ],
    hints=[
        "Like layer norm, but nothing is subtracted and nothing is added: square, mean, root.",
        "`x.square().mean(dim=-1, keepdim=True)` is the mean square of each vector. `eps` belongs "
        "under the root.",
        "`return gain * x / torch.sqrt(mean_square + eps)`",
    ],
)
def rms_norm(x: Tensor, gain: Tensor, eps: float = 1e-6) -> Tensor:
    """Divide each vector of x by its root mean square, then scale each feature."""
    mean_square = x.square().mean(dim=-1, keepdim=True)
    return gain * x / torch.sqrt(mean_square + eps)


rms_norm.mistake(
    "the mean is subtracted, as in layer norm",
    edits=[
        ("x.square().mean(", "x.var("),
        ("dim=-1, keepdim=True", "dim=-1, keepdim=True, correction=0"),
        ("gain * x", "gain * (x - x.mean(dim=-1, keepdim=True))"),
    ],
    observed="Without the gain, each vector has mean 0: adding 100 to every number of `x` changes "
    "nothing; here it should.",
    change="Leave the mean out, in the squares and in front of the root.",
)
rms_norm.mistake(
    "the variance takes the place of the mean square",
    edits=[
        ("x.square().mean(", "x.var("),
        ("dim=-1, keepdim=True", "dim=-1, keepdim=True, correction=0"),
    ],
    observed="Where a vector's mean is far from 0, you divide by too little.",
    change="Average the squares of `x` itself: `x.square().mean(dim=-1, keepdim=True)`.",
)
rms_norm.mistake(
    "the mean is subtracted in front of the root alone",
    edits=[("gain * x", "gain * (x - x.mean(dim=-1, keepdim=True))")],
    observed="Without the gain, each vector has mean 0; RMS norm leaves the mean where it is.",
    change="Divide `x` itself.",
)
rms_norm.mistake(
    "the root is missing",
    edits=[("torch.sqrt(mean_square + eps)", "(mean_square + eps)")],
    observed="Doubling `x` halves the result; it should hardly change.",
    change="Divide by `torch.sqrt(mean_square + eps)`.",
)
rms_norm.mistake(
    "eps stands outside the root",
    edits=[("torch.sqrt(mean_square + eps)", "(torch.sqrt(mean_square) + eps)")],
    observed="With eps = 0.1 every result is wrong; with a small one, only small vectors show it.",
    change="Add eps to the mean square: `torch.sqrt(mean_square + eps)`.",
)
rms_norm.mistake(
    "eps is not used",
    edits=[("mean_square + eps", "mean_square")],
    observed="A vector of zeros gives 0 divided by 0: NaN.",
    change="Add eps to the mean square: `torch.sqrt(mean_square + eps)`.",
)
rms_norm.mistake(
    "eps is a fixed number",
    edits=[("mean_square + eps", "mean_square + 1e-6")],
    observed="All is right with eps = 0.000001, but eps = 0.1 changes nothing.",
    change="Use the argument `eps`.",
)
rms_norm.mistake(
    "the default of eps is 1e-5 instead of 1e-6",
    edits=[("eps: float = 1e-6", "eps: float = 1e-5")],
    observed="All is right where eps is given, but without it small vectors come out too small.",
    change="Write `eps=1e-6` into the first line.",
)
rms_norm.mistake(
    "the squares are added up, not averaged",
    edits=[("square().mean(", "square().sum(")],
    observed="You divide by the length of the vector: results are too small by the root of "
    "d_model.",
    change="Average: `x.square().mean(dim=-1, keepdim=True)`.",
)
rms_norm.mistake(
    "absolute values are averaged instead of squares",
    edits=[
        ("x.square().mean(", "x.abs().mean("),
        ("torch.sqrt(mean_square + eps)", "(mean_square + eps)"),
    ],
    observed="You divide by the mean of the absolute values, which is smaller than the root mean "
    "square.",
    change="Square, average, then take the root.",
)
rms_norm.mistake(
    "the mean is squared, not the numbers",
    edits=[("x.square().mean(dim=-1, keepdim=True)", "x.mean(dim=-1, keepdim=True).square()")],
    observed="Positive and negative numbers cancel before you square.",
    change="Square first: `x.square().mean(...)`.",
)
rms_norm.mistake(
    "the mean square has lost its axis",
    edits=[("dim=-1, keepdim=True", "dim=-1")],
    observed="With `x` of shape (2, 3, 4) nothing can be divided by it; with (4, 4, 4) most "
    "numbers meet another vector's.",
    change="Give `keepdim=True` to `mean`.",
)
rms_norm.mistake(
    "normalised over the positions",
    edits=[("dim=-1, keepdim", "dim=1, keepdim")],
    observed="One word's vector depends on the other words; a single vector has no such axis.",
    change="Use `dim=-1`, the features.",
)
rms_norm.mistake(
    "normalised over the batch",
    edits=[("dim=-1, keepdim", "dim=0, keepdim")],
    observed="One sentence depends on the others.",
    change="Use `dim=-1`, the features.",
)
rms_norm.mistake(
    "normalised over the whole tensor",
    edits=[("mean(dim=-1, keepdim=True)", "mean()")],
    observed="There is one root mean square for everything, so each word depends on all others.",
    change="Take it along the features: `dim=-1, keepdim=True`.",
)
rms_norm.mistake(
    "multiplied by the root mean square instead of divided",
    edits=[("x / torch", "x * torch")],
    observed="Doubling `x` makes the result four times as large; it should hardly change.",
    change="Divide by `torch.sqrt(mean_square + eps)`.",
)
rms_norm.mistake(
    "the gain is not used",
    edits=[("gain * x", "x")],
    observed="Your result is the same for every `gain`.",
    change="Multiply by `gain`.",
)
rms_norm.mistake(
    "the gain is added",
    edits=[("gain * x", "gain + x")],
    observed="A vector of zeros comes out as `gain`; it should come out as zeros.",
    change="Multiply by `gain`.",
)
rms_norm.mistake(
    "1 is added to the gain",
    edits=[("gain * x", "(1 + gain) * x")],
    observed="You multiply by `1 + gain`, as Gemma does, whose gains start as zeros.",
    change="Multiply by `gain`; it starts as ones.",
)
rms_norm.mistake(
    "the root mean square passes no gradient",
    edits=[("x.square()", "x.detach().square()")],
    observed="The numbers are right, but the gradient of `x` is not: the root mean square depends "
    "on `x` as well.",
    change="Leave out `torch.no_grad()`, `.detach()` and `.item()`.",
)
rms_norm.shares(
    layer_norm,
    "no gradient passes",
    edits=[("return gain * x", "return (gain * x"), ("square + eps)", "square + eps)).detach()")],
)
rms_norm.mistake(
    "eps is torch's own, not the argument",
    edits=[("mean_square + eps", "mean_square + torch.finfo(x.dtype).eps")],
    observed="Your result does not depend on `eps`. Without one, `F.rms_norm` takes the smallest "
    "step of the number type.",
    change="Hand it on: `F.rms_norm(x, gain.shape, gain, eps)`.",
)
rms_norm.mistake(
    "eps is a lower bound of the mean square",
    edits=[("mean_square + eps", "mean_square.clamp(min=eps)")],
    observed="Where the mean square exceeds eps, eps has no influence.",
    change="Add it: `torch.sqrt(mean_square + eps)`.",
)
rms_norm.mistake(
    "the root has a lower bound, and eps is not added",
    edits=[("torch.sqrt(mean_square + eps)", "torch.sqrt(mean_square).clamp(min=1e-12)")],
    observed="A vector of zeros is right, but nothing else shows eps: with eps = 0.1, every other "
    "vector comes out too long. `F.normalize` works like this.",
    change="Add eps to the mean square: `torch.sqrt(mean_square + eps)`.",
)
rms_norm.mistake(
    "eps is squared",
    edits=[("mean_square + eps", "mean_square + eps**2")],
    observed="With eps = 0.1 you add 0.01.",
    change="Add eps itself to the mean square: `torch.sqrt(mean_square + eps)`.",
)
rms_norm.mistake(
    "the gain is multiplied in before the mean square is taken",
    edits=[("x.square()", "(gain * x).square()")],
    observed="Doubling `gain` changes hardly anything; it should double the result.",
    change="Take the mean square of `x`, and multiply by `gain` afterwards.",
)
rms_norm.mistake(
    "the variance takes the place of the mean square, and is divided by one less",
    edits=[("x.square().mean(", "x.var(")],
    observed="`var` and `std` subtract the mean, and divide by d_model - 1 unless told otherwise.",
    change="Average the squares of `x` itself: `x.square().mean(dim=-1, keepdim=True)`.",
)
rms_norm.mistake(
    "the length is divided by d_model, not by its root",
    edits=[
        ("square().mean(", "square().sum("),
        ("torch.sqrt(mean_square + eps)", "(torch.sqrt(mean_square + eps) / x.shape[-1])"),
    ],
    observed="You take the root of the sum and divide it by d_model: results are too large by the "
    "root of d_model.",
    change="Divide the sum by d_model first, then take the root: "
    "`torch.sqrt(x.square().mean(dim=-1, keepdim=True) + eps)`.",
)
rms_norm.mistake(
    "normalised over all words of a sentence",
    edits=[("dim=-1, keepdim", "dim=(-2, -1), keepdim")],
    observed="One word depends on the other words of its sentence; a single vector has no such "
    "axis.",
    change="Use `dim=-1`, the features.",
)
for _fixed in ("1e-5", "1e-8"):
    rms_norm.mistake(
        f"eps is always {_fixed}",
        edits=[("mean_square + eps", f"mean_square + {_fixed}")],
        observed="All is right while the vectors are long, but eps = 0.1 changes nothing.",
        change="Use the argument `eps`.",
    )
rms_norm.mistake(
    "divided by the gain",
    edits=[("gain * x", "x / gain")],
    observed="The larger a feature's gain, the smaller the feature comes out.",
    change="Multiply by `gain`.",
)
rms_norm.mistake(
    "eps is added to one over the root",
    edits=[("gain * x / torch.sqrt(mean_square + eps)", "gain * x * (mean_square.rsqrt() + eps)")],
    observed="With eps = 0.1 every result is wrong, and a vector of zeros gives NaN.",
    change="Add eps to the mean square: `torch.rsqrt(mean_square + eps)`.",
)
