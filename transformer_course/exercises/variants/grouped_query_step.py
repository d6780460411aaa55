"""One step of decoding in which several heads share a key and a value in the cache."""

from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor

from transformer_course import model
from transformer_course.checker.cases import Case, vectors
from transformer_course.checker.exercise import exercise


def _tensors(kept: Any) -> Iterable[Tensor]:
    """Yield the tensors of a cache, however it was built."""
    if isinstance(kept, Tensor):
        yield kept
    elif isinstance(kept, dict | list | tuple):
        for part in kept.values() if isinstance(kept, dict) else kept:
            yield from _tensors(part)


def _step_by_step(code: Callable, query: Tensor, key: Tensor, value: Tensor) -> dict:
    """Decode token by token; see how much was kept; then decode the text from its end."""
    cache: dict = {}
    outputs = [
        code(*(x[:, :, [token]] for x in (query, key, value)), cache)
        for token in range(query.shape[2])
    ]
    numbers = sum(tensor.numel() for tensor in _tensors(cache))
    another: dict = {}
    return {
        "output at each step": outputs,
        "numbers kept in the cache": numbers,
        "output at each step of another text": [
            code(*(x[:, :, [token]] for x in (query, key, value)), another)
            for token in reversed(range(query.shape[2]))
        ],
    }


def _case(batch: int, heads: int, groups: int, tokens: int, d_k: int) -> Case:
    key, value = (vectors(batch, groups, tokens, d_k, seed=seed) for seed in (1, 2))
    return Case(
        (vectors(batch, heads, tokens, d_k), key, value),
        observe=_step_by_step,
        looks_at=f"{tokens} tokens, {heads} heads that share {groups} keys",
        written="(query, key, value, cache)",
    )


@exercise(
    # No two have keys of one shape: who keeps them outside of the cache cannot go on with them.
    cases=[
        _case(1, 6, 2, 3, 2),
        _case(2, 6, 3, 4, 3),
        _case(2, 3, 1, 2, 4),
        _case(1, 2, 2, 3, 4),
        _case(1, 4, 2, 3, 3),
    ],
    hints=[
        "Two things in this order: append the newest key and value to what is stored, and look up. "
        "When is it time to give each head its key: before storing, or after?",
        "Store the keys as they come, one for each group; `torch.cat([old, new], dim=2)` appends. "
        "For the look-up, `repeat_interleave(sharing, dim=1)` gives neighbouring heads the same "
        "key.",
        '`cache["key"], cache["value"] = key, value` after joining; then '
        "`sharing = query.shape[1] // key.shape[1]`, and `model.fused_attention` with the repeated "
        "keys and values.",
    ],
)
def grouped_query_step(query: Tensor, key: Tensor, value: Tensor, cache: dict) -> Tensor:
    """Return what the newest query [B, H, 1, d_k] gathers; key and value are [B, G, 1, d_k]."""
    if cache:
        key = torch.cat([cache["key"], key], dim=2)
        value = torch.cat([cache["value"], value], dim=2)
    cache["key"], cache["value"] = key, value
    sharing = query.shape[1] // key.shape[1]
    keys = key.repeat_interleave(sharing, dim=1)
    values = value.repeat_interleave(sharing, dim=1)
    return model.fused_attention(query, keys, values)
