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
    """Whether the positions, which hold a, b, a + b and 0, show that it is not an affine map."""
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
        Case(
            (8 * vectors(4, 5, 6),),
            construct=(6, 6),
            looks_at="the result in training mode",
            training=True,
        ),
    ],
    properties=[
        Property(
            "equal vectors get equal outputs, wherever they are", _equal_vectors_equal_outputs
        ),
        Property(
            "it is not an affine map: f(a + b) + f(0) differs from f(a) + f(b)",
            _bends,
        ),
    ],
    hints=[
        "Two linear layers. How wide is what goes into each of them, and what comes out?",
        "`nn.Linear(d_model, d_ff)` expands and `nn.Linear(d_ff, d_model)` contracts. The ReLU "
        "goes between them, and nothing else happens.",
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
    change="Put the ReLU between the two, and use what it returns: "
    "`self.contract(self.expand(x).relu())`.",
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
    "the names of the two layers have changed places",
    edits=[
        ("Linear(d_model, d_ff)", "Linear(d_ff, d_model)"),
        ("Linear(d_ff, d_model)", "Linear(d_model, d_ff)"),
        (
            "return self.contract(",
            'self = type("", (), {"expand": self.contract, "contract": self.expand})\n'
            "        return self.contract(",
        ),
    ],
    observed="The layer named `contract` leads from d_model to d_ff, and the one named `expand` "
    "back.",
    change="Call the first one `expand`, as it makes vectors wider, and the second one `contract`.",
)
FeedForward.mistake(
    "it contracts first",
    edits=[("self.contract(self", "self.expand(self"), ("self.expand(x)", "self.contract(x)")],
    observed="`contract` wants d_ff features and gets x, which has d_model.",
    change="Expand first: `self.contract(self.expand(x).relu())`.",
)
FeedForward.mistake(
    "the weights are used with their axes the wrong way round",
    edits=[
        ("self.contract(self.expand(x)", "(x @ self.expand.weight + self.expand.bias)"),
        (".relu())", ".relu() @ self.contract.weight + self.contract.bias"),
    ],
    observed="`expand.weight` has shape (d_ff, d_model): nn.Linear stores its matrix transposed.",
    change="Call the layers, `self.expand(x)`, or compute `x @ self.expand.weight.T`; `F.linear` "
    "transposes by itself.",
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
    "the first layer has no bias",
    edits=[("(d_model, d_ff)", "(d_model, d_ff, bias=False)")],
    observed="Your module has no parameter `expand.bias`.",
    change="Leave out `bias=False`.",
)
FeedForward.mistake(
    "the second layer has no bias",
    edits=[("(d_ff, d_model)", "(d_ff, d_model, bias=False)")],
    observed="Your module has no parameter `contract.bias`.",
    change="Leave out `bias=False`.",
)
FeedForward.mistake(
    "the second layer has the sizes of the first",
    edits=[("Linear(d_ff, d_model)", "Linear(d_model, d_ff)")],
    observed="`contract.weight` has shape (d_ff, d_model) and should have (d_model, d_ff).",
    change="The second layer leads back: `nn.Linear(d_ff, d_model)`.",
)
FeedForward.mistake(
    "there is a dropout between the layers",
    edits=[
        (
            "(self.expand(x).relu()",
            "(nn.functional.dropout(self.expand(x).relu(), 0.1, self.training)",
        )
    ],
    observed="In eval mode everything is right, but in training mode a tenth of the hidden units "
    "is 0.",
    change="Leave it out: formula (1) has none. The layer around it, in lesson 5, drops.",
)
FeedForward.mistake(
    "there is a dropout at the end",
    edits=[
        (
            "nn.Linear(d_ff, d_model)",
            "nn.Linear(d_ff, d_model)\n        self.contract.register_forward_hook("
            "lambda layer, _, y: nn.functional.dropout(y, 0.1, layer.training))",
        )
    ],
    observed="In eval mode everything is right, but in training mode a tenth of your output is 0.",
    change="Leave it out: formula (1) has none. The layer around it, in lesson 5, drops.",
)
FeedForward.mistake(
    "the width in between is always 4 * d_model",
    edits=[("super().__init__()", "super().__init__()\n        d_ff = 4 * d_model")],
    observed="The argument `d_ff` has no influence on the shapes of your weights.",
    change="Use `d_ff`; four times d_model is what the paper chose for it.",
)
FeedForward.mistake(
    "the width in between is always 2048, as in the paper",
    edits=[("super().__init__()", "super().__init__()\n        d_ff = 2048")],
    observed="The argument `d_ff` has no influence on the shapes of your weights.",
    change="Use `d_ff`: `nn.Linear(d_model, d_ff)` and `nn.Linear(d_ff, d_model)`.",
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
    change="Use `.relu()` here; GELU is what many later models use.",
)
FeedForward.mistake(
    "the activation is a sigmoid instead of ReLU",
    edits=[("relu()", "sigmoid()")],
    observed="The hidden numbers lie between 0 and 1: large numbers are cut off.",
    change="Use `.relu()`.",
)
FeedForward.mistake(
    "the ReLU keeps the negative numbers",
    edits=[("relu()", "clamp(max=0)")],
    observed="The positive numbers in between became 0; the negative ones should.",
    change="ReLU is the larger of a number and 0: `.relu()` or `.clamp(min=0)`.",
)
FeedForward.mistake(
    "the activation is a leaky ReLU",
    edits=[("(self.expand(x).relu()", "(nn.functional.leaky_relu(self.expand(x))")],
    observed="A hundredth of each negative number gets through.",
    change="Use `.relu()`: negative numbers become 0.",
)
FeedForward.mistake(
    "the activation is ReLU6",
    edits=[("relu()", "clamp(0, 6)")],
    observed="The hidden numbers are never larger than 6.",
    change="Use `.relu()`, which leaves large numbers alone.",
)
FeedForward.mistake(
    "the activation is SiLU instead of ReLU",
    edits=[("(self.expand(x).relu()", "(nn.functional.silu(self.expand(x))")],
    observed="Small negative numbers in between are not set to 0.",
    change="Use `.relu()` here; SiLU is what many later models use.",
)
FeedForward.mistake(
    "the activation is tanh instead of ReLU",
    edits=[("relu()", "tanh()")],
    observed="The hidden numbers lie between -1 and 1: large numbers are cut off.",
    change="Use `.relu()`.",
)
FeedForward.mistake(
    "there is a softmax in place of the ReLU",
    edits=[("relu()", "softmax(dim=-1)")],
    observed="The hidden numbers of each position sum to 1, so they compete with each other.",
    change="Use `.relu()`: each hidden unit stands for itself.",
)
FeedForward.mistake(
    "the first bias is added after the ReLU",
    edits=[("self.expand(x).relu()", "(x @ self.expand.weight.T).relu() + self.expand.bias")],
    observed="Where x is 0, `contract` gets the first bias with its negative numbers.",
    change="Add it before the bend, as `self.expand(x)` does: max(0, x W1 + b1).",
)
FeedForward.mistake(
    "a maximum over the sentences is taken",
    edits=[("relu()", "amax(dim=0)")],
    observed="`contract` gets one hidden vector for each position, whatever the number of "
    "sentences.",
    change="max(0, h) is the larger of 0 and each number: `h.relu()` or `h.clamp(min=0)`.",
)
FeedForward.mistake(
    "no gradient reaches the first layer",
    edits=[(".relu())", ".relu().detach())")],
    observed="The numbers are right, but the gradients of `expand` and of x are 0: the first "
    "layer would not learn.",
    change="Leave out `.detach()`, `.data`, `.numpy()` and `torch.no_grad()`.",
)
FeedForward.mistake(
    "residual connection and norm are part of it",
    edits=[
        (
            "super().__init__()",
            "super().__init__()\n        self.layer_norm = nn.LayerNorm(d_model)",
        ),
        ("return self.contract(", "return self.layer_norm(x + self.contract("),
        (".relu())", ".relu()))"),
    ],
    observed="x is added, the sum is normalised, and `layer_norm.weight` and `layer_norm.bias` are "
    "two parameters too many.",
    change="Return what the second layer gives; lesson 5 puts both around it.",
)
FeedForward.mistake(
    "the layers are convolutions",
    edits=[
        ("nn.Linear(d_model, d_ff)", "nn.Conv1d(d_model, d_ff, 1)"),
        ("nn.Linear(d_ff, d_model)", "nn.Conv1d(d_ff, d_model, 1)"),
        ("self.expand(x)", "self.expand(x.transpose(1, 2))"),
        (".relu())", ".relu()).transpose(1, 2)"),
    ],
    observed="With a kernel of size 1 they compute the same, but `expand.weight` has a third axis "
    "of length 1.",
    change="Use `nn.Linear`, which needs no transposing.",
)
FeedForward.mistake(
    "a convolution looks at the neighbours",
    edits=[
        ("nn.Linear(d_model, d_ff)", "nn.Conv1d(d_model, d_ff, 3, padding=1)"),
        ("nn.Linear(d_ff, d_model)", "nn.Conv1d(d_ff, d_model, 1)"),
        ("self.expand(x)", "self.expand(x.transpose(1, 2))"),
        (".relu())", ".relu()).transpose(1, 2)"),
    ],
    observed="`expand.weight` has a third axis of length 3: each position sees the one before it "
    "and the one after it.",
    change="Use `nn.Linear`, which works on each position alone.",
)
FeedForward.shares(
    softmax, "no gradient passes", edits=[("expand(x).relu())", "expand(x).relu()).detach()")]
)
FeedForward.mistake(
    "the ReLU is squared",
    edits=[("relu()", "relu().square()")],
    observed="The hidden numbers grow with the square of x: twice as large an x gives four times "
    "as much, apart from biases.",
    change="Use `.relu()` as it is.",
)
FeedForward.mistake(
    "the absolute value is taken instead of ReLU",
    edits=[("relu()", "abs()")],
    observed="Negative numbers in between become positive; they should become 0.",
    change="Use `.relu()`: negative numbers become 0.",
)
FeedForward.mistake(
    "the activation is ELU instead of ReLU",
    edits=[("(self.expand(x).relu()", "(nn.functional.elu(self.expand(x))")],
    observed="Negative numbers in between become numbers down to -1; they should become 0.",
    change="Use `.relu()`.",
)
FeedForward.mistake(
    "the activation is softplus instead of ReLU",
    edits=[("(self.expand(x).relu()", "(nn.functional.softplus(self.expand(x))")],
    observed="Every hidden number is above 0; negative ones should become 0.",
    change="Use `.relu()`.",
)
FeedForward.mistake(
    "each vector of x is normalised first",
    edits=[("self.expand(x)", "self.expand(nn.functional.layer_norm(x, x.shape[-1:]))")],
    observed="Vectors that differ only in length get the same output.",
    change="Expand x as it is; lesson 5 puts a norm around this network.",
)
FeedForward.mistake(
    "the second layer is not its own: the first one's weights are used transposed",
    edits=[
        ("return self.contract(", "return ("),
        (".relu())", ".relu()) @ self.expand.weight + self.contract.bias"),
    ],
    observed="`contract.weight` has no influence.",
    change="Return `self.contract(...)` of what the ReLU leaves.",
)
FeedForward.mistake(
    "numbers above 1 are cut off too",
    edits=[("(x).relu()", "(x).clamp(0, 1)")],
    observed="A hidden number of 1.5 becomes 1; ReLU leaves it as it is.",
    change="ReLU has no upper limit: `relu()`, or `clamp(min=0)`.",
)
