"""The gated delta rule: a state that corrects what it has written."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

from transformer_course.checker.cases import Case, gradients, vectors
from transformer_course.checker.exercise import exercise
from transformer_course.model import variants


def _step_by_step(code: Callable, query: Tensor, *given: Tensor) -> dict:
    """Read token by token from an empty state."""
    batch, tokens, d_k = query.shape
    state = torch.zeros(batch, d_k, given[1].shape[2])
    outputs = []
    for token in range(tokens):
        output, state = code(query[:, token], *(x[:, token] for x in given), state)
        outputs.append(output)
    return {"output at each step": outputs, "state at the end": state}


def _given(batch: int, tokens: int, d_k: int, d_v: int) -> tuple:
    query, key = (F.normalize(vectors(batch, tokens, d_k, seed=s), dim=-1) for s in (0, 1))
    keep, rate = (vectors(batch, tokens, seed=seed).sigmoid() for seed in (3, 4))
    return query, key, vectors(batch, tokens, d_v, seed=2), keep, rate


def _case(batch: int, tokens: int, d_k: int, d_v: int) -> Case:
    return Case(
        _given(batch, tokens, d_k, d_v),
        observe=_step_by_step,
        looks_at=f"{tokens} tokens, one after the other",
        written="(query, key, value, keep, rate, state)",
    )


def _gradients(code: Callable, *given: Tensor) -> Tensor:
    def outputs(*given: Tensor) -> Tensor:
        return torch.stack(_step_by_step(code, *given)["output at each step"])

    return gradients(outputs, *given)


@exercise(
    reference=variants.delta_rule_step,
    cases=[
        _case(1, 2, 2, 3),
        _case(2, 4, 3, 3),
        _case(3, 3, 4, 2),
        Case(
            _given(2, 3, 2, 3),
            observe=_gradients,
            looks_at="the gradients of all that is given",
            written="(query, key, value, keep, rate, state)",
        ),
    ],
    hints=[
        "Four lines: keep a share of the state; look up what the key finds in it; add what is "
        "missing, under that key; look up with the query.",
        "What a vector finds in the state is `(key[:, None, :] @ state)[:, 0]`. What is missing is "
        "the value minus that, and the rate says how much of it is added.",
        "`state = state + key[:, :, None] * error[:, None, :]` with "
        "`error = rate[:, None] * (value - found)`.",
    ],
)
def delta_rule_step(
    query: Tensor, key: Tensor, value: Tensor, keep: Tensor, rate: Tensor, state: Tensor
) -> tuple:
    """Return the output, [B, d_v], and the new state, [B, d_k, d_v]."""
    state = keep[:, None, None] * state
    found = (key[:, None, :] @ state)[:, 0]
    error = rate[:, None] * (value - found)
    state = state + key[:, :, None] * error[:, None, :]
    return (query[:, None, :] @ state)[:, 0], state
