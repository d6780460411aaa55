"""A residual connection with layer norm, in both orders."""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from transformer_course import model
from transformer_course.checker.cases import Case, Property, gradients, vectors
from transformer_course.checker.exercise import exercise
from transformer_course.exercises.layers.inputs import gain_and_bias
from transformer_course.exercises.start_here.softmax import softmax


class Zeros(nn.Module):
    """A sub-layer that has nothing to say."""

    def forward(self, x: Tensor) -> Tensor:
        """Return zeros, as many as in x."""
        return torch.zeros_like(x)


def _norm(d_model: int) -> nn.Module:
    norm = model.LayerNorm(d_model)
    with torch.no_grad():
        for parameter, value in zip(norm.parameters(), gain_and_bias(d_model), strict=True):
            parameter.copy_(value)
    return norm


def _post_norm_ends_normalised(value: Tensor, case: Case) -> bool:
    _, _, norm, norm_first = case.inputs
    mean = ((value - norm.bias) / norm.gain).mean(dim=-1)
    return norm_first or torch.allclose(mean, torch.zeros_like(mean), atol=1e-4)


def _pre_norm_keeps_x(value: Tensor, case: Case) -> bool:
    x, sublayer, _, norm_first = case.inputs
    return not (norm_first and isinstance(sublayer, Zeros)) or torch.allclose(value, x)


def _by_the_model(x: Tensor, sublayer: nn.Module, norm: nn.Module, norm_first: bool) -> Tensor:
    add_norm = model.AddNorm(x.shape[-1], 0.0, norm_first)
    add_norm.norm = norm
    return add_norm(x, sublayer)


@exercise(
    reference=_by_the_model,
    cases=[
        Case((vectors(2, 3, 4), nn.Tanh(), _norm(4), False)),
        Case((vectors(2, 3, 4), nn.Tanh(), _norm(4), True)),
        Case((vectors(3, 2, 5).double(), nn.Softmax(dim=1), _norm(5).double(), False)),
        Case((vectors(3, 2, 5).double(), nn.Softmax(dim=1), _norm(5).double(), True)),
        Case((vectors(1, 2, 3), Zeros(), _norm(3), True)),
        Case(
            (vectors(2, 2, 3), nn.Tanh(), _norm(3), False),
            observe=gradients,
            looks_at="the gradient of `x`",
        ),
        Case(
            (vectors(2, 2, 3), nn.Tanh(), _norm(3), True),
            observe=gradients,
            looks_at="the gradient of `x`",
        ),
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
def add_norm(x: Tensor, sublayer: Callable, norm: Callable, norm_first: bool) -> Tensor:
    """Add what the sub-layer returns to x; normalise its input (norm_first) or the sum."""
    if norm_first:
        return x + sublayer(norm(x))
    return norm(x + sublayer(x))


add_norm.mistake(
    "the two orders are swapped",
    edits=[("if norm_first", "if not norm_first")],
    observed="With norm_first=True you normalise the sum, with norm_first=False what the "
    "sub-layer reads.",
    change="Return `x + sublayer(norm(x))` if `norm_first`, else `norm(x + sublayer(x))`.",
)
add_norm.mistake(
    "the residual connection is missing",
    edits=[
        ("x + sublayer(norm(x))", "sublayer(norm(x))"),
        ("norm(x + sublayer(x))", "norm(sublayer(x))"),
    ],
    observed="`x` reaches the result only through the sub-layer: where that returns zeros, "
    "nothing of `x` is left.",
    change="Add `x` to what the sub-layer returns.",
)
add_norm.mistake(
    "pre-norm: the normalised x is added, not x",
    edits=[("x + sublayer(norm(x))", "norm(x) + sublayer(norm(x))")],
    observed="With norm_first=True and a sub-layer that returns zeros, `norm(x)` comes out: "
    "the residual stream is normalised at every step.",
    change="Normalise only what the sub-layer reads: `x + sublayer(norm(x))`.",
)
add_norm.mistake(
    "pre-norm: the sub-layer's output is normalised, not its input",
    edits=[("sublayer(norm(x))", "norm(sublayer(x))")],
    observed="With norm_first=True the sub-layer reads `x` as it is, and `norm` acts on what it "
    "returns.",
    change="Call `norm` first and the sub-layer on its result: `sublayer(norm(x))`.",
)
add_norm.mistake(
    "pre-norm: the residual connection is missing",
    edits=[("x + sublayer(norm(x))", "sublayer(norm(x))")],
    observed="norm_first=False is right; norm_first=True gives `sublayer(norm(x))` without `x`.",
    change="Add `x`: `x + sublayer(norm(x))`.",
)
add_norm.mistake(
    "post-norm: the residual connection is missing",
    edits=[("norm(x + sublayer(x))", "norm(sublayer(x))")],
    observed="norm_first=True is right; norm_first=False gives `norm(sublayer(x))` without `x`.",
    change="Add `x` before the norm: `norm(x + sublayer(x))`.",
)
add_norm.mistake(
    "post-norm: only the sub-layer's output is normalised",
    edits=[("return norm(x", "return (x"), ("sublayer(x))", "norm(sublayer(x)))")],
    observed="With norm_first=False you return `x + norm(sublayer(x))`, which is not normalised.",
    change="Add first, then normalise the sum: `norm(x + sublayer(x))`.",
)
add_norm.mistake(
    "post-norm: only x is normalised",
    edits=[("return norm(x +", "return (norm(x) +")],
    observed="With norm_first=False you return `norm(x) + sublayer(x)`: the sum is not "
    "normalised. Is a bracket closed too early?",
    change="Normalise the whole sum: `norm(x + sublayer(x))`.",
)
add_norm.mistake(
    "pre-norm: the sum is normalised as well",
    edits=[
        ("return x + sublayer(norm", "total = x + sublayer(norm"),
        ("sublayer(norm(x))", "sublayer(norm(x))\n        return norm(total)"),
    ],
    observed="With norm_first=True a sub-layer that returns zeros changes `x`.",
    change="Leave the sum as it is: `x + sublayer(norm(x))`.",
)
add_norm.mistake(
    "a new layer norm is made",
    edits=[('or the sum."""', 'or the sum."""\n    norm = nn.LayerNorm(x.shape[-1])')],
    observed="Your result does not depend on the argument `norm`, which has a gain and a bias; a "
    "new `nn.LayerNorm` has learned nothing, and holds float32 whatever `x` is.",
    change="Call `norm`, which is given, instead of `nn.LayerNorm(...)`.",
)
add_norm.mistake(
    "always post-norm",
    edits=[("if norm_first", "if False")],
    observed="norm_first=True changes nothing: you normalise the sum, so even a sub-layer that "
    "returns zeros changes `x`.",
    change="With `norm_first`, return `x + sublayer(norm(x))`.",
)
add_norm.mistake(
    "always pre-norm",
    edits=[("if norm_first", "if True")],
    observed="norm_first=False changes nothing: the sum is never normalised.",
    change="Without `norm_first`, return `norm(x + sublayer(x))`.",
)
add_norm.mistake(
    "x is added twice",
    edits=[
        ("x + sublayer(norm(x))", "x * 2 + sublayer(norm(x))"),
        ("norm(x + sublayer(x))", "norm(x * 2 + sublayer(x))"),
    ],
    observed="The sum holds `2 * x`: a sub-layer that returns zeros doubles `x` when "
    "norm_first=True.",
    change="Add `x` once: `x + sublayer(...)`.",
)
add_norm.mistake(
    "x is multiplied instead of added",
    edits=[
        ("x + sublayer(norm(x))", "x * sublayer(norm(x))"),
        ("norm(x + sublayer(x))", "norm(x * sublayer(x))"),
    ],
    observed="Where the sub-layer returns zeros, nothing of `x` is left.",
    change="Add: `x + sublayer(...)`.",
)
add_norm.mistake(
    "nothing is normalised",
    edits=[
        ("sublayer(norm(x))", "sublayer((x))"),
        ("return norm(x + sublayer(x))", "return (x + sublayer(x))"),
    ],
    observed="Both orders give `x + sublayer(x)`.",
    change="Call `norm`: on `x` before the sub-layer if `norm_first`, else on the sum.",
)
add_norm.mistake(
    "only the sub-layer is left",
    edits=[("x + sublayer(norm(x))", "sublayer(x)"), ("norm(x + sublayer(x))", "sublayer(x)")],
    observed="Both orders give `sublayer(x)`, without sum and without norm.",
    change="Return `x + sublayer(norm(x))` if `norm_first`, else `norm(x + sublayer(x))`.",
)
add_norm.mistake(
    "x is overwritten before it is added",
    edits=[
        ("x + sublayer(norm(x))", "2 * sublayer(norm(x))"),
        ("norm(x + sublayer(x))", "norm(2 * sublayer(x))"),
    ],
    observed="In both orders the sum holds the sub-layer's output twice and `x` not at all.",
    change="Give the sub-layer's output another name than `x`.",
)
add_norm.mistake(
    "normalised before and after",
    edits=[
        ("return x + sublayer(norm", "total = x + sublayer(norm"),
        ("sublayer(norm(x))", "sublayer(norm(x))\n        return norm(total)"),
        ("sublayer(x))", "sublayer(norm(x)))"),
    ],
    observed="In both orders the sub-layer reads `norm(x)` and the sum is normalised as well.",
    change="Use `norm` once: before the sub-layer if `norm_first`, else on the sum.",
)
add_norm.mistake(
    "in both orders only the sub-layer's output is normalised",
    edits=[
        ("sublayer(norm(x))", "norm(sublayer(x))"),
        ("return norm(x", "return (x"),
        ("sublayer(x))", "norm(sublayer(x)))"),
    ],
    observed="You return `x + norm(sublayer(x))`, whatever norm_first says.",
    change="Return `x + sublayer(norm(x))` if `norm_first`, else `norm(x + sublayer(x))`.",
)
add_norm.mistake(
    "post-norm: the sub-layer reads the normalised x",
    edits=[("sublayer(x))", "sublayer(norm(x)))")],
    observed="With norm_first=False the sum is normalised, but what went into the sub-layer was "
    "normalised too.",
    change="Give the sub-layer `x` itself: `norm(x + sublayer(x))`.",
)
add_norm.mistake(
    "pre-norm: nothing is normalised",
    edits=[("x + sublayer(norm(x))", "x + sublayer(x)")],
    observed="norm_first=False is right; norm_first=True gives `x + sublayer(x)`.",
    change="Let the sub-layer read the normalised `x`: `x + sublayer(norm(x))`.",
)
add_norm.mistake(
    "post-norm: nothing is normalised",
    edits=[("return norm(x + sublayer(x))", "return x + sublayer(x)")],
    observed="norm_first=True is right; norm_first=False gives `x + sublayer(x)`.",
    change="Normalise the sum: `norm(x + sublayer(x))`.",
)
add_norm.mistake(
    "post-norm: both terms are normalised, not their sum",
    edits=[("norm(x + sublayer(x))", "norm(x) + norm(sublayer(x))")],
    observed="With norm_first=False you add `norm(x)` and `norm(sublayer(x))`; the sum is not "
    "normalised.",
    change="Add first, then normalise once: `norm(x + sublayer(x))`.",
)
add_norm.mistake(
    "a norm other than the given one is used",
    edits=[
        (
            'or the sum."""',
            'or the sum."""\n    norm = lambda x: nn.functional.layer_norm(x, x.shape[-1:])',
        )
    ],
    observed="Your result does not depend on the argument `norm`, which has a gain and a bias.",
    change="Call `norm`, which is given, instead of torch's layer norm.",
)
add_norm.mistake(
    "sublayer and norm are swapped",
    edits=[("sublayer: Callable, norm: Callable", "norm: Callable, sublayer: Callable")],
    observed="What is given as the sub-layer is used as the norm, and the norm as the sub-layer.",
    change="Keep the order of the arguments: `def add_norm(x, sublayer, norm, norm_first)`.",
)
add_norm.mistake(
    "no gradient passes along the residual connection",
    edits=[
        ("x + sublayer(norm(x))", "x.detach() + sublayer(norm(x))"),
        ("norm(x + sublayer(x))", "norm(x.detach() + sublayer(x))"),
    ],
    observed="The numbers are right, but `x` gets its gradient through the sub-layer only.",
    change="Add `x` itself, without `.detach()` or `.data`.",
)
add_norm.mistake(
    "no gradient passes through the sub-layer",
    edits=[
        ("x + sublayer(norm(x))", "x + sublayer(norm(x)).detach()"),
        ("norm(x + sublayer(x))", "norm(x + sublayer(x).detach())"),
    ],
    observed="The numbers are right, but the sub-layer would not learn.",
    change="Leave out `.detach()`, `.data` and `torch.no_grad()`.",
)
add_norm.shares(
    softmax,
    "no gradient passes",
    edits=[
        ("return x + sublayer(norm(x))", "return (x + sublayer(norm(x))).detach()"),
        ("return norm(x + sublayer(x))", "return norm(x + sublayer(x)).detach()"),
    ],
)
add_norm.mistake(
    "pre-norm: the post-norm step follows",
    edits=[("return x + sublayer(norm", "x = x + sublayer(norm")],
    observed="norm_first=False is right; with norm_first=True the sub-layer runs twice, and the "
    "sum is normalised: after the pre-norm step the post-norm step is done as well.",
    change="Return `x + sublayer(norm(x))` at once, or put the other step under `else`.",
)
add_norm.mistake(
    "post-norm: x is added once more after the norm",
    edits=[("norm(x + sublayer(x))", "norm(sublayer(x) + x) + x")],
    observed="With norm_first=False you return `x + norm(x + sublayer(x))`, which is not "
    "normalised.",
    change="Leave the second `x +` out: `norm(x + sublayer(x))`.",
)
add_norm.mistake(
    "what the sub-layer returns is subtracted",
    edits=[
        ("x + sublayer(norm(x))", "x - sublayer(norm(x))"),
        ("norm(x + sublayer(x))", "norm(x - sublayer(x))"),
    ],
    observed="Where the sub-layer returns 1, the sum is 1 below `x`; it should be 1 above.",
    change="Add: `x + sublayer(...)`.",
)
