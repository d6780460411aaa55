"""A gated feed-forward network with as many weights as the paper's."""

import torch.nn.functional as F
from torch import Tensor, nn

from transformer_course.checker.cases import Case, gradients, in_double_precision, vectors
from transformer_course.checker.exercise import exercise
from transformer_course.model import variants


@exercise(
    reference=variants.SwiGLU,
    cases=[
        Case((vectors(1, 2, 4),), construct=(4, 6)),
        Case((vectors(2, 3, 6),), construct=(6, 12)),
        Case((vectors(2, 2, 3),), construct=(3, 10)),
        Case((vectors(1, 2, 5),), construct=(5, 8)),
        Case(
            (vectors(3, 2, 4),),
            construct=(4, 9),
            observe=in_double_precision,
            looks_at="the same module and numbers in float64",
        ),
        Case(
            (vectors(2, 2, 3),),
            construct=(3, 6),
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
    hints=[
        "Two layers read x: one makes the gate, the other what passes through it. How are two "
        "vectors of one width combined so that one decides how much of the other gets through?",
        "Each layer is `nn.Linear(..., bias=False)`; the hidden width is `2 * d_ff // 3`. "
        "`F.silu` goes over the gate alone, and the two are multiplied number by number.",
        "`return self.contract(F.silu(self.gate(x)) * self.expand(x))`",
    ],
)
class SwiGLU(nn.Module):
    """Let a gate decide how much of each hidden unit gets through, at two thirds of the width."""

    def __init__(self, d_model: int, d_ff: int) -> None:
        super().__init__()
        hidden = 2 * d_ff // 3
        self.gate = nn.Linear(d_model, hidden, bias=False)
        self.expand = nn.Linear(d_model, hidden, bias=False)
        self.contract = nn.Linear(hidden, d_model, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """Gate each position of x, (batch, length, d_model)."""
        return self.contract(F.silu(self.gate(x)) * self.expand(x))


SwiGLU.mistake(
    "the gate has no SiLU",
    edits=[("F.silu(self.gate(x))", "self.gate(x)")],
    observed="Doubling x makes the output four times as large, whatever x is.",
    change="Put the SiLU over the gate: `F.silu(self.gate(x))`.",
)
SwiGLU.mistake(
    "the SiLU is over what passes, not over the gate",
    edits=[("F.silu(self.gate(x)) * self.expand(x)", "self.gate(x) * F.silu(self.expand(x))")],
    observed="Gate and hidden vector have changed places.",
    change="Bend the gate: `F.silu(self.gate(x)) * self.expand(x)`.",
)
SwiGLU.mistake(
    "gate and hidden vector are added",
    edits=[("self.gate(x)) * self", "self.gate(x)) + self")],
    observed="With a gate of 0, something still gets through.",
    change="Multiply them.",
)
SwiGLU.mistake(
    "the gate is a sigmoid: this is GLU",
    edits=[("F.silu(self.gate(x))", "self.gate(x).sigmoid()")],
    observed="The gate lies between 0 and 1, as in the first gated units.",
    change="Swish is x times the sigmoid of x: `F.silu`.",
)
SwiGLU.mistake(
    "the gate is a ReLU: this is ReGLU",
    edits=[("F.silu(self.gate(x))", "self.gate(x).relu()")],
    observed="A negative gate lets nothing through; SiLU lets a little through, with its sign "
    "changed.",
    change="Use `F.silu`.",
)
SwiGLU.mistake(
    "the gate is a GELU: this is GEGLU",
    edits=[("F.silu(self.gate(x))", "F.gelu(self.gate(x))")],
    observed="The gate is close to the right one: T5's second version does this.",
    change="Use `F.silu`.",
)
SwiGLU.mistake(
    "the SiLU is over the product",
    edits=[("F.silu(self.gate(x)) * self.expand(x)", "F.silu(self.gate(x) * self.expand(x))")],
    observed="What passes is bent as well as the gate.",
    change="Bend the gate alone: `F.silu(self.gate(x)) * self.expand(x)`.",
)
SwiGLU.mistake(
    "the gate is not used",
    edits=[("F.silu(self.gate(x)) * self.expand(x)", "F.silu(self.expand(x))")],
    observed="The weights of `gate` have no influence.",
    change="Multiply by `F.silu(self.gate(x))`.",
)
SwiGLU.mistake(
    "what passes is the gate again",
    edits=[("* self.expand(x)", "* self.gate(x)")],
    observed="The weights of `expand` have no influence.",
    change="Multiply the gate by `self.expand(x)`.",
)
SwiGLU.mistake(
    "the hidden width is d_ff",
    edits=[("2 * d_ff // 3", "d_ff")],
    observed="Three matrices of this size have half as many weights again as the paper's two.",
    change="Take two thirds: `2 * d_ff // 3`.",
)
SwiGLU.mistake(
    "the hidden width is half of d_ff",
    edits=[("2 * d_ff // 3", "d_ff // 2")],
    observed="Three matrices of this size have only three quarters of the paper's weights.",
    change="Take two thirds: `2 * d_ff // 3`.",
)
SwiGLU.mistake(
    "the hidden width is two thirds of d_model",
    edits=[("2 * d_ff // 3", "2 * d_model // 3")],
    observed="`d_ff` has no influence.",
    change="Take two thirds of d_ff: `2 * d_ff // 3`.",
)
SwiGLU.mistake(
    "the layers have biases",
    edits=[
        (
            "self.gate = nn.Linear(d_model, hidden, bias=False)",
            "self.gate = nn.Linear(d_model, hidden)",
        ),
        (
            "self.expand = nn.Linear(d_model, hidden, bias=False)",
            "self.expand = nn.Linear(d_model, hidden)",
        ),
        ("hidden, d_model, bias=False", "hidden, d_model"),
    ],
    observed="There are three parameters too many, one for each layer.",
    change="Give `bias=False` to all three.",
)
SwiGLU.mistake(
    "the last layer has a bias",
    edits=[("hidden, d_model, bias=False", "hidden, d_model")],
    observed="There is one parameter too many.",
    change="Give `bias=False` to all three layers.",
)
SwiGLU.mistake(
    "the result is not contracted",
    edits=[
        (
            "self.contract(F.silu(self.gate(x)) * self.expand(x))",
            "F.silu(self.gate(x)) * self.expand(x)",
        )
    ],
    observed="Your output is as wide as the hidden vector.",
    change="Return `self.contract(...)` of the product.",
)
SwiGLU.mistake(
    "x is added to the output",
    edits=[("return self", "return x + self")],
    observed="Your output is the right one plus x.",
    change="Return what the last layer gives; the layer around it adds the two.",
)
SwiGLU.mistake(
    "no gradient reaches the gate",
    edits=[("F.silu(self.gate(x))", "F.silu(self.gate(x)).detach()")],
    observed="The numbers are right, but the gate would never be trained.",
    change="Leave out `torch.no_grad()`, `.detach()` and `.data`.",
)
SwiGLU.mistake(
    "a third of d_ff is rounded before it is doubled",
    edits=[("2 * d_ff // 3", "d_ff // 3 * 2")],
    observed="With d_ff = 8 the hidden width is 4 instead of 5.",
    change="Double first: `2 * d_ff // 3`.",
)
SwiGLU.mistake(
    "the hidden width is rounded to the nearest number",
    edits=[("2 * d_ff // 3", "round(2 * d_ff / 3)")],
    observed="With d_ff = 10 the hidden width is 7 instead of 6.",
    change="Round down: `2 * d_ff // 3`.",
)
SwiGLU.mistake(
    "the hidden width is rounded up",
    edits=[("2 * d_ff // 3", "-(-2 * d_ff // 3)")],
    observed="With d_ff = 8 the hidden width is 6 instead of 5.",
    change="Round down: `2 * d_ff // 3`.",
)
SwiGLU.mistake(
    "there is a dropout on the hidden vector",
    edits=[
        ("self.contract(F.silu", "self.contract(F.dropout(F.silu"),
        ("self.expand(x))", "self.expand(x), 0.1, self.training))"),
    ],
    observed="In eval mode everything is right, but in training mode a tenth of the hidden units "
    "is 0.",
    change="Leave it out: formula (5) has none. The layer around it drops.",
)
SwiGLU.mistake(
    "there is a dropout at the end",
    edits=[
        ("return self.contract", "return F.dropout(self.contract"),
        ("self.expand(x))", "self.expand(x)), 0.1, self.training)"),
    ],
    observed="In eval mode everything is right, but in training mode a tenth of your output is 0.",
    change="Leave it out: formula (5) has none. The layer around it drops.",
)
SwiGLU.mistake(
    "the SiLU is over both",
    edits=[("* self.expand(x)", "* F.silu(self.expand(x))")],
    observed="What passes is bent as well as the gate.",
    change="Bend the gate alone: `F.silu(self.gate(x)) * self.expand(x)`.",
)
SwiGLU.mistake(
    "the first two layers have biases",
    edits=[
        (
            "self.gate = nn.Linear(d_model, hidden, bias=False)",
            "self.gate = nn.Linear(d_model, hidden)",
        ),
        (
            "self.expand = nn.Linear(d_model, hidden, bias=False)",
            "self.expand = nn.Linear(d_model, hidden)",
        ),
    ],
    observed="There are two parameters too many, `gate.bias` and `expand.bias`.",
    change="Give `bias=False` to all three layers.",
)
SwiGLU.mistake(
    "what passes goes through a sigmoid, the gate does not",
    edits=[("F.silu(self.gate(x)) * self.expand(x)", "self.gate(x) * self.expand(x).sigmoid()")],
    observed="Gate and hidden vector have changed places, and the SiLU is a sigmoid: `F.glu` does "
    "this.",
    change="Bend the gate, by SiLU: `F.silu(self.gate(x)) * self.expand(x)`.",
)
SwiGLU.mistake(
    "the hidden width is three halves of d_ff",
    edits=[("2 * d_ff // 3", "3 * d_ff // 2")],
    observed="Three matrices of this size have more than twice the paper's weights.",
    change="Take two thirds: `2 * d_ff // 3`.",
)
SwiGLU.mistake(
    "the hidden width is a third of d_ff",
    edits=[("2 * d_ff // 3", "d_ff // 3")],
    observed="Three matrices of this size have half of the paper's weights.",
    change="Take two thirds: `2 * d_ff // 3`.",
)
SwiGLU.mistake(
    "the hidden width is computed from d_model, as in Llama",
    edits=[("2 * d_ff // 3", "8 * d_model // 3")],
    observed="`d_ff` has no influence: you take two thirds of 4 * d_model.",
    change="Take two thirds of d_ff: `2 * d_ff // 3`.",
)
SwiGLU.mistake(
    "the hidden width is rounded up to a multiple of 256, as in Llama",
    edits=[("2 * d_ff // 3", "256 * -(-(2 * d_ff // 3) // 256)")],
    observed="However small d_ff is, the hidden width is 256.",
    change="Take two thirds and no more: `2 * d_ff // 3`.",
)
SwiGLU.mistake(
    "the SiLU comes after the last layer",
    edits=[
        ("self.contract(F.silu(", "F.silu(self.contract("),
        ("self.gate(x)) * self.expand(x)", "self.gate(x) * self.expand(x))"),
    ],
    observed="No number of your output is below -0.28, the lowest that SiLU returns; and nothing "
    "bends the gate.",
    change="Bend the gate, before the last layer: `F.silu(self.gate(x)) * self.expand(x)`.",
)
SwiGLU.mistake(
    "the gate is a hyperbolic tangent",
    edits=[("F.silu(self.gate(x))", "self.gate(x).tanh()")],
    observed="The gate lies between -1 and 1.",
    change="Use `F.silu`.",
)
SwiGLU.mistake(
    "the gate is a softmax",
    edits=[("F.silu(self.gate(x))", "self.gate(x).softmax(-1)")],
    observed="The gate's numbers sum to 1: one hidden unit gets through at the others' expense.",
    change="Use `F.silu`.",
)
SwiGLU.mistake(
    "the gate has a bias",
    edits=[
        (
            "self.gate = nn.Linear(d_model, hidden, bias=False)",
            "self.gate = nn.Linear(d_model, hidden)",
        )
    ],
    observed="There is one parameter too many, `gate.bias`.",
    change="Give `bias=False` to all three layers.",
)
