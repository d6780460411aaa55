"""Lesson 5: the exercises on layer norm, residuals and the layers, with their known mistakes."""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from transformer_course import model
from transformer_course.exercises.cases import Case, Property, vectors
from transformer_course.exercises.exercise import exercise, shared_mistake


def _gain_and_bias(d_model: int) -> tuple[Tensor, Tensor]:
    """Return a gain and a bias that differ from feature to feature, as after some training."""
    return torch.linspace(0.6, 1.8, d_model), torch.linspace(-0.5, 0.7, d_model)


# --- layer_norm ------------------------------------------------------------------------------


def _with_one_constant_vector(x: Tensor) -> Tensor:
    x[-1, -1] = 3.0
    return x


def _without_gain_and_bias(value: Tensor, case: Case) -> Tensor:
    _, gain, bias, _ = case.inputs
    return (value - bias) / gain


def _mean_is_zero(value: Tensor, case: Case) -> bool:
    mean = _without_gain_and_bias(value, case).mean(dim=-1)
    return torch.allclose(mean, torch.zeros_like(mean), atol=1e-4)


def _variance_is_one(value: Tensor, case: Case) -> bool:
    x, _, _, eps = case.inputs
    before = x.var(dim=-1, correction=0)
    after = _without_gain_and_bias(value, case).var(dim=-1, correction=0)
    return torch.allclose(after, before / (before + eps), atol=1e-3)


@exercise(
    reference=model.layer_norm,
    cases=[
        Case((vectors(2, 3, 4), *_gain_and_bias(4), 1e-5)),
        Case((vectors(4, 4, 4), *_gain_and_bias(4), 1e-5)),
        Case((vectors(5).double(), *(part.double() for part in _gain_and_bias(5)), 1e-5)),
        Case((1e-4 * vectors(3, 2, 6), *_gain_and_bias(6), 1e-5)),
        Case((_with_one_constant_vector(vectors(2, 4, 3)), *_gain_and_bias(3), 0.1)),
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


class _LayerNormSteps:
    """Layer norm in steps, so that a mistake replaces one."""

    def axes(self, x: Tensor) -> int | tuple[int, ...]:
        return -1

    def keeps_axis(self) -> bool:
        return True

    def mean(self, x: Tensor) -> Tensor:
        return x.mean(dim=self.axes(x), keepdim=self.keeps_axis())

    def variance(self, x: Tensor) -> Tensor:
        return x.var(dim=self.axes(x), keepdim=self.keeps_axis(), correction=0)

    def spread(self, variance: Tensor, eps: float) -> Tensor:
        return torch.sqrt(variance + eps)

    def normalised(self, x: Tensor, mean: Tensor, spread: Tensor) -> Tensor:
        return (x - mean) / spread

    def output(self, normalised: Tensor, gain: Tensor, bias: Tensor) -> Tensor:
        return gain * normalised + bias

    def __call__(self, x: Tensor, gain: Tensor, bias: Tensor, eps: float) -> Tensor:
        spread = self.spread(self.variance(x), eps)
        return self.output(self.normalised(x, self.mean(x), spread), gain, bias)


@layer_norm.mistake(
    "the variance divides by d_model - 1",
    observed="Without gain and bias, vectors of 4 features have variance 0.75 instead of 1.",
    change="Divide by d_model: `x.var(..., correction=0)`; `x.var` and `x.std` divide by "
    "d_model - 1 unless told otherwise.",
)
class _UnbiasedVariance(_LayerNormSteps):
    def variance(self, x: Tensor) -> Tensor:
        return x.var(dim=self.axes(x), keepdim=self.keeps_axis())


@layer_norm.mistake(
    "eps stands outside the root",
    observed="Vectors with standard deviation 0.0001 come out with 0.91 instead of 0.03: your "
    "eps acts too late to hold small vectors down.",
    change="Add eps to the variance: `torch.sqrt(variance + eps)`.",
)
class _EpsOutsideRoot(_LayerNormSteps):
    def spread(self, variance: Tensor, eps: float) -> Tensor:
        return torch.sqrt(variance) + eps


@layer_norm.mistake(
    "eps is not used",
    observed="A vector of equal numbers has variance 0, so you divide 0 by 0: NaN.",
    change="Add eps to the variance: `torch.sqrt(variance + eps)`.",
)
class _NoEps(_LayerNormSteps):
    def spread(self, variance: Tensor, eps: float) -> Tensor:
        return torch.sqrt(variance)


@layer_norm.mistake(
    "eps is a fixed number",
    observed="All is right with eps = 0.00001, but eps = 0.1 changes nothing.",
    change="Use the argument `eps`, not 1e-5.",
)
class _FixedEps(_LayerNormSteps):
    def spread(self, variance: Tensor, eps: float) -> Tensor:
        return torch.sqrt(variance + 1e-5)


@layer_norm.mistake(
    "eps is added to the result, not to the variance",
    observed="A vector of equal numbers gives NaN, because you divide 0 by 0; all other numbers "
    "are too large by eps.",
    change="Put eps under the root: `torch.sqrt(variance + eps)`.",
)
class _EpsAddedToResult(_LayerNormSteps):
    def __call__(self, x: Tensor, gain: Tensor, bias: Tensor, eps: float) -> Tensor:
        return super().__call__(x, gain, bias, 0.0) + eps


@layer_norm.mistake(
    "the squares are added up, not averaged",
    observed="Without gain and bias, vectors of 4 features have variance 0.25 instead of 1.",
    change="The variance is a mean: `((x - mean) ** 2).mean(dim=-1, keepdim=True)`.",
)
class _SumOfSquares(_LayerNormSteps):
    def variance(self, x: Tensor) -> Tensor:
        distance = x - x.mean(dim=self.axes(x), keepdim=True)
        return distance.square().sum(dim=self.axes(x), keepdim=self.keeps_axis())


@layer_norm.mistake(
    "each number is divided by its own distance from the mean",
    observed="Without gain and bias, nearly all numbers are 1 or -1: your variance has the shape "
    "of `x`.",
    change="Average the squares: `((x - mean) ** 2).mean(dim=-1, keepdim=True)`.",
)
class _SquaresNotAveraged(_LayerNormSteps):
    def variance(self, x: Tensor) -> Tensor:
        return (x - x.mean(dim=self.axes(x), keepdim=True)).square()


@layer_norm.mistake(
    "the root is missing",
    observed="You divide by the variance: doubling `x` halves the result, without the bias; it "
    "should hardly change.",
    change="Divide by the standard deviation: `torch.sqrt(variance + eps)`.",
)
class _NoRoot(_LayerNormSteps):
    def spread(self, variance: Tensor, eps: float) -> Tensor:
        return variance + eps


@layer_norm.mistake(
    "multiplied by the standard deviation instead of divided",
    observed="Doubling `x` makes the result, without the bias, four times as large; it should "
    "hardly change.",
    change="Divide by `torch.sqrt(variance + eps)`.",
)
class _MultipliedBySpread(_LayerNormSteps):
    def normalised(self, x: Tensor, mean: Tensor, spread: Tensor) -> Tensor:
        return (x - mean) * spread


@layer_norm.mistake(
    "the mean is not subtracted",
    observed="Adding 100 to every number of `x` changes your result; it should not.",
    change="Divide `x - mean`, not `x`.",
)
class _NotCentred(_LayerNormSteps):
    def normalised(self, x: Tensor, mean: Tensor, spread: Tensor) -> Tensor:
        return x / spread


@layer_norm.mistake(
    "this is RMSNorm: no mean is subtracted anywhere",
    observed="Each vector is divided by the root of its mean square; without gain and bias its "
    "mean is not 0.",
    change="Subtract the mean first, in the variance too. RMSNorm leaves that out on purpose.",
)
class _RMSNorm(_NotCentred):
    def variance(self, x: Tensor) -> Tensor:
        return x.square().mean(dim=self.axes(x), keepdim=self.keeps_axis())


@layer_norm.mistake(
    "brackets are missing: only the mean is divided",
    observed="Python divides before it subtracts, so `x - mean / ...` divides the mean alone.",
    change="Write `(x - mean) / torch.sqrt(variance + eps)`.",
)
class _BracketsMissing(_LayerNormSteps):
    def normalised(self, x: Tensor, mean: Tensor, spread: Tensor) -> Tensor:
        return x - mean / spread


@layer_norm.mistake(
    "brackets are missing: the gain meets x alone, the root the mean alone",
    observed="Python multiplies and divides before it subtracts: you compute "
    "`(gain * x) - (mean / ...) + bias`.",
    change="Write `gain * (x - mean) / torch.sqrt(variance + eps) + bias`.",
)
class _AllBracketsMissing(_LayerNormSteps):
    def __call__(self, x: Tensor, gain: Tensor, bias: Tensor, eps: float) -> Tensor:
        return gain * x - self.mean(x) / self.spread(self.variance(x), eps) + bias


@layer_norm.mistake(
    "mean and variance have lost their axis",
    observed="With `x` of shape (2, 3, 4) they have shape (2, 3) and do not fit `x`; with shape "
    "(4, 4, 4) they do, but most numbers meet those of another vector.",
    change="Give `keepdim=True` to both.",
)
class _AxesLost(_LayerNormSteps):
    def keeps_axis(self) -> bool:
        return False


@layer_norm.mistake(
    "the mean has lost its axis",
    observed="With `x` of shape (2, 3, 4) the mean has shape (2, 3) and cannot be subtracted; "
    "with shape (4, 4, 4) it can, but most numbers meet the mean of another vector.",
    change="Give `keepdim=True` to `mean`.",
)
class _MeanWithoutAxis(_LayerNormSteps):
    def mean(self, x: Tensor) -> Tensor:
        return x.mean(dim=self.axes(x))


@layer_norm.mistake(
    "the variance has lost its axis",
    observed="With `x` of shape (2, 3, 4) the variance has shape (2, 3) and nothing can be "
    "divided by it; with shape (4, 4, 4) it can, but most numbers meet another vector's.",
    change="Give `keepdim=True` to `var`, `std` or the second `mean`.",
)
class _VarianceWithoutAxis(_LayerNormSteps):
    def variance(self, x: Tensor) -> Tensor:
        return x.var(dim=self.axes(x), correction=0)


@layer_norm.mistake(
    "normalised over the positions",
    observed="Each feature has mean 0 along the sentence, so one word's vector depends on the "
    "other words. A single vector has no such axis at all.",
    change="Use `dim=-1`, the features.",
)
class _OverPositions(_LayerNormSteps):
    def axes(self, x: Tensor) -> int:
        return 1


@layer_norm.mistake(
    "normalised over the batch",
    observed="Each feature has mean 0 across the sentences of the batch, so one sentence depends "
    "on the others.",
    change="Use `dim=-1`, the features.",
)
class _OverBatch(_LayerNormSteps):
    def axes(self, x: Tensor) -> int:
        return 0


@layer_norm.mistake(
    "normalised over positions and features together",
    observed="Each sentence has mean 0, its single vectors have not: one word's vector depends "
    "on the other words.",
    change="Use `dim=-1`, the features alone.",
)
class _OverSentence(_LayerNormSteps):
    def axes(self, x: Tensor) -> tuple[int, ...]:
        return (1, 2)


@layer_norm.mistake(
    "this is batch norm: normalised over batch and positions",
    observed="Each feature has mean 0 over all words of all sentences, so one sentence depends "
    "on the others. A single vector has no such axes at all.",
    change="Use `dim=-1`, the features.",
)
class _BatchNorm(_LayerNormSteps):
    def axes(self, x: Tensor) -> tuple[int, ...]:
        return (0, 1)


@layer_norm.mistake(
    "normalised over the whole tensor",
    observed="There is one mean and one variance for everything, so each word depends on all "
    "words of all sentences.",
    change="Take both along the features: `dim=-1, keepdim=True`.",
)
class _OverEverything(_LayerNormSteps):
    def axes(self, x: Tensor) -> tuple[int, ...]:
        return tuple(range(x.dim()))


@layer_norm.mistake(
    "the axis is counted from the front (dim=2)",
    observed="Three axes are right, a single vector stops with an IndexError.",
    change="Count from the end: `dim=-1` is the last axis, however many there are.",
)
class _ThirdAxis(_LayerNormSteps):
    def axes(self, x: Tensor) -> int:
        return 2


@layer_norm.mistake(
    "the gain is not used",
    observed="Your result is the same for every `gain`.",
    change="Multiply by `gain` before you add `bias`.",
)
class _NoGain(_LayerNormSteps):
    def output(self, normalised: Tensor, gain: Tensor, bias: Tensor) -> Tensor:
        return normalised + bias


@layer_norm.mistake(
    "the bias is not used",
    observed="A vector of equal numbers comes out as zeros; it should come out as `bias`.",
    change="Add `bias` at the end.",
)
class _NoBias(_LayerNormSteps):
    def output(self, normalised: Tensor, gain: Tensor, bias: Tensor) -> Tensor:
        return gain * normalised


@layer_norm.mistake(
    "neither gain nor bias is used",
    observed="The vectors have mean 0 and variance 1, and that is all.",
    change="Return `gain * normalised + bias`.",
)
class _NoGainNoBias(_LayerNormSteps):
    def output(self, normalised: Tensor, gain: Tensor, bias: Tensor) -> Tensor:
        return normalised


@layer_norm.mistake(
    "the gain is added",
    observed="A vector of equal numbers comes out as `gain + bias`; it should come out as `bias`.",
    change="Multiply by `gain`: `gain * normalised + bias`.",
)
class _GainAdded(_LayerNormSteps):
    def output(self, normalised: Tensor, gain: Tensor, bias: Tensor) -> Tensor:
        return gain + normalised + bias


@layer_norm.mistake(
    "gain and bias are swapped",
    observed="A vector of equal numbers comes out as `gain`; it should come out as `bias`.",
    change="Multiply by `gain` and add `bias`.",
)
class _GainAndBiasSwapped(_LayerNormSteps):
    def output(self, normalised: Tensor, gain: Tensor, bias: Tensor) -> Tensor:
        return bias * normalised + gain


@layer_norm.mistake(
    "the gain multiplies the bias too",
    observed="A vector of equal numbers comes out as `gain * bias`; it should come out as `bias`.",
    change="Add `bias` last: `gain * normalised + bias`.",
)
class _GainTimesBias(_LayerNormSteps):
    def output(self, normalised: Tensor, gain: Tensor, bias: Tensor) -> Tensor:
        return gain * (normalised + bias)


# --- add_norm --------------------------------------------------------------------------------


class Zeros(nn.Module):
    """A sub-layer that has nothing to say."""

    def forward(self, x: Tensor) -> Tensor:
        """Return zeros, as many as in x."""
        return torch.zeros_like(x)


def _norm(d_model: int) -> nn.Module:
    norm = model.LayerNorm(d_model)
    with torch.no_grad():
        for parameter, value in zip(norm.parameters(), _gain_and_bias(d_model), strict=True):
            parameter.copy_(value)
    return norm


def _post_norm_ends_normalised(value: Tensor, case: Case) -> bool:
    _, _, norm, norm_first = case.inputs
    mean = ((value - norm.bias) / norm.gain).mean(dim=-1)
    return norm_first or torch.allclose(mean, torch.zeros_like(mean), atol=1e-4)


def _pre_norm_keeps_x(value: Tensor, case: Case) -> bool:
    x, sublayer, _, norm_first = case.inputs
    return not (norm_first and isinstance(sublayer, Zeros)) or torch.allclose(value, x)


@exercise(
    reference=lambda x, sublayer, norm, norm_first: (
        x + sublayer(norm(x)) if norm_first else norm(x + sublayer(x))
    ),
    cases=[
        Case((vectors(2, 3, 4), nn.Tanh(), _norm(4), False)),
        Case((vectors(2, 3, 4), nn.Tanh(), _norm(4), True)),
        Case((vectors(3, 2, 5).double(), nn.Softmax(dim=1), _norm(5).double(), False)),
        Case((vectors(3, 2, 5).double(), nn.Softmax(dim=1), _norm(5).double(), True)),
        Case((vectors(1, 2, 3), Zeros(), _norm(3), True)),
    ],
    properties=[
        Property(
            "with norm_first=False each vector of the result is normalised",
            _post_norm_ends_normalised,
        ),
        Property(
            "with norm_first=True a sub-layer that returns zeros leaves x as it was",
            _pre_norm_keeps_x,
        ),
    ],
    hints=[
        "Both orders add what the sub-layer returns to `x` itself. They differ in what is "
        "normalised: the sum, or what the sub-layer reads.",
        "`sublayer` and `norm` are called like functions. With `norm_first=True` the sub-layer "
        "gets `norm(x)`, and nothing is normalised after the sum.",
        "`x + sublayer(norm(x))` if `norm_first`, else `norm(x + sublayer(x))`.",
    ],
)
def add_norm(
    x: Tensor,
    sublayer: Callable[[Tensor], Tensor],
    norm: Callable[[Tensor], Tensor],
    norm_first: bool,
) -> Tensor:
    """Add what the sub-layer returns to x; normalise its input (norm_first) or the sum."""
    if norm_first:
        return x + sublayer(norm(x))
    return norm(x + sublayer(x))


_Function = Callable[[Tensor], Tensor]


class _AddNormSteps:
    """The two orders, each a step, so that a mistake replaces one or both."""

    def add(self, x: Tensor, change: Tensor) -> Tensor:
        return x + change

    def pre(self, x: Tensor, sublayer: _Function, norm: _Function) -> Tensor:
        return self.add(x, sublayer(norm(x)))

    def post(self, x: Tensor, sublayer: _Function, norm: _Function) -> Tensor:
        return norm(self.add(x, sublayer(x)))

    def is_pre(self, norm_first: bool) -> bool:
        return norm_first

    def __call__(self, x: Tensor, sublayer: _Function, norm: _Function, norm_first: bool) -> Tensor:
        order = self.pre if self.is_pre(norm_first) else self.post
        return order(x, sublayer, norm)


@add_norm.mistake(
    "the two orders are swapped",
    observed="With norm_first=True you normalise the sum, with norm_first=False what the "
    "sub-layer reads.",
    change="Return `x + sublayer(norm(x))` if `norm_first`, else `norm(x + sublayer(x))`.",
)
class _OrdersSwapped(_AddNormSteps):
    def is_pre(self, norm_first: bool) -> bool:
        return not norm_first


@add_norm.mistake(
    "always post-norm",
    observed="norm_first=True changes nothing: you normalise the sum, so even a sub-layer that "
    "returns zeros changes `x`.",
    change="With `norm_first`, return `x + sublayer(norm(x))`.",
)
class _AlwaysPost(_AddNormSteps):
    def is_pre(self, norm_first: bool) -> bool:
        return False


@add_norm.mistake(
    "always pre-norm",
    observed="norm_first=False changes nothing: the sum is never normalised.",
    change="Without `norm_first`, return `norm(x + sublayer(x))`.",
)
class _AlwaysPre(_AddNormSteps):
    def is_pre(self, norm_first: bool) -> bool:
        return True


@add_norm.mistake(
    "the residual connection is missing",
    observed="`x` reaches the result only through the sub-layer: where that returns zeros, "
    "nothing of `x` is left.",
    change="Add `x` to what the sub-layer returns.",
)
class _NoResidual(_AddNormSteps):
    def add(self, x: Tensor, change: Tensor) -> Tensor:
        return change


@add_norm.mistake(
    "x is added twice",
    observed="The sum holds `2 * x`: a sub-layer that returns zeros doubles `x` when "
    "norm_first=True.",
    change="Add `x` once: `x + sublayer(...)`.",
)
class _ResidualTwice(_AddNormSteps):
    def add(self, x: Tensor, change: Tensor) -> Tensor:
        return x + x + change


@add_norm.mistake(
    "x is multiplied instead of added",
    observed="Where the sub-layer returns zeros, nothing of `x` is left.",
    change="Add: `x + sublayer(...)`.",
)
class _Product(_AddNormSteps):
    def add(self, x: Tensor, change: Tensor) -> Tensor:
        return x * change


@add_norm.mistake(
    "nothing is normalised",
    observed="Both orders give `x + sublayer(x)`.",
    change="Call `norm`: on `x` before the sub-layer if `norm_first`, else on the sum.",
)
class _NoNorm(_AddNormSteps):
    def pre(self, x: Tensor, sublayer: _Function, norm: _Function) -> Tensor:
        return self.add(x, sublayer(x))

    post = pre


@add_norm.mistake(
    "only the sub-layer is left",
    observed="Both orders give `sublayer(x)`, without sum and without norm.",
    change="Return `x + sublayer(norm(x))` if `norm_first`, else `norm(x + sublayer(x))`.",
)
class _OnlySublayer(_AddNormSteps):
    def pre(self, x: Tensor, sublayer: _Function, norm: _Function) -> Tensor:
        return sublayer(x)

    post = pre


@add_norm.mistake(
    "x is overwritten before it is added",
    observed="In both orders the sum holds the sub-layer's output twice and `x` not at all.",
    change="Give the sub-layer's output another name than `x`.",
)
class _Overwritten(_AddNormSteps):
    def pre(self, x: Tensor, sublayer: _Function, norm: _Function) -> Tensor:
        x = sublayer(norm(x))
        return x + x

    def post(self, x: Tensor, sublayer: _Function, norm: _Function) -> Tensor:
        x = sublayer(x)
        return norm(x + x)


@add_norm.mistake(
    "normalised before and after",
    observed="In both orders the sub-layer reads `norm(x)` and the sum is normalised as well.",
    change="Use `norm` once: before the sub-layer if `norm_first`, else on the sum.",
)
class _BothNorms(_AddNormSteps):
    def pre(self, x: Tensor, sublayer: _Function, norm: _Function) -> Tensor:
        return norm(self.add(x, sublayer(norm(x))))

    post = pre


@add_norm.mistake(
    "in both orders only the sub-layer's output is normalised",
    observed="You return `x + norm(sublayer(x))`, whatever norm_first says.",
    change="Return `x + sublayer(norm(x))` if `norm_first`, else `norm(x + sublayer(x))`.",
)
class _NormsOutput(_AddNormSteps):
    def pre(self, x: Tensor, sublayer: _Function, norm: _Function) -> Tensor:
        return self.add(x, norm(sublayer(x)))

    post = pre


@add_norm.mistake(
    "pre-norm: the normalised x is added, not x",
    observed="With norm_first=True and a sub-layer that returns zeros, `norm(x)` comes out: "
    "the residual stream is normalised at every step.",
    change="Normalise only what the sub-layer reads: `x + sublayer(norm(x))`.",
)
class _AddsNormalised(_AddNormSteps):
    def pre(self, x: Tensor, sublayer: _Function, norm: _Function) -> Tensor:
        return self.add(norm(x), sublayer(norm(x)))


@add_norm.mistake(
    "pre-norm: the sub-layer's output is normalised, not its input",
    observed="With norm_first=True the sub-layer reads `x` as it is, and `norm` acts on what it "
    "returns.",
    change="Call `norm` first and the sub-layer on its result: `sublayer(norm(x))`.",
)
class _PreNormsOutput(_AddNormSteps):
    def pre(self, x: Tensor, sublayer: _Function, norm: _Function) -> Tensor:
        return self.add(x, norm(sublayer(x)))


@add_norm.mistake(
    "pre-norm: the sum is normalised as well",
    observed="With norm_first=True a sub-layer that returns zeros changes `x`.",
    change="Leave the sum as it is: `x + sublayer(norm(x))`.",
)
class _PreNormsSum(_AddNormSteps):
    def pre(self, x: Tensor, sublayer: _Function, norm: _Function) -> Tensor:
        return norm(self.add(x, sublayer(norm(x))))


@add_norm.mistake(
    "pre-norm: the residual connection is missing",
    observed="norm_first=False is right; norm_first=True gives `sublayer(norm(x))` without `x`.",
    change="Add `x`: `x + sublayer(norm(x))`.",
)
class _PreWithoutResidual(_AddNormSteps):
    def pre(self, x: Tensor, sublayer: _Function, norm: _Function) -> Tensor:
        return sublayer(norm(x))


@add_norm.mistake(
    "post-norm: only the sub-layer's output is normalised",
    observed="With norm_first=False you return `x + norm(sublayer(x))`, which is not normalised.",
    change="Add first, then normalise the sum: `norm(x + sublayer(x))`.",
)
class _PostNormsOutput(_AddNormSteps):
    def post(self, x: Tensor, sublayer: _Function, norm: _Function) -> Tensor:
        return self.add(x, norm(sublayer(x)))


@add_norm.mistake(
    "post-norm: only x is normalised",
    observed="With norm_first=False you return `norm(x) + sublayer(x)`: the sum is not "
    "normalised. Is a bracket closed too early?",
    change="Normalise the whole sum: `norm(x + sublayer(x))`.",
)
class _PostNormsX(_AddNormSteps):
    def post(self, x: Tensor, sublayer: _Function, norm: _Function) -> Tensor:
        return self.add(norm(x), sublayer(x))


@add_norm.mistake(
    "post-norm: the sub-layer reads the normalised x",
    observed="With norm_first=False the sum is normalised, but what went into the sub-layer was "
    "normalised too.",
    change="Give the sub-layer `x` itself: `norm(x + sublayer(x))`.",
)
class _PostReadsNormalised(_AddNormSteps):
    def post(self, x: Tensor, sublayer: _Function, norm: _Function) -> Tensor:
        return norm(self.add(x, sublayer(norm(x))))


@add_norm.mistake(
    "post-norm: the residual connection is missing",
    observed="norm_first=True is right; norm_first=False gives `norm(sublayer(x))` without `x`.",
    change="Add `x` before the norm: `norm(x + sublayer(x))`.",
)
class _PostWithoutResidual(_AddNormSteps):
    def post(self, x: Tensor, sublayer: _Function, norm: _Function) -> Tensor:
        return norm(sublayer(x))


# --- EncoderLayer and DecoderLayer -----------------------------------------------------------


class _Trained:
    """Give every norm its own gain and bias, so that a norm in the wrong place shows."""

    def __init__(self, *sizes: float) -> None:
        super().__init__(*sizes)
        with torch.no_grad():
            for module in self.modules():
                if isinstance(module, model.LayerNorm):
                    module.gain.uniform_(0.5, 2.0)
                    module.bias.normal_()


class _TrainedEncoderLayer(_Trained, model.EncoderLayer):
    pass


class _TrainedDecoderLayer(_Trained, model.DecoderLayer):
    pass


class _TrainedEncoder(_Trained, model.Encoder):
    pass


_ALL_DROPPED = "the result in training mode, where dropout 1 leaves only `x` and the norms"


def _masks(source: int, target: int) -> tuple[Tensor, Tensor]:
    """Return masks for three sentences of such lengths, of which two are padded."""
    source_ids, target_ids = torch.ones(3, source), torch.ones(3, target)
    source_ids[0, 2:] = source_ids[2, -1] = target_ids[1, 2:] = 0
    return model.padding_mask(source_ids.long(), 0), model.target_mask(target_ids.long(), 0)


def _source_mask(source: int) -> Tensor:
    return _masks(source, source)[0]


def _changed(before: Tensor, after: Tensor) -> Tensor:
    """Tell which positions differ, shape (batch, length)."""
    return ((after - before).abs() > 1e-4).any(dim=-1)


def _what_padding_changes(layer: nn.Module, x: Tensor, source_mask: Tensor) -> Tensor:
    padding = ~source_mask[:, 0, 0, :, None]
    return _changed(layer(x, source_mask), layer(x + padding * 3 * x.sin(), source_mask))


@exercise(
    reference=_TrainedEncoderLayer,
    cases=[
        Case((vectors(2, 3, 4),), construct=(4, 2, 8, 0.1, False)),
        Case((vectors(3, 5, 8), _source_mask(5)), construct=(8, 2, 20, 0.1, False)),
        Case((vectors(3, 4, 8), _source_mask(4)), construct=(8, 4, 12, 0.1, True)),
        Case(
            (vectors(3, 5, 8), _source_mask(5)),
            construct=(8, 2, 20, 0.1, False),
            observe=_what_padding_changes,
            looks_at="which positions change when only the padding changes",
        ),
        Case(
            (vectors(2, 3, 4),),
            construct=(4, 2, 8, 1.0, False),
            looks_at=_ALL_DROPPED,
            training=True,
        ),
    ],
    hints=[
        "Two steps, each inside its AddNorm: the self-attention, then the feed-forward network "
        "on what came out. An AddNorm gets `x` and a sub-layer, which it calls itself.",
        "The feed-forward network can be handed over as it is. The attention needs three "
        "arguments, so wrap it: `lambda y: self.self_attention(y, y, source_mask)`.",
        "`x = self.add_norm_attention(x, lambda y: self.self_attention(y, y, source_mask))`, "
        "then return `self.add_norm_feed_forward(x, self.feed_forward)`.",
    ],
)
class EncoderLayer(nn.Module):
    """Self-attention and feed-forward network, each inside an AddNorm."""

    def __init__(
        self, d_model: int, heads: int, d_ff: int, dropout: float = 0.1, norm_first: bool = False
    ) -> None:
        super().__init__()
        self.self_attention = model.MultiHeadAttention(d_model, heads)
        self.feed_forward = model.FeedForward(d_model, d_ff)
        self.add_norm_attention = model.AddNorm(d_model, dropout, norm_first)
        self.add_norm_feed_forward = model.AddNorm(d_model, dropout, norm_first)

    def forward(self, x: Tensor, source_mask: Tensor | None = None) -> Tensor:
        """Return a tensor of the shape of x, (batch, source, d_model)."""
        x = self.add_norm_attention(x, lambda y: self.self_attention(y, y, source_mask))
        return self.add_norm_feed_forward(x, self.feed_forward)


def _what_the_future_changes(
    layer: nn.Module, x: Tensor, memory: Tensor, source_mask: Tensor, target_mask: Tensor
) -> Tensor:
    later = x.clone()
    later[:, -1] = 3 * x[:, -1].sin()
    return _changed(*(layer(y, memory, source_mask, target_mask) for y in (x, later)))


def _gradient_of_memory(layer: nn.Module, x: Tensor, memory: Tensor) -> Tensor:
    memory.requires_grad_()
    output = layer(x, memory)
    # Not the plain sum: through a layer norm its gradient is zero.
    loss = (output * torch.arange(output.numel()).view_as(output).cos()).sum()
    (gradient,) = torch.autograd.grad(loss, memory, allow_unused=True)
    return torch.zeros_like(memory) if gradient is None else gradient


@exercise(
    reference=_TrainedDecoderLayer,
    cases=[
        Case((vectors(2, 3, 4), vectors(2, 5, 4, seed=1)), construct=(4, 2, 8, 0.1, False)),
        Case((vectors(3, 4, 8), vectors(3, 5, 8, seed=1), *_masks(5, 4)), construct=(8, 2, 20)),
        Case((vectors(3, 4, 8), vectors(3, 4, 8, seed=1), *_masks(4, 4)), construct=(8, 2, 20)),
        Case(
            (vectors(3, 5, 8), vectors(3, 4, 8, seed=1), *_masks(4, 5)),
            construct=(8, 4, 12, 0.1, True),
        ),
        Case(
            (vectors(3, 4, 8), vectors(3, 5, 8, seed=1), *_masks(5, 4)),
            construct=(8, 2, 20),
            observe=_what_the_future_changes,
            looks_at="which positions change when the last one does",
        ),
        Case(
            (vectors(2, 3, 4), vectors(2, 5, 4, seed=1)),
            construct=(4, 2, 8),
            observe=_gradient_of_memory,
            looks_at="the gradient that reaches the memory",
        ),
        Case(
            (vectors(2, 3, 4), vectors(2, 5, 4, seed=1)),
            construct=(4, 2, 8, 1.0, False),
            looks_at=_ALL_DROPPED,
            training=True,
        ),
    ],
    hints=[
        "Three steps, each inside its AddNorm and each on what came out of the step before: the "
        "target looks at itself, then at the memory, then each position works alone. Which of "
        "them needs which mask?",
        "A mask belongs to the sequence that is looked at. In cross-attention the target asks "
        "and the memory answers: `self.cross_attention(y, memory, source_mask)`.",
        "Like the encoder layer, with `lambda y: self.self_attention(y, y, target_mask)` first, "
        "then `lambda y: self.cross_attention(y, memory, source_mask)`, then the feed-forward "
        "network.",
    ],
)
class DecoderLayer(nn.Module):
    """Self-attention, cross-attention and feed-forward network, each inside an AddNorm."""

    def __init__(
        self, d_model: int, heads: int, d_ff: int, dropout: float = 0.1, norm_first: bool = False
    ) -> None:
        super().__init__()
        self.self_attention = model.MultiHeadAttention(d_model, heads)
        self.cross_attention = model.MultiHeadAttention(d_model, heads)
        self.feed_forward = model.FeedForward(d_model, d_ff)
        self.add_norm_self_attention = model.AddNorm(d_model, dropout, norm_first)
        self.add_norm_cross_attention = model.AddNorm(d_model, dropout, norm_first)
        self.add_norm_feed_forward = model.AddNorm(d_model, dropout, norm_first)

    def forward(
        self,
        x: Tensor,
        memory: Tensor,
        source_mask: Tensor | None = None,
        target_mask: Tensor | None = None,
    ) -> Tensor:
        """Return a tensor of the shape of x, (batch, target, d_model)."""
        x = self.add_norm_self_attention(x, lambda y: self.self_attention(y, y, target_mask))
        x = self.add_norm_cross_attention(x, lambda y: self.cross_attention(y, memory, source_mask))
        return self.add_norm_feed_forward(x, self.feed_forward)


class _SublayerSteps(nn.Module):
    """What both layers do with each of their sub-layers, in steps."""

    def wrap(self, add_norm: nn.Module, x: Tensor, sublayer: _Function) -> Tensor:
        return add_norm(x, sublayer)

    def ask(
        self, attention: nn.Module, query: Tensor, memory: Tensor, mask: Tensor | None
    ) -> Tensor:
        return attention(query, memory, mask)

    def looking_at_itself(self, attention: nn.Module, x: Tensor, mask: Tensor | None) -> _Function:
        return lambda y: self.ask(attention, y, y, mask)

    def working_alone(self, x: Tensor) -> _Function:
        return self.feed_forward


class _EncoderLayerSteps(_SublayerSteps, model.EncoderLayer):
    """The encoder layer in steps, so that a mistake replaces one."""

    def norm_of_attention(self) -> nn.Module:
        return self.add_norm_attention

    def norm_of_feed_forward(self) -> nn.Module:
        return self.add_norm_feed_forward

    def look(self, x: Tensor, mask: Tensor | None) -> Tensor:
        sublayer = self.looking_at_itself(self.self_attention, x, mask)
        return self.wrap(self.norm_of_attention(), x, sublayer)

    def think(self, x: Tensor, before: Tensor) -> Tensor:
        return self.wrap(self.norm_of_feed_forward(), x, self.working_alone(x))

    def forward(self, x: Tensor, source_mask: Tensor | None = None) -> Tensor:
        return self.think(self.look(x, source_mask), x)


@EncoderLayer.mistake(
    "the mask is not passed on",
    observed="The real words change when only the padding changes.",
    change="Give `source_mask` to the attention as its third argument.",
)
class _EncoderWithoutMask(_EncoderLayerSteps):
    def ask(
        self, attention: nn.Module, query: Tensor, memory: Tensor, mask: Tensor | None
    ) -> Tensor:
        return attention(query, memory)


@EncoderLayer.mistake(
    "the feed-forward network reads the x from before the attention",
    observed="What it returns does not depend on the attention, whose result is only added.",
    change="Let it read what came out of `self.add_norm_attention(...)`: hand over "
    "`self.feed_forward` itself.",
)
class _FeedsOldX(_EncoderLayerSteps):
    def think(self, x: Tensor, before: Tensor) -> Tensor:
        return self.wrap(self.norm_of_feed_forward(), x, lambda _: self.feed_forward(before))


@EncoderLayer.mistake(
    "the attention has no effect",
    observed="The result is that of the feed-forward network alone: what the attention returned "
    "is not used, or it is never called.",
    change="Assign it, `x = self.add_norm_attention(...)`, and go on with this `x`.",
)
class _EncoderIgnoresAttention(_EncoderLayerSteps):
    def look(self, x: Tensor, mask: Tensor | None) -> Tensor:
        return x


@EncoderLayer.mistake(
    "the feed-forward network is missing",
    observed="The result is that of `self.add_norm_attention(...)`.",
    change="Return `self.add_norm_feed_forward(x, self.feed_forward)`.",
)
class _EncoderWithoutFeedForward(_EncoderLayerSteps):
    def think(self, x: Tensor, before: Tensor) -> Tensor:
        return x


@EncoderLayer.mistake(
    "the feed-forward network comes before the attention",
    observed="The parts are right and their order is not.",
    change="First the attention, then the feed-forward network on what came out.",
)
class _FeedForwardFirst(_EncoderLayerSteps):
    def forward(self, x: Tensor, source_mask: Tensor | None = None) -> Tensor:
        return self.look(self.think(x, x), source_mask)


@EncoderLayer.mistake(
    "the attention overwrites x: it has no AddNorm",
    observed="No residual connection leads around the attention; if it returned zeros, the "
    "layer's result would not depend on `x` at all.",
    change="Write `x = self.add_norm_attention(x, lambda y: ...)`.",
)
class _AttentionOverwrites(_EncoderLayerSteps):
    def look(self, x: Tensor, mask: Tensor | None) -> Tensor:
        return self.looking_at_itself(self.self_attention, x, mask)(x)


@EncoderLayer.mistake(
    "the feed-forward network has no AddNorm",
    observed="The result is what the feed-forward network returns: no residual, no norm.",
    change="Return `self.add_norm_feed_forward(x, self.feed_forward)`.",
)
class _EncoderFeedForwardBare(_EncoderLayerSteps):
    def think(self, x: Tensor, before: Tensor) -> Tensor:
        return self.feed_forward(x)


@EncoderLayer.mistake(
    "the AddNorm of the attention is used for the feed-forward network",
    observed="`add_norm_feed_forward` is never called: its gain and bias would not be trained.",
    change="Each sub-layer has its own: use `self.add_norm_feed_forward` for the second.",
)
class _AttentionNormTwice(_EncoderLayerSteps):
    def norm_of_feed_forward(self) -> nn.Module:
        return self.add_norm_attention


@EncoderLayer.mistake(
    "the AddNorm of the feed-forward network is used for the attention",
    observed="`add_norm_attention` is never called: its gain and bias would not be trained.",
    change="Each sub-layer has its own: use `self.add_norm_attention` for the first.",
)
class _FeedForwardNormTwice(_EncoderLayerSteps):
    def norm_of_attention(self) -> nn.Module:
        return self.add_norm_feed_forward


class _DecoderLayerSteps(_SublayerSteps, model.DecoderLayer):
    """The decoder layer in steps, so that a mistake replaces one."""

    def self_mask(self, source_mask: Tensor | None, target_mask: Tensor | None) -> Tensor | None:
        return target_mask

    def cross_mask(self, source_mask: Tensor | None, target_mask: Tensor | None) -> Tensor | None:
        return source_mask

    def who_looks_where(self, x: Tensor, memory: Tensor) -> tuple[Tensor, Tensor]:
        return x, memory

    def attention_to_itself(self) -> nn.Module:
        return self.self_attention

    def attention_to_memory(self) -> nn.Module:
        return self.cross_attention

    def norm_of_cross_attention(self) -> nn.Module:
        return self.add_norm_cross_attention

    def norm_of_feed_forward(self) -> nn.Module:
        return self.add_norm_feed_forward

    def look_at_itself(self, x: Tensor, mask: Tensor | None) -> Tensor:
        sublayer = self.looking_at_itself(self.attention_to_itself(), x, mask)
        return self.wrap(self.add_norm_self_attention, x, sublayer)

    def look_at_memory(
        self, x: Tensor, memory: Tensor, mask: Tensor | None, before: Tensor
    ) -> Tensor:
        sublayer = self.looking_at_memory(x, memory, mask)
        return self.wrap(self.norm_of_cross_attention(), x, sublayer)

    def looking_at_memory(self, x: Tensor, memory: Tensor, mask: Tensor | None) -> _Function:
        def sublayer(y: Tensor) -> Tensor:
            return self.ask(self.attention_to_memory(), *self.who_looks_where(y, memory), mask)

        return sublayer

    def think(self, x: Tensor) -> Tensor:
        return self.wrap(self.norm_of_feed_forward(), x, self.working_alone(x))

    def in_order(
        self, x: Tensor, memory: Tensor, self_mask: Tensor | None, cross_mask: Tensor | None
    ) -> Tensor:
        looked = self.look_at_itself(x, self_mask)
        return self.think(self.look_at_memory(looked, memory, cross_mask, x))

    def forward(
        self,
        x: Tensor,
        memory: Tensor,
        source_mask: Tensor | None = None,
        target_mask: Tensor | None = None,
    ) -> Tensor:
        self_mask = self.self_mask(source_mask, target_mask)
        return self.in_order(x, memory, self_mask, self.cross_mask(source_mask, target_mask))


@DecoderLayer.mistake(
    "the cross-attention looks at the target, not at the memory",
    observed="The memory has no influence: its gradient is zero. Lengths that differ also clash "
    "with the source mask.",
    change="Look at the memory: `self.cross_attention(y, memory, source_mask)`.",
)
class _CrossLooksAtTarget(_DecoderLayerSteps):
    def who_looks_where(self, x: Tensor, memory: Tensor) -> tuple[Tensor, Tensor]:
        return x, x


@DecoderLayer.mistake(
    "the memory asks and the target answers",
    observed="The cross-attention returns one vector for each source position; they cannot be "
    "added to those of the target.",
    change="The target asks, so it comes first: `self.cross_attention(y, memory, source_mask)`.",
)
class _MemoryAsks(_DecoderLayerSteps):
    def who_looks_where(self, x: Tensor, memory: Tensor) -> tuple[Tensor, Tensor]:
        return memory, x


@DecoderLayer.mistake(
    "the memory looks at itself",
    observed="The cross-attention returns one vector for each source position, and the target "
    "has no say in them.",
    change="The target asks: `self.cross_attention(y, memory, source_mask)`.",
)
class _MemoryLooksAtItself(_DecoderLayerSteps):
    def who_looks_where(self, x: Tensor, memory: Tensor) -> tuple[Tensor, Tensor]:
        return memory, memory


@DecoderLayer.mistake(
    "the memory is detached",
    observed="All values are right, but no gradient reaches the memory: the encoder would not "
    "learn.",
    change="Leave out `.detach()`, `.data` and `torch.no_grad()`.",
)
class _MemoryDetached(_DecoderLayerSteps):
    def who_looks_where(self, x: Tensor, memory: Tensor) -> tuple[Tensor, Tensor]:
        return x, memory.detach()


@DecoderLayer.mistake(
    "the two masks are swapped",
    observed="They do not fit if source and target differ in length. If they do not differ, "
    "nothing stops, and earlier positions change when the last one does.",
    change="`target_mask` belongs to the self-attention, `source_mask` to the cross-attention.",
)
class _MasksSwapped(_DecoderLayerSteps):
    def self_mask(self, source_mask: Tensor | None, target_mask: Tensor | None) -> Tensor | None:
        return source_mask

    def cross_mask(self, source_mask: Tensor | None, target_mask: Tensor | None) -> Tensor | None:
        return target_mask


@DecoderLayer.mistake(
    "the target mask is used for both",
    observed="In the cross-attention it forbids source positions by the rules of the target; it "
    "fits only if both have the same length.",
    change="Give `source_mask` to the cross-attention: it looks at the source.",
)
class _TargetMaskTwice(_DecoderLayerSteps):
    def cross_mask(self, source_mask: Tensor | None, target_mask: Tensor | None) -> Tensor | None:
        return target_mask


@DecoderLayer.mistake(
    "the source mask is used for both",
    observed="It does not hide the future, and fits the self-attention only if source and target "
    "have the same length.",
    change="Give `target_mask` to the self-attention: it looks at the target.",
)
class _SourceMaskTwice(_DecoderLayerSteps):
    def self_mask(self, source_mask: Tensor | None, target_mask: Tensor | None) -> Tensor | None:
        return source_mask


@DecoderLayer.mistake(
    "the self-attention has no mask",
    observed="Earlier positions change when the last one does: the target sees its future.",
    change="Give `target_mask` to the self-attention as its third argument.",
)
class _FutureVisible(_DecoderLayerSteps):
    def self_mask(self, source_mask: Tensor | None, target_mask: Tensor | None) -> Tensor | None:
        return None


@DecoderLayer.mistake(
    "the cross-attention has no mask",
    observed="The padding of the source has a say in the result.",
    change="Give `source_mask` to the cross-attention as its third argument.",
)
class _MemoryPaddingVisible(_DecoderLayerSteps):
    def cross_mask(self, source_mask: Tensor | None, target_mask: Tensor | None) -> Tensor | None:
        return None


@DecoderLayer.mistake(
    "the feed-forward network comes before the cross-attention",
    observed="The parts are right and their order is not.",
    change="Self-attention, cross-attention, feed-forward network.",
)
class _FeedForwardBeforeCross(_DecoderLayerSteps):
    def in_order(
        self, x: Tensor, memory: Tensor, self_mask: Tensor | None, cross_mask: Tensor | None
    ) -> Tensor:
        x = self.think(self.look_at_itself(x, self_mask))
        return self.look_at_memory(x, memory, cross_mask, x)


@DecoderLayer.mistake(
    "the cross-attention comes before the self-attention",
    observed="The parts are right and their order is not.",
    change="Self-attention, cross-attention, feed-forward network.",
)
class _CrossFirst(_DecoderLayerSteps):
    def in_order(
        self, x: Tensor, memory: Tensor, self_mask: Tensor | None, cross_mask: Tensor | None
    ) -> Tensor:
        x = self.look_at_memory(x, memory, cross_mask, x)
        return self.think(self.look_at_itself(x, self_mask))


@DecoderLayer.mistake(
    "the self-attention has no effect",
    observed="The result is that of cross-attention and feed-forward network alone: what the "
    "self-attention returned is not used, or it is never called.",
    change="Assign it, `x = self.add_norm_self_attention(...)`, and go on with this `x`.",
)
class _IgnoresSelfAttention(_DecoderLayerSteps):
    def look_at_itself(self, x: Tensor, mask: Tensor | None) -> Tensor:
        return x


@DecoderLayer.mistake(
    "the cross-attention has no effect",
    observed="The memory has no influence: what the cross-attention returned is not used, or it "
    "is never called.",
    change="Assign it, `x = self.add_norm_cross_attention(...)`, and go on with this `x`.",
)
class _IgnoresCrossAttention(_DecoderLayerSteps):
    def look_at_memory(
        self, x: Tensor, memory: Tensor, mask: Tensor | None, before: Tensor
    ) -> Tensor:
        return x


@DecoderLayer.mistake(
    "the cross-attention asks with the x from before the self-attention",
    observed="Its questions are the same whatever the self-attention found.",
    change="Ask with what the AddNorm hands over: `lambda y: self.cross_attention(y, ...)`.",
)
class _AsksWithOldX(_DecoderLayerSteps):
    def look_at_memory(
        self, x: Tensor, memory: Tensor, mask: Tensor | None, before: Tensor
    ) -> Tensor:
        return self.wrap(
            self.norm_of_cross_attention(),
            x,
            lambda _: self.ask(self.cross_attention, before, memory, mask),
        )


@DecoderLayer.mistake(
    "the cross-attention reads x, not what AddNorm hands over",
    observed="norm_first=False is right. With norm_first=True AddNorm hands over the normalised "
    "`x`, and your `lambda` does not use it.",
    change="Use the argument of the `lambda`: `lambda y: self.cross_attention(y, memory, ...)`.",
)
class _CrossReadsOuterX(_DecoderLayerSteps):
    def looking_at_memory(self, x: Tensor, memory: Tensor, mask: Tensor | None) -> _Function:
        return lambda _: self.ask(self.cross_attention, x, memory, mask)


@DecoderLayer.mistake(
    "the feed-forward network is missing",
    observed="The result is that of `self.add_norm_cross_attention(...)`.",
    change="Return `self.add_norm_feed_forward(x, self.feed_forward)`.",
)
class _DecoderWithoutFeedForward(_DecoderLayerSteps):
    def think(self, x: Tensor) -> Tensor:
        return x


@DecoderLayer.mistake(
    "the self-attention is used for both attentions",
    observed="The weights of `cross_attention` have no influence on the result.",
    change="Call `self.cross_attention` for the memory.",
)
class _SelfAttentionTwice(_DecoderLayerSteps):
    def attention_to_memory(self) -> nn.Module:
        return self.self_attention


@DecoderLayer.mistake(
    "the cross-attention is used for both attentions",
    observed="The weights of `self_attention` have no influence on the result.",
    change="Call `self.self_attention` for the target itself.",
)
class _CrossAttentionTwice(_DecoderLayerSteps):
    def attention_to_itself(self) -> nn.Module:
        return self.cross_attention


@DecoderLayer.mistake(
    "the first AddNorm is used for the cross-attention too",
    observed="`add_norm_cross_attention` is never called: it would not be trained.",
    change="Use `self.add_norm_cross_attention` for the second sub-layer.",
)
class _FirstNormForCross(_DecoderLayerSteps):
    def norm_of_cross_attention(self) -> nn.Module:
        return self.add_norm_self_attention


@DecoderLayer.mistake(
    "the first AddNorm is used for the feed-forward network too",
    observed="`add_norm_feed_forward` is never called: it would not be trained.",
    change="Use `self.add_norm_feed_forward` for the third sub-layer.",
)
class _FirstNormForFeedForward(_DecoderLayerSteps):
    def norm_of_feed_forward(self) -> nn.Module:
        return self.add_norm_self_attention


@DecoderLayer.mistake(
    "the second AddNorm is used for the feed-forward network too",
    observed="`add_norm_feed_forward` is never called: it would not be trained.",
    change="Use `self.add_norm_feed_forward` for the third sub-layer.",
)
class _SecondNormForFeedForward(_DecoderLayerSteps):
    def norm_of_feed_forward(self) -> nn.Module:
        return self.add_norm_cross_attention


# --- mistakes around a sub-layer, which both layers share ------------------------------------

_LAYERS = {EncoderLayer: _EncoderLayerSteps, DecoderLayer: _DecoderLayerSteps}


@shared_mistake(
    _LAYERS,
    "the self-attention reads x, not what AddNorm hands over",
    observed="norm_first=False is right. With norm_first=True AddNorm hands over the normalised "
    "`x`, and your `lambda` does not use it.",
    change="Use the argument of the `lambda`: `lambda y: self.self_attention(y, y, ...)`.",
)
class _ReadsOuterX(_SublayerSteps):
    def looking_at_itself(self, attention: nn.Module, x: Tensor, mask: Tensor | None) -> _Function:
        return lambda _: self.ask(attention, x, x, mask)


@shared_mistake(
    _LAYERS,
    "the self-attention looks at x, not at what AddNorm hands over",
    observed="norm_first=False is right. With norm_first=True the normalised `x` asks, and the "
    "one that is not normalised answers.",
    change="Use the argument of the `lambda` twice: `lambda y: self.self_attention(y, y, ...)`.",
)
class _LooksAtOuterX(_SublayerSteps):
    def looking_at_itself(self, attention: nn.Module, x: Tensor, mask: Tensor | None) -> _Function:
        return lambda y: self.ask(attention, y, x, mask)


@shared_mistake(
    _LAYERS,
    "the feed-forward network reads x, not what AddNorm hands over",
    observed="norm_first=False is right. With norm_first=True AddNorm hands over the normalised "
    "`x`, and your `lambda` does not use it.",
    change="Hand over `self.feed_forward` itself, without `lambda`.",
)
class _FeedsOuterX(_SublayerSteps):
    def working_alone(self, x: Tensor) -> _Function:
        return lambda _: self.feed_forward(x)


@shared_mistake(
    _LAYERS,
    "no sub-layer reads what AddNorm hands over",
    observed="norm_first=False is right. With norm_first=True AddNorm hands over the normalised "
    "`x`, and your sub-layers use an `x` that is not normalised.",
    change="Use the argument of each `lambda`: `lambda y: self.self_attention(y, y, ...)`.",
)
class _NothingHandedOver(_SublayerSteps):
    def wrap(self, add_norm: nn.Module, x: Tensor, sublayer: _Function) -> Tensor:
        return add_norm(x, lambda _: sublayer(x))


@shared_mistake(
    _LAYERS,
    "x is added once more around AddNorm",
    observed="Each AddNorm adds `x` already, so your sum holds it twice.",
    change="Write `x = self.add_norm_...(x, sublayer)` without `x +`.",
)
class _AddedAgain(_SublayerSteps):
    def wrap(self, add_norm: nn.Module, x: Tensor, sublayer: _Function) -> Tensor:
        return x + add_norm(x, sublayer)


@shared_mistake(
    _LAYERS,
    "only the norm of AddNorm is used",
    observed="norm_first=True changes nothing, and in training no dropout acts.",
    change="Call the AddNorm as a whole: `self.add_norm_...(x, sublayer)`.",
)
class _OnlyItsNorm(_SublayerSteps):
    def wrap(self, add_norm: nn.Module, x: Tensor, sublayer: _Function) -> Tensor:
        return add_norm.norm(x + sublayer(x))


@shared_mistake(
    _LAYERS,
    "plain sums stand in place of AddNorm",
    observed="`x` is added, but nothing is normalised and no dropout acts.",
    change="Let the AddNorm do it: `x = self.add_norm_...(x, sublayer)`.",
)
class _PlainSums(_SublayerSteps):
    def wrap(self, add_norm: nn.Module, x: Tensor, sublayer: _Function) -> Tensor:
        return x + sublayer(x)


@shared_mistake(
    _LAYERS,
    "no AddNorm is used",
    observed="The sub-layers follow one another without residual connections and norms.",
    change="Put each sub-layer into its AddNorm: `x = self.add_norm_...(x, sublayer)`.",
)
class _NoAddNorm(_SublayerSteps):
    def wrap(self, add_norm: nn.Module, x: Tensor, sublayer: _Function) -> Tensor:
        return sublayer(x)


@shared_mistake(
    _LAYERS,
    "AddNorm gets the sub-layer's output, not the sub-layer",
    observed="\"'Tensor' object is not callable\": AddNorm wants to call the sub-layer itself, "
    "and you have called it already.",
    change="Hand over something that can be called: `lambda y: self.self_attention(y, y, ...)` "
    "for an attention, `self.feed_forward` without brackets.",
)
class _CalledTooEarly(_SublayerSteps):
    def wrap(self, add_norm: nn.Module, x: Tensor, sublayer: _Function) -> Tensor:
        return add_norm(x, sublayer(x))


@shared_mistake(
    _LAYERS,
    "AddNorm gets only one argument",
    observed="It stops because `sublayer` is missing: AddNorm needs `x`, to add it, and the "
    "sub-layer, to call it.",
    change="Give it both: `self.add_norm_feed_forward(x, self.feed_forward)`.",
)
class _OneArgument(_SublayerSteps):
    def wrap(self, add_norm: nn.Module, x: Tensor, sublayer: _Function) -> Tensor:
        return add_norm(sublayer(x))


@shared_mistake(
    _LAYERS,
    "the arguments of AddNorm are swapped",
    observed="AddNorm takes `x` for the sub-layer and the sub-layer for `x`.",
    change="First `x`, then the sub-layer.",
)
class _ArgumentsSwapped(_SublayerSteps):
    def wrap(self, add_norm: nn.Module, x: Tensor, sublayer: _Function) -> Tensor:
        return add_norm(sublayer, x)


@shared_mistake(
    _LAYERS,
    "the attention is handed over without its arguments",
    observed="AddNorm calls it with `x` alone, and an attention needs a memory as well.",
    change="Wrap it, so that it takes one argument: `lambda y: self.self_attention(y, y, ...)`.",
)
class _BareAttention(_SublayerSteps):
    def looking_at_itself(self, attention: nn.Module, x: Tensor, mask: Tensor | None) -> _Function:
        return attention


@shared_mistake(
    _LAYERS,
    "query, key and value are given one by one",
    observed="The attention stops because it gets one argument too many: it takes keys and values "
    "both from the memory.",
    change="Give it who asks, what is looked at, and the mask: `(y, y, mask)`.",
)
class _ThreeInputs(_SublayerSteps):
    def ask(
        self, attention: nn.Module, query: Tensor, memory: Tensor, mask: Tensor | None
    ) -> Tensor:
        return attention(query, memory, memory, mask)


@shared_mistake(
    _LAYERS,
    "the attention gets the mask in place of what is looked at",
    observed="Its second argument is the mask, or None where there is none; it should be a "
    "sequence of vectors.",
    change="In self-attention `x` looks at itself, so it is given twice: `(y, y, mask)`.",
)
class _MaskAsMemory(_SublayerSteps):
    def ask(
        self, attention: nn.Module, query: Tensor, memory: Tensor, mask: Tensor | None
    ) -> Tensor:
        return attention(query, mask)


# --- Encoder ---------------------------------------------------------------------------------


@exercise(
    reference=_TrainedEncoder,
    cases=[
        Case((vectors(2, 3, 4),), construct=(2, 4, 2, 8, 0.1, False)),
        Case((vectors(3, 5, 8), _source_mask(5)), construct=(3, 8, 2, 20, 0.1, False)),
        Case((vectors(3, 4, 8), _source_mask(4)), construct=(2, 8, 4, 12, 0.1, True)),
        Case(
            (vectors(3, 5, 8), _source_mask(5)),
            construct=(2, 8, 2, 20, 0.1, False),
            observe=_what_padding_changes,
            looks_at="which positions change when only the padding changes",
        ),
        Case(
            (vectors(2, 3, 4),),
            construct=(2, 4, 2, 8, 1.0, False),
            looks_at=_ALL_DROPPED,
            training=True,
        ),
    ],
    hints=[
        "Each layer needs weights of its own, and PyTorch must know of them: which container "
        "registers a list of modules? In `forward`, each layer reads what the one before "
        "returned.",
        "Build with `nn.ModuleList(model.EncoderLayer(...) for _ in range(layers))`; dropout and "
        "norm_first go on to every layer. If `norm_first`, set `self.norm` too.",
        "`self.norm = model.LayerNorm(d_model) if norm_first else nn.Identity()`; in `forward`, "
        "`for layer in self.layers: x = layer(x, source_mask)`, then `return self.norm(x)`.",
    ],
)
class Encoder(nn.Module):
    """A stack of encoder layers; with norm_first a final norm follows."""

    def __init__(
        self,
        layers: int,
        d_model: int,
        heads: int,
        d_ff: int,
        dropout: float = 0.1,
        norm_first: bool = False,
    ) -> None:
        super().__init__()
        self.layers = nn.ModuleList(
            model.EncoderLayer(d_model, heads, d_ff, dropout, norm_first) for _ in range(layers)
        )
        self.norm = model.LayerNorm(d_model) if norm_first else nn.Identity()

    def forward(self, x: Tensor, source_mask: Tensor | None = None) -> Tensor:
        """Return a tensor of the shape of x, (batch, source, d_model)."""
        for layer in self.layers:
            x = layer(x, source_mask)
        return self.norm(x)


class _EncoderSteps(nn.Module):
    """The stack in steps, so that a mistake replaces one."""

    def __init__(
        self,
        layers: int,
        d_model: int,
        heads: int,
        d_ff: int,
        dropout: float = 0.1,
        norm_first: bool = False,
    ) -> None:
        super().__init__()

        def make() -> nn.Module:
            return self.layer(d_model, heads, d_ff, dropout, norm_first)

        self.layers = self.keep(self.build(make, self.number(layers)))
        self.norm = self.final_norm(d_model, norm_first)

    def layer(
        self, d_model: int, heads: int, d_ff: int, dropout: float, norm_first: bool
    ) -> nn.Module:
        return model.EncoderLayer(d_model, heads, d_ff, dropout, norm_first)

    def number(self, layers: int) -> int:
        return layers

    def build(self, make: Callable[[], nn.Module], layers: int) -> list[nn.Module]:
        return [make() for _ in range(layers)]

    def keep(self, layers: list[nn.Module]) -> nn.ModuleList:
        return nn.ModuleList(layers)

    def final_norm(self, d_model: int, norm_first: bool) -> nn.Module:
        return model.LayerNorm(d_model) if norm_first else nn.Identity()

    def mask_of(self, number: int, mask: Tensor | None) -> Tensor | None:
        return mask

    def climb(self, x: Tensor, mask: Tensor | None) -> Tensor:
        for number, layer in enumerate(self.layers):
            x = layer(x, self.mask_of(number, mask))
        return x

    def finish(self, x: Tensor) -> Tensor:
        return self.norm(x)

    def forward(self, x: Tensor, source_mask: Tensor | None = None) -> Tensor:
        return self.finish(self.climb(x, source_mask))


@Encoder.mistake(
    "every layer is the same layer",
    observed="Your module has the parameters of a single layer, however many it should have: "
    "`[layer] * layers` repeats one object.",
    change="Construct inside the comprehension: `model.EncoderLayer(...) for _ in range(layers)`.",
)
class _OneLayerRepeated(_EncoderSteps):
    def build(self, make: Callable[[], nn.Module], layers: int) -> list[nn.Module]:
        return [make()] * layers


@Encoder.mistake(
    "the layers stand in a Python list",
    observed="Your module has no parameters in `layers`: an optimizer would not train them, "
    "and `.to(device)` and `.eval()` do not reach them.",
    change="Wrap the list: `self.layers = nn.ModuleList(...)`.",
)
class _PythonList(_EncoderSteps):
    def keep(self, layers: list[nn.Module]) -> list[nn.Module]:
        return layers


@Encoder.mistake(
    "one layer too few",
    observed="With layers=2 your module has one layer.",
    change="`range(layers)` counts from 0 and gives `layers` numbers; leave out `- 1` and `1,`.",
)
class _OneTooFew(_EncoderSteps):
    def number(self, layers: int) -> int:
        return layers - 1


@Encoder.mistake(
    "one layer too many",
    observed="With layers=2 your module has three layers.",
    change="`range(layers)` gives `layers` numbers already; leave out `+ 1`.",
)
class _OneTooMany(_EncoderSteps):
    def number(self, layers: int) -> int:
        return layers + 1


@Encoder.mistake(
    "there is only one layer",
    observed="Your module has one layer, whatever `layers` says.",
    change="Construct one for each number of `range(layers)`.",
)
class _SingleLayer(_EncoderSteps):
    def number(self, layers: int) -> int:
        return 1


@Encoder.mistake(
    "dropout is not passed on",
    observed="The layers drop 0.1, their default, whatever `dropout` says.",
    change="Pass it to every layer: `model.EncoderLayer(d_model, heads, d_ff, dropout, ...)`.",
)
class _DropoutNotPassed(_EncoderSteps):
    def layer(
        self, d_model: int, heads: int, d_ff: int, dropout: float, norm_first: bool
    ) -> nn.Module:
        return model.EncoderLayer(d_model, heads, d_ff, norm_first=norm_first)


@Encoder.mistake(
    "norm_first is not passed on",
    observed="The layers stay post-norm with norm_first=True; only the final norm obeys.",
    change="Pass it to every layer: `model.EncoderLayer(..., dropout, norm_first)`.",
)
class _NormFirstNotPassed(_EncoderSteps):
    def layer(
        self, d_model: int, heads: int, d_ff: int, dropout: float, norm_first: bool
    ) -> nn.Module:
        return model.EncoderLayer(d_model, heads, d_ff, dropout)


@Encoder.mistake(
    "neither dropout nor norm_first is passed on",
    observed="The layers drop 0.1 and stay post-norm, which are their defaults.",
    change="Pass both on: `model.EncoderLayer(d_model, heads, d_ff, dropout, norm_first)`.",
)
class _NeitherPassed(_EncoderSteps):
    def layer(
        self, d_model: int, heads: int, d_ff: int, dropout: float, norm_first: bool
    ) -> nn.Module:
        return model.EncoderLayer(d_model, heads, d_ff)


@Encoder.mistake(
    "heads and d_ff are swapped",
    observed="d_ff is used as the number of heads, by which d_model must be divisible.",
    change="Keep the order: `model.EncoderLayer(d_model, heads, d_ff, ...)`.",
)
class _HeadsAndWidthSwapped(_EncoderSteps):
    def layer(
        self, d_model: int, heads: int, d_ff: int, dropout: float, norm_first: bool
    ) -> nn.Module:
        return model.EncoderLayer(d_model, d_ff, heads, dropout, norm_first)


@Encoder.mistake(
    "there is no final norm",
    observed="With norm_first=True the parameters `norm.gain` and `norm.bias` are missing: "
    "the sum of all layers comes out as it is, and it grows with each layer.",
    change="Set `self.norm = model.LayerNorm(d_model)` if `norm_first`, and apply it last.",
)
class _NoFinalNorm(_EncoderSteps):
    def final_norm(self, d_model: int, norm_first: bool) -> nn.Module:
        return nn.Identity()


@Encoder.mistake(
    "there is always a final norm",
    observed="With norm_first=False the last layer has normalised already, and your `norm` "
    "follows it.",
    change="Make it depend: `model.LayerNorm(d_model) if norm_first else nn.Identity()`.",
)
class _AlwaysFinalNorm(_EncoderSteps):
    def final_norm(self, d_model: int, norm_first: bool) -> nn.Module:
        return model.LayerNorm(d_model)


@Encoder.mistake(
    "the final norm is built even where it is not used",
    observed="The values are right, but with norm_first=False the parameters `norm.gain` and "
    "`norm.bias` should not be there: they would never be trained.",
    change="Build it only if `norm_first`: `model.LayerNorm(d_model) if norm_first else "
    "nn.Identity()`.",
)
class _FinalNormIdle(_EncoderSteps):
    def final_norm(self, d_model: int, norm_first: bool) -> nn.Module:
        self.norm_first = norm_first
        return model.LayerNorm(d_model)

    def finish(self, x: Tensor) -> Tensor:
        return self.norm(x) if self.norm_first else x


@Encoder.mistake(
    "the final norm belongs to post-norm",
    observed="With norm_first=False there is a `norm`, with norm_first=True there is none.",
    change="The other way round: `model.LayerNorm(d_model) if norm_first else nn.Identity()`.",
)
class _FinalNormInverted(_EncoderSteps):
    def final_norm(self, d_model: int, norm_first: bool) -> nn.Module:
        return super().final_norm(d_model, not norm_first)


@Encoder.mistake(
    "the final norm is not applied",
    observed="With norm_first=True your module has a `norm`, but its gain and bias have no "
    "influence.",
    change="Return `self.norm(x)` after the loop.",
)
class _FinalNormUnused(_EncoderSteps):
    def finish(self, x: Tensor) -> Tensor:
        return x


@Encoder.mistake(
    "the final norm comes after every layer",
    observed="With norm_first=True the residual stream is normalised between the layers.",
    change="Move it behind the loop: one norm, after the last layer.",
)
class _NormAfterEachLayer(_EncoderSteps):
    def climb(self, x: Tensor, mask: Tensor | None) -> Tensor:
        for number, layer in enumerate(self.layers):
            x = self.norm(layer(x, self.mask_of(number, mask)))
        return x

    def finish(self, x: Tensor) -> Tensor:
        return x


@Encoder.mistake(
    "the final norm comes before the first layer",
    observed="With norm_first=True what comes out of the last layer is not normalised.",
    change="Apply it last: norm_first speaks of the norms inside the layers.",
)
class _NormBeforeLayers(_EncoderSteps):
    def climb(self, x: Tensor, mask: Tensor | None) -> Tensor:
        return super().climb(self.norm(x), mask)

    def finish(self, x: Tensor) -> Tensor:
        return x


@Encoder.mistake(
    "no layer gets the mask",
    observed="The real words change when only the padding changes.",
    change="Pass it on: `layer(x, source_mask)`. `nn.Sequential` cannot, so write a loop.",
)
class _NoMask(_EncoderSteps):
    def mask_of(self, number: int, mask: Tensor | None) -> Tensor | None:
        return None


@Encoder.mistake(
    "only the first layer gets the mask",
    observed="The real words change when only the padding changes: from the second layer on "
    "they look at it.",
    change="Pass it to every layer: `layer(x, source_mask)`.",
)
class _MaskForFirst(_EncoderSteps):
    def mask_of(self, number: int, mask: Tensor | None) -> Tensor | None:
        return mask if number == 0 else None


@Encoder.mistake(
    "every layer reads the first x",
    observed="Only the last layer has an influence on the result.",
    change="Feed each layer what the one before returned: `x = layer(x, source_mask)`.",
)
class _EachReadsFirst(_EncoderSteps):
    def climb(self, x: Tensor, mask: Tensor | None) -> Tensor:
        for number, layer in enumerate(self.layers):
            output = layer(x, self.mask_of(number, mask))
        return output


@Encoder.mistake(
    "the loop ends after the first layer",
    observed="Only the first layer has an influence on the result: `return` stands inside the "
    "loop.",
    change="Indent `return` like `for`, so that it comes after the loop.",
)
class _ReturnsInLoop(_EncoderSteps):
    def climb(self, x: Tensor, mask: Tensor | None) -> Tensor:
        return self.layers[0](x, self.mask_of(0, mask))


@Encoder.mistake(
    "the layers have no effect",
    observed="No layer has an influence on the result: what they return is not used.",
    change="Assign it inside the loop: `x = layer(x, source_mask)`.",
)
class _LayersUnused(_EncoderSteps):
    def climb(self, x: Tensor, mask: Tensor | None) -> Tensor:
        return x


@Encoder.mistake(
    "x is added once more around each layer",
    observed="Your sum holds `x` twice for each layer, because the layer adds it itself.",
    change="Write `x = layer(x, source_mask)` without `x +`.",
)
class _ResidualAroundLayer(_EncoderSteps):
    def climb(self, x: Tensor, mask: Tensor | None) -> Tensor:
        for number, layer in enumerate(self.layers):
            x = x + layer(x, self.mask_of(number, mask))
        return x


@Encoder.mistake(
    "the ModuleList is called like a layer",
    observed="An `nn.ModuleList` keeps modules and has no `forward` of its own.",
    change="Call the layers in a loop: `for layer in self.layers: x = layer(x, source_mask)`.",
)
class _CallsTheList(_EncoderSteps):
    def climb(self, x: Tensor, mask: Tensor | None) -> Tensor:
        return self.layers(x, mask)


@Encoder.mistake(
    "nn.Sequential is called with a mask",
    observed="`nn.Sequential` hands on one argument, so a mask cannot reach the layers.",
    change="Call the layers in a loop: `for layer in self.layers: x = layer(x, source_mask)`.",
)
class _SequentialWithMask(_EncoderSteps):
    def keep(self, layers: list[nn.Module]) -> nn.Sequential:
        return nn.Sequential(*layers)

    def climb(self, x: Tensor, mask: Tensor | None) -> Tensor:
        return self.layers(x, mask)
