"""The router of a mixture of experts: who works on which token, and how much each has to do."""

from collections.abc import Callable

import torch
from torch import Tensor

from transformer_course.checker.cases import Case, vectors
from transformer_course.checker.exercise import exercise
from transformer_course.model import variants


def _named(code: Callable, logits: Tensor, active: int) -> dict:
    weights, load = code(logits, active)
    return {"weights": weights, "load": load}


def _gradients(code: Callable, logits: Tensor, active: int) -> Tensor:
    logits = logits.clone().requires_grad_()
    weights, _ = code(logits, active)
    total = (weights * torch.arange(1.0, weights.numel() + 1).view_as(weights)).sum()
    if not total.requires_grad:
        return torch.zeros_like(logits)
    return torch.autograd.grad(total, logits)[0]


@exercise(
    reference=variants.route,
    cases=[
        Case((torch.tensor([[2.0, 1.0, 0.0]]), 2), observe=_named),
        Case((2 * vectors(4, 3), 2), observe=_named),
        Case((2 * vectors(7, 5, seed=1), 3), observe=_named),
        Case((vectors(5, 4, seed=2), 1), observe=_named),
        Case(
            (vectors(4, 5, seed=3), 2),
            observe=_gradients,
            looks_at="the gradient of the router's scores",
        ),
    ],
    hints=[
        "First find out which experts have the highest scores; then weigh those against one "
        "another; then put the weights where they belong in a table of zeros.",
        "`logits.topk(active, dim=-1)` gives the highest scores and their experts. "
        "`torch.zeros_like(logits).scatter(-1, chosen, ...)` puts numbers at the chosen places.",
        "`weights = torch.zeros_like(logits).scatter(-1, chosen, best.softmax(dim=-1))`; the load "
        "is `(weights > 0).float().mean(dim=0) / active`.",
    ],
)
def route(logits: Tensor, active: int) -> tuple:
    """Return each token's weights, [tokens, experts], and each expert's load, [experts]."""
    best, chosen = logits.topk(active, dim=-1)
    weights = torch.zeros_like(logits).scatter(-1, chosen, best.softmax(dim=-1))
    load = (weights > 0).float().mean(dim=0) / active
    return weights, load


def _only_above_the_last(logits: Tensor, active: int) -> tuple:
    lowest = logits.topk(active, dim=-1).values[:, -1:]
    weights = logits.masked_fill(logits <= lowest, -1e9).softmax(dim=-1)
    chosen = (weights > 0).float()
    return weights, chosen.sum(dim=0) / chosen.sum()
