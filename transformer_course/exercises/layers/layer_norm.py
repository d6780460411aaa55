"""Layer norm, with gain and bias."""

import torch
from torch import Tensor

from transformer_course import model
from transformer_course.checker.cases import Case, Property, gradients, vectors
from transformer_course.checker.exercise import exercise
from transformer_course.exercises.layers.inputs import gain_and_bias
from transformer_course.exercises.start_here.softmax import softmax


def _with_one_constant_vector(x: Tensor) -> Tensor:
    x[-1, -1] = 3.0
    return x


def _without_gain_and_bias(value: Tensor, case: Case) -> Tensor:
    _, gain, bias, *_ = case.inputs
    return (value - bias) / gain


def _mean_is_zero(value: Tensor, case: Case) -> bool:
    mean = _without_gain_and_bias(value, case).mean(dim=-1)
    return torch.allclose(mean, torch.zeros_like(mean), atol=1e-4)


def _variance_is_one(value: Tensor, case: Case) -> bool:
    x, _, _, *rest = case.inputs
    (eps,) = rest or [1e-5]
    before = x.var(dim=-1, correction=0)
    after = _without_gain_and_bias(value, case).var(dim=-1, correction=0)
    return torch.allclose(after, before / (before + eps), atol=1e-3)


@exercise(
    reference=model.layer_norm,
    cases=[
        Case((vectors(2, 3, 4), *gain_and_bias(4), 1e-5)),
        Case((vectors(4, 4, 4), *gain_and_bias(4), 1e-5)),
        Case((vectors(5).double(), *(part.double() for part in gain_and_bias(5)), 1e-5)),
        Case((1e-4 * vectors(3, 2, 6), *gain_and_bias(6))),
        Case((_with_one_constant_vector(vectors(2, 4, 3)), *gain_and_bias(3), 0.1)),
        Case(
            (vectors(2, 4), *gain_and_bias(4), 1e-5),
            observe=gradients,
            looks_at="the gradients of `x`, `gain` and `bias`",
        ),
    ],
    properties=[
        Property("without gain and bias, the mean of each vector is 0", _mean_is_zero),
        Property(
            "without gain and bias, the variance of each vector is v / (v + eps), where v is its "
            "variance in x",
            _variance_is_one,
        ),
    ],
    hints=[
        "Four steps: the mean of each vector, its variance, bring it to mean 0 and variance 1, "
        "then gain and bias. Along which axis does a vector run?",
        "`x.mean(dim=-1, keepdim=True)` keeps an axis of length 1, so that it can be subtracted "
        "from `x`. The variance is the mean of the squared distances from the mean.",
        "`variance = ((x - mean) ** 2).mean(dim=-1, keepdim=True)`; then "
        "`gain * (x - mean) / torch.sqrt(variance + eps) + bias`.",
    ],
)
def layer_norm(x: Tensor, gain: Tensor, bias: Tensor, eps: float = 1e-5) -> Tensor:
    """Bring each vector of x to mean 0 and variance 1, then apply gain and bias."""
    mean = x.mean(dim=-1, keepdim=True)
    variance = x.var(dim=-1, keepdim=True, correction=0)
    return gain * (x - mean) / torch.sqrt(variance + eps) + bias


layer_norm.mistake(
    "the variance divides by d_model - 1",
    edits=[("keepdim=True, correction=0", "keepdim=True")],
    observed="Without gain and bias, vectors of 4 features have variance 0.75 instead of 1.",
    change="Divide by d_model: `x.var(..., correction=0)`; `x.var` and `x.std` divide by "
    "d_model - 1 unless told otherwise.",
)
layer_norm.mistake(
    "eps is outside the root",
    edits=[("/ torch", "/ (torch"), ("variance + eps", "variance) + eps")],
    observed="Vectors with standard deviation 0.0001 come out with 0.91 instead of 0.03: your "
    "eps acts too late to hold small vectors down.",
    change="Add eps to the variance: `torch.sqrt(variance + eps)`.",
)
layer_norm.mistake(
    "eps is not used",
    edits=[("variance + eps", "variance")],
    observed="A vector of equal numbers has variance 0, so you divide 0 by 0: NaN.",
    change="Add eps to the variance: `torch.sqrt(variance + eps)`.",
)
layer_norm.mistake(
    "eps is a fixed number",
    edits=[("variance + eps", "variance + 1e-5")],
    observed="Everything is right with eps = 0.00001, but eps = 0.1 changes nothing.",
    change="Use the argument `eps`, not 1e-5; hand it on if you call torch's own layer norm.",
)
layer_norm.mistake(
    "eps is added to the result, not to the variance",
    edits=[("variance + eps", "variance"), ("+ bias", "+ bias + eps")],
    observed="A vector of equal numbers gives NaN, because you divide 0 by 0; all other numbers "
    "are too large by eps.",
    change="Put eps under the root: `torch.sqrt(variance + eps)`.",
)
layer_norm.mistake(
    "the squares are added up, not averaged",
    edits=[("x.var(", "(x - mean).square().sum("), ("True, correction=0)", "True)")],
    observed="Without gain and bias, vectors of 4 features have variance 0.25 instead of 1.",
    change="The variance is a mean: `((x - mean) ** 2).mean(dim=-1, keepdim=True)`.",
)
layer_norm.mistake(
    "each number is divided by its own distance from the mean",
    edits=[
        ("x.var(dim=-1", "(x - x.mean(dim=-1"),
        ("True, correction=0)", "True)).square()"),
    ],
    observed="Without gain and bias, nearly all numbers are 1 or -1: your variance has the shape "
    "of `x`.",
    change="Average the squares: `((x - mean) ** 2).mean(dim=-1, keepdim=True)`.",
)
layer_norm.mistake(
    "the root is missing",
    edits=[("torch.sqrt(variance + eps)", "(variance + eps)")],
    observed="You divide by the variance: doubling `x` halves the result, without the bias; it "
    "should hardly change.",
    change="Divide by the standard deviation: `torch.sqrt(variance + eps)`.",
)
layer_norm.mistake(
    "multiplied by the standard deviation instead of divided",
    edits=[("/ torch.sqrt", "* torch.sqrt")],
    observed="Doubling `x` makes the result, without the bias, four times as large; it should "
    "hardly change.",
    change="Divide by `torch.sqrt(variance + eps)`.",
)
layer_norm.mistake(
    "the mean is not subtracted",
    edits=[("(x - mean)", "(x)")],
    observed="Adding 100 to every number of `x` changes your result; it should not.",
    change="Divide `x - mean`, not `x`.",
)
layer_norm.mistake(
    "this is RMSNorm: no mean is subtracted anywhere",
    edits=[
        ("x.var(", "x.square().mean("),
        ("True, correction=0)", "True)"),
        ("(x - mean)", "(x)"),
    ],
    observed="Each vector is divided by the root of its mean square; without gain and bias its "
    "mean is not 0.",
    change="Subtract the mean first, in the variance too. RMSNorm leaves that out on purpose.",
)
layer_norm.mistake(
    "brackets are missing: only the mean is divided",
    edits=[("mean) /", "mean /"), ("variance + eps", "variance + eps)")],
    observed="Python divides before it subtracts, so `x - mean / ...` divides the mean alone.",
    change="Write `(x - mean) / torch.sqrt(variance + eps)`.",
)
layer_norm.mistake(
    "brackets are missing: the gain meets x alone, the root the mean alone",
    edits=[("gain * (x - mean)", "x * gain - mean")],
    observed="Python multiplies and divides before it subtracts: you compute "
    "`(gain * x) - (mean / ...) + bias`.",
    change="Write `gain * (x - mean) / torch.sqrt(variance + eps) + bias`.",
)
layer_norm.mistake(
    "mean and variance have lost their axis",
    edits=[
        ("mean(dim=-1, keepdim=True)", "mean(dim=-1)"),
        ("var(dim=-1, keepdim=True", "var(dim=-1"),
    ],
    observed="With `x` of shape (2, 3, 4) they have shape (2, 3) and do not fit `x`; with shape "
    "(4, 4, 4) they do, but most numbers meet those of another vector.",
    change="Give `keepdim=True` to both.",
)
layer_norm.mistake(
    "the mean has lost its axis",
    edits=[("mean(dim=-1, keepdim=True)", "mean(dim=-1)")],
    observed="With `x` of shape (2, 3, 4) the mean has shape (2, 3) and cannot be subtracted; "
    "with shape (4, 4, 4) it can, but most numbers meet the mean of another vector.",
    change="Give `keepdim=True` to `mean`.",
)
layer_norm.mistake(
    "the variance has lost its axis",
    edits=[("var(dim=-1, keepdim=True", "var(dim=-1")],
    observed="With `x` of shape (2, 3, 4) the variance has shape (2, 3) and nothing can be "
    "divided by it; with shape (4, 4, 4) it can, but most numbers meet another vector's.",
    change="Give `keepdim=True` to `var`, `std` or the second `mean`.",
)
layer_norm.mistake(
    "normalised over the positions",
    edits=[("mean(dim=-1", "mean(dim=1"), ("var(dim=-1", "var(dim=1")],
    observed="Each feature has mean 0 along the sentence, so one word's vector depends on the "
    "other words. A single vector has no such axis at all.",
    change="Use `dim=-1`, the features.",
)
layer_norm.mistake(
    "normalised over the batch",
    edits=[("mean(dim=-1", "mean(dim=0"), ("var(dim=-1", "var(dim=0")],
    observed="Each feature has mean 0 across the sentences of the batch, so one sentence depends "
    "on the others.",
    change="Use `dim=-1`, the features.",
)
layer_norm.mistake(
    "normalised over positions and features together",
    edits=[("mean(dim=-1", "mean(dim=(1, 2)"), ("var(dim=-1", "var(dim=(1, 2)")],
    observed="Each sentence has mean 0, but its single vectors do not: one word's vector depends "
    "on the other words.",
    change="Use `dim=-1`, the features alone.",
)
layer_norm.mistake(
    "this is batch norm: normalised over batch and positions",
    edits=[("mean(dim=-1", "mean(dim=(0, 1)"), ("var(dim=-1", "var(dim=(0, 1)")],
    observed="Each feature has mean 0 over all words of all sentences, so one sentence depends "
    "on the others. A single vector has no such axes at all.",
    change="Use `dim=-1`, the features.",
)
layer_norm.mistake(
    "normalised over the whole tensor",
    edits=[("mean(dim=-1", "mean(dim=None"), ("var(dim=-1", "var(dim=None")],
    observed="There is one mean and one variance for everything, so each word depends on all "
    "words of all sentences.",
    change="Take both along the features: `dim=-1, keepdim=True`.",
)
layer_norm.mistake(
    "the axis is counted from the front (dim=2)",
    edits=[("mean(dim=-1", "mean(dim=2"), ("var(dim=-1", "var(dim=2")],
    observed="Three axes are right, a single vector stops with an IndexError.",
    change="Count from the end: `dim=-1` is the last axis, however many there are.",
)
layer_norm.mistake(
    "the gain is not used",
    edits=[("gain * (x", "(x")],
    observed="Your result is the same for every `gain`.",
    change="Multiply by `gain` before you add `bias`.",
)
layer_norm.mistake(
    "the bias is not used",
    edits=[(" + bias", "")],
    observed="A vector of equal numbers comes out as zeros; it should come out as `bias`.",
    change="Add `bias` at the end.",
)
layer_norm.mistake(
    "neither gain nor bias is used",
    edits=[("gain * (x", "(x"), (" + bias", "")],
    observed="The vectors have mean 0 and variance 1, and that is all.",
    change="Return `gain * normalised + bias`.",
)
layer_norm.mistake(
    "the gain is added",
    edits=[("gain * (x", "gain + (x")],
    observed="A vector of equal numbers comes out as `gain + bias`; it should come out as `bias`.",
    change="Multiply by `gain`: `gain * normalised + bias`.",
)
layer_norm.mistake(
    "gain and bias are swapped",
    edits=[("gain * (x", "bias * (x"), ("+ bias", "+ gain")],
    observed="A vector of equal numbers comes out as `gain`; it should come out as `bias`.",
    change="Multiply by `gain` and add `bias`.",
)
layer_norm.mistake(
    "the gain multiplies the bias too",
    edits=[("gain * (x", "gain * ((x"), ("+ bias", "+ bias)")],
    observed="A vector of equal numbers comes out as `gain * bias`; it should come out as `bias`.",
    change="Add `bias` last: `gain * normalised + bias`.",
)
layer_norm.mistake(
    "the default of eps is 1e-6 instead of 1e-5",
    edits=[("eps: float = 1e-5", "eps: float = 1e-6")],
    observed="Everything is right where eps is given, but without it small vectors come out too "
    "large.",
    change="Write `eps=1e-5` into the first line.",
)
layer_norm.mistake(
    "the variance is at least eps, but eps is not added",
    edits=[("variance + eps", "variance.clamp(min=eps)")],
    observed="Where the variance is larger than eps, your eps has no influence.",
    change="Add it always: `torch.sqrt(variance + eps)`.",
)
layer_norm.mistake(
    "the root is taken twice",
    edits=[("variance + eps", "variance.sqrt() + eps")],
    observed="You divide by the root of the standard deviation, which is a root already.",
    change="Divide by `torch.sqrt(variance + eps)`, with the variance, not with `std`.",
)
layer_norm.mistake(
    "the variance is not taken around the mean",
    edits=[("x.var(", "x.square().mean("), ("True, correction=0)", "True)")],
    observed="Your variance is the mean of `x ** 2`: adding 100 to every number of `x` makes it "
    "about 10 000 larger.",
    change="Average the squared distances: `((x - mean) ** 2).mean(dim=-1, keepdim=True)`.",
)
layer_norm.mistake(
    "the mean is subtracted after the division",
    edits=[
        ("(x - mean) / torch.sqrt(variance + eps)", "(x / torch.sqrt(variance + eps) - mean)"),
    ],
    observed="Without gain and bias, the mean of a vector is 0 only if its mean in `x` is 0 or its "
    "variance is 1.",
    change="Subtract first, then divide: `(x - mean) / torch.sqrt(variance + eps)`.",
)
layer_norm.mistake(
    "gain and bias are applied before the vector is normalised",
    edits=[
        ("mean = x.mean", "x = gain * x + bias\n    mean = x.mean"),
        ("gain * (x", "(x"),
        (" + bias", ""),
    ],
    observed="Each vector comes out with mean 0 and variance 1, whatever gain and bias are.",
    change="Normalise `x` first; then multiply by `gain` and add `bias`.",
)
layer_norm.mistake(
    "1 is added to the gain",
    edits=[("gain * (x", "(1 + gain) * (x")],
    observed="You multiply by `1 + gain`: with a gain of 1 the result is twice as large.",
    change="Multiply by `gain`; it starts as ones itself.",
)
layer_norm.mistake(
    "each feature is normalised over all tokens",
    edits=[
        ("x.mean(dim=-1, keepdim=True)", "x.reshape(-1, x.shape[-1]).mean(dim=0)"),
        (
            "x.var(dim=-1, keepdim=True, correction=0)",
            "x.reshape(-1, x.shape[-1]).var(dim=0, correction=0)",
        ),
    ],
    observed="This is batch norm: a single vector comes out as `bias`, because it is its own mean.",
    change="Use `dim=-1`, the features of each vector.",
)
layer_norm.mistake(
    "batch and positions are averaged, not the features",
    edits=[
        ("mean(dim=-1", "mean(dim=tuple(range(x.dim() - 1))"),
        ("var(dim=-1", "var(dim=tuple(range(x.dim() - 1))"),
    ],
    observed="This is batch norm: each feature has mean 0 over all words of all sentences, so one "
    "sentence depends on the others.",
    change="Use `dim=-1`, the features of each vector.",
)
layer_norm.mistake(
    "the mean is not squared in the variance",
    edits=[
        (
            "x.var(dim=-1, keepdim=True, correction=0)",
            "x.square().mean(dim=-1, keepdim=True) - mean",
        )
    ],
    observed="You take the mean of the squares less the mean, which may even be negative.",
    change="Take the mean of `(x - mean) ** 2`, or the mean of the squares less `mean ** 2`.",
)
layer_norm.mistake(
    "the distances from the mean are averaged before they are squared",
    edits=[
        (
            "x.var(dim=-1, keepdim=True, correction=0)",
            "(x - mean).mean(dim=-1, keepdim=True).square()",
        )
    ],
    observed="The distances from the mean always sum to 0, so your variance is 0 but for rounding.",
    change="Square first, then average: `((x - mean) ** 2).mean(dim=-1, keepdim=True)`.",
)
layer_norm.mistake(
    "mean and variance pass no gradient",
    edits=[("x.mean(", "x.detach().mean("), ("x.var(", "x.detach().var(")],
    observed="The numbers are right, but the gradient of `x` is not: mean and variance depend on "
    "`x` as well.",
    change="Leave out `torch.no_grad()`, `.detach()` and `.item()` around mean and variance.",
)
layer_norm.shares(
    softmax,
    "no gradient passes",
    edits=[("return gain", "return (gain"), ("+ bias", "+ bias).detach()")],
)
layer_norm.mistake(
    "normalised over all axes but the first",
    edits=[
        ("mean(dim=-1", "mean(dim=tuple(range(1, x.dim()))"),
        ("var(dim=-1", "var(dim=tuple(range(1, x.dim()))"),
    ],
    observed="A matrix is right, because its rows are its vectors. With three axes all positions "
    "of a sentence share one mean and one variance.",
    change="Use `dim=-1`, the features alone, however many axes there are.",
)
layer_norm.mistake(
    "normalised over the last two axes",
    edits=[
        ("mean(dim=-1", "mean(dim=tuple(range(-min(x.dim(), 2), 0))"),
        ("var(dim=-1", "var(dim=tuple(range(-min(x.dim(), 2), 0))"),
    ],
    observed="A single vector is right. With more axes all positions of a sentence share one mean "
    "and one variance, so one word's vector depends on the other words.",
    change="Use `dim=-1`, the features alone; for torch's own layer norm, `x.shape[-1:]`.",
)
layer_norm.mistake(
    "eps is added to the root as well",
    edits=[("/ torch", "/ (torch"), ("variance + eps)", "variance + eps) + eps)")],
    observed="With eps = 0.1 vectors come out too small: eps is added under the root and once more "
    "outside it.",
    change="Add eps once, to the variance: `torch.sqrt(variance + eps)`.",
)
layer_norm.mistake(
    "eps is squared",
    edits=[("variance + eps", "variance + eps**2")],
    observed="With eps = 0.1 you add 0.01 to the variance.",
    change="Add eps as it is: `torch.sqrt(variance + eps)`.",
)
layer_norm.mistake(
    "the mean distance takes the place of the standard deviation",
    edits=[
        ("torch.sqrt(variance + eps)", "((x - mean).abs().mean(dim=-1, keepdim=True) + eps)"),
    ],
    observed="You divide by the mean of the distances without their signs: without gain and bias "
    "the variance is not 1.",
    change="Square the distances, average them, and take the root: `torch.sqrt(variance + eps)`.",
)
