"""Linear attention as a recurrence: a state of fixed size takes the place of the cache."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

from transformer_course.checker.cases import Case, gradients, vectors
from transformer_course.checker.exercise import exercise
from transformer_course.model import variants


def _step_by_step(code: Callable, query: Tensor, key: Tensor, value: Tensor) -> dict:
    """Read token by token from an empty state."""
    batch, tokens, d_k = query.shape
    state = torch.zeros(batch, d_k, value.shape[2]), torch.zeros(batch, d_k)
    outputs = []
    for token in range(tokens):
        output, state = code(query[:, token], key[:, token], value[:, token], state)
        outputs.append(output)
    return {"output at each step": outputs, "state at the end": tuple(state)}


def _case(batch: int, tokens: int, d_k: int, d_v: int) -> Case:
    shapes = ((batch, tokens, d_k), (batch, tokens, d_k), (batch, tokens, d_v))
    return Case(
        tuple(vectors(*shape, seed=seed) for seed, shape in enumerate(shapes)),
        observe=_step_by_step,
        looks_at=f"{tokens} tokens, one after the other",
        written="(query, key, value, state)",
    )


def _gradients(code: Callable, *given: Tensor) -> Tensor:
    def outputs(*given: Tensor) -> Tensor:
        return torch.stack(_step_by_step(code, *given)["output at each step"])

    return gradients(outputs, *given)


@exercise(
    reference=variants.linear_attention_step,
    cases=[
        _case(1, 2, 2, 3),
        _case(2, 4, 3, 3),
        _case(3, 3, 4, 2),
        Case(
            (vectors(2, 3, 2), vectors(2, 3, 2, seed=1), vectors(2, 3, 3, seed=2)),
            observe=_gradients,
            looks_at="the gradients of queries, keys and values",
            written="(query, key, value, state)",
        ),
    ],
    hints=[
        "Take the newest token into the state first; then ask the state. Two sums are kept: one of "
        "key times value, for what is gathered, and one of the keys, for the weights' sum.",
        "`key[:, :, None] * value[:, None, :]` has shape (batch, d_k, d_v). What the query gathers "
        "is `query @ memory` for each sentence; divide by the dot product of query and `total`.",
        "`gathered = (query[:, None, :] @ memory)[:, 0]`; the output is "
        "`gathered / (query * total).sum(dim=-1, keepdim=True)`.",
    ],
)
def linear_attention_step(query: Tensor, key: Tensor, value: Tensor, state: tuple) -> tuple:
    """Return the output [B, d_v] and the new state, ([B, d_k, d_v], [B, d_k])."""
    query, key = F.elu(query) + 1, F.elu(key) + 1
    memory, total = state
    memory = memory + key[:, :, None] * value[:, None, :]
    total = total + key
    gathered = (query[:, None, :] @ memory)[:, 0]
    return gathered / (query * total).sum(dim=-1, keepdim=True), (memory, total)
