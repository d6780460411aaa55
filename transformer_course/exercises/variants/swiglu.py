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
