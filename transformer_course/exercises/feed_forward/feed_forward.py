"""The feed-forward network, which acts on each position alone."""

import torch
from torch import Tensor, nn

from transformer_course import model
from transformer_course.checker.cases import (
    Case,
    Property,
    gradients,
    in_double_precision,
    vectors,
)
from transformer_course.checker.exercise import exercise
from transformer_course.exercises.start_here.softmax import softmax


def _equal_vectors_equal_outputs(value: Tensor, case: Case) -> bool:
    (x,) = case.inputs
    same = (x.flatten(0, 1)[:, None] == x.flatten(0, 1)).all(dim=-1)
    outputs = value.flatten(0, 1)
    return torch.allclose((outputs[:, None] - outputs)[same], torch.tensor(0.0), atol=1e-5)


def _bends(value: Tensor, case: Case) -> bool:
    """Whether the positions, which hold a, b, a + b and 0, show that it is no affine map."""
    a, b, both, nothing = value.unbind(1)[:4]
    return not torch.allclose(both + nothing, a + b, atol=1e-4)


def _two_and_their_sum(a: Tensor, b: Tensor) -> Tensor:
    """Return sentences of the positions a, b, a + b, 0, a."""
    return torch.stack([a, b, a + b, torch.zeros_like(a), a], dim=1)


@exercise(
    reference=model.FeedForward,
    cases=[
        Case((_two_and_their_sum(*vectors(2, 1, 2)),), construct=(2, 8)),
        Case((_two_and_their_sum(*vectors(2, 3, 6)),), construct=(6, 10)),
        Case((_two_and_their_sum(*vectors(2, 2, 8)),), construct=(8, 5)),
        Case(
            (vectors(3, 2, 4),),
            construct=(4, 6),
            observe=in_double_precision,
            looks_at="the same module and numbers in float64",
        ),
        Case(
            (vectors(2, 2, 3),),
            construct=(3, 4),
            observe=gradients,
            looks_at="the gradients of `x` and of all parameters",
        ),
    ],
    properties=[
        Property(
            "equal vectors get equal outputs, wherever they stand", _equal_vectors_equal_outputs
        ),
        Property(
            "it is no affine map: f(a + b) + f(0) differs from f(a) + f(b)",
            _bends,
        ),
    ],
    hints=[
        "Two linear layers. How wide is what goes into each of them, and what comes out?",
        "`nn.Linear(d_model, d_ff)` expands and `nn.Linear(d_ff, d_model)` contracts. The ReLU "
        "stands between them, and nothing else happens.",
        "`return self.contract(self.expand(x).relu())`",
    ],
)
class FeedForward(nn.Module):
    """Expand each vector to d_ff features, apply ReLU, contract it again."""

    def __init__(self, d_model: int, d_ff: int) -> None:
        super().__init__()
        self.expand = nn.Linear(d_model, d_ff)
        self.contract = nn.Linear(d_ff, d_model)

    def forward(self, x: Tensor) -> Tensor:
        """Apply the same two layers to each position of x, (batch, length, d_model)."""
        return self.contract(self.expand(x).relu())


FeedForward.mistake(
    "there is no ReLU",
    edits=[("(x).relu()", "(x)")],
    observed="f(a + b) + f(0) = f(a) + f(b): two linear layers in a row are one linear layer.",
    change="Put the ReLU between the two: `self.contract(self.expand(x).relu())`.",
)
FeedForward.mistake(
    "the ReLU comes last instead of between the layers",
    edits=[("(x).relu()", "(x)"), (".relu())", ".relu()).relu()")],
    observed="No number of your output is negative, and the two layers in a row are one linear "
    "layer.",
    change="Put the ReLU between the two: `self.contract(self.expand(x).relu())`.",
)
FeedForward.mistake(
    "there is a second ReLU at the end",
    edits=[(".relu())", ".relu()).relu()")],
    observed="No number of your output is negative.",
    change="Leave the output as the second layer gives it.",
)
FeedForward.mistake(
    "the ReLU comes first",
    edits=[("(x).relu()", "(x.relu())")],
    observed="Negative numbers of x have no influence.",
    change="Expand first: `self.expand(x).relu()`.",
)
FeedForward.mistake(
    "x is added to the output",
    edits=[("return self", "return x + self")],
    observed="Your output is the right one plus x.",
    change="Return what the second layer gives; the layer around it, in lesson 5, adds the two.",
)
FeedForward.mistake(
    "the second layer is not applied",
    edits=[("self.contract(self.expand(x)", "self.expand(x)"), ("relu())", "relu()")],
    observed="Your output is d_ff wide, and no number in it is negative.",
    change="Return `self.contract(...)` of what the ReLU leaves.",
)
FeedForward.mistake(
    "the sizes of the two layers are swapped",
    edits=[
        ("Linear(d_model, d_ff)", "Linear(d_ff, d_model)"),
        ("Linear(d_ff, d_model)", "Linear(d_model, d_ff)"),
    ],
    observed="`expand.weight` belongs to a layer that makes d_model features from d_ff, and x "
    "does not fit into it.",
    change="`nn.Linear` takes the width that goes in, then the one that comes out: "
    "`nn.Linear(d_model, d_ff)` expands.",
)
FeedForward.mistake(
    "it contracts first",
    edits=[("self.contract(self", "self.expand(self"), ("self.expand(x)", "self.contract(x)")],
    observed="`contract` wants d_ff features and gets x, which has d_model.",
    change="Expand first: `self.contract(self.expand(x).relu())`.",
)
FeedForward.mistake(
    "the layers have no biases",
    edits=[
        ("(d_model, d_ff)", "(d_model, d_ff, bias=False)"),
        ("(d_ff, d_model)", "(d_ff, d_model, bias=False)"),
    ],
    observed="Your module has no parameter `expand.bias` and no `contract.bias`, so a vector of "
    "zeros always gives zeros.",
    change="Leave out `bias=False`.",
)
FeedForward.mistake(
    "the width in between is always 4 * d_model",
    edits=[("super().__init__()", "super().__init__()\n        d_ff = 4 * d_model")],
    observed="The argument `d_ff` has no influence on the shapes of your weights.",
    change="Use `d_ff`; four times d_model is what the paper chose for it.",
)
FeedForward.mistake(
    "nothing is expanded: the width in between is d_model",
    edits=[("super().__init__()", "super().__init__()\n        d_ff = d_model")],
    observed="Both of your weights have shape (d_model, d_model).",
    change="Use `d_ff`: `nn.Linear(d_model, d_ff)` and `nn.Linear(d_ff, d_model)`.",
)
FeedForward.mistake(
    "the activation is GELU instead of ReLU",
    edits=[("(self.expand(x).relu()", "(nn.functional.gelu(self.expand(x))")],
    observed="Small negative numbers in between are not set to 0.",
    change="Use `.relu()` here; GELU is what many later models took.",
)
FeedForward.mistake(
    "the activation is a sigmoid instead of ReLU",
    edits=[("relu()", "sigmoid()")],
    observed="What stands in between lies between 0 and 1: large numbers are cut off.",
    change="Use `.relu()`.",
)
FeedForward.mistake(
    "the ReLU keeps the negative numbers",
    edits=[("relu()", "clamp(max=0)")],
    observed="The positive numbers in between became 0; the negative ones should.",
    change="ReLU is the larger one of a number and 0: `.relu()` or `.clamp(min=0)`.",
)
FeedForward.shares(
    softmax, "no gradient passes", edits=[("expand(x).relu())", "expand(x).relu()).detach()")]
)
