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
    """Decode token by token; then see how much was kept."""
    cache: dict = {}
    outputs = [
        code(*(x[:, :, [token]] for x in (query, key, value)), cache)
        for token in range(query.shape[2])
    ]
    return {
        "output at each step": outputs,
        "numbers kept in the cache": sum(tensor.numel() for tensor in _tensors(cache)),
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
    cases=[_case(1, 4, 2, 3, 2), _case(2, 6, 3, 4, 3), _case(2, 3, 1, 2, 4), _case(1, 2, 2, 3, 2)],
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


grouped_query_step.mistake(
    "the whole list of keys is repeated, so that distant heads share",
    edits=[
        ("key.repeat_interleave(sharing, dim=1)", "key.repeat(1, sharing, 1, 1)"),
        ("value.repeat_interleave(sharing, dim=1)", "value.repeat(1, sharing, 1, 1)"),
    ],
    observed="With 4 heads and 2 keys, heads 0 and 2 share one; heads 0 and 1 should.",
    change="Repeat each key in its place: `repeat_interleave(sharing, dim=1)`.",
)
grouped_query_step.mistake(
    "keys are repeated before they are stored",
    edits=[
        (
            "    if cache:",
            "    sharing = query.shape[1] // key.shape[1]\n"
            "    key = key.repeat_interleave(sharing, dim=1)\n"
            "    value = value.repeat_interleave(sharing, dim=1)\n"
            "    if cache:",
        ),
    ],
    observed="The outputs are right, but the cache holds a key for each head: nothing is saved.",
    change="Store one key for each group, and repeat what you look up in.",
)
grouped_query_step.mistake(
    "nothing is stored: every token is the first one",
    edits=[('    cache["key"], cache["value"] = key, value\n', "")],
    observed="The first step is right; then each token is alone.",
    change='Store the joined keys and values: `cache["key"] = key`.',
)
grouped_query_step.mistake(
    "only the newest key and value are stored",
    edits=[
        (
            'cache["key"], cache["value"] = key, value',
            'cache["key"], cache["value"] = key[:, :, -1:], value[:, :, -1:]',
        ),
    ],
    observed="Two steps are right; from the third on, older tokens are missing.",
    change="Store the joined keys and values, not the new ones.",
)
grouped_query_step.mistake(
    "the newest token does not see itself",
    edits=[
        ("keys = key.", "keys = key[:, :, : max(1, key.shape[2] - 1)]."),
        ("values = value.", "values = value[:, :, : max(1, value.shape[2] - 1)]."),
    ],
    observed="The first step is right; from the second on, the token's own key is missing.",
    change="Append first, then look up in all of it.",
)
grouped_query_step.mistake(
    "the newest token sees only itself",
    edits=[
        ("keys = key.", "keys = key[:, :, -1:]."),
        ("values = value.", "values = value[:, :, -1:]."),
    ],
    observed="The cache grows, but from the second step on it has no influence.",
    change="Look up in all stored keys and values.",
)
grouped_query_step.mistake(
    "the stored values are keys",
    edits=[
        ('cache["key"], cache["value"] = key, value', 'cache["key"], cache["value"] = key, key')
    ],
    observed="The first step is right; from the second on, old keys are blended.",
    change='Store the values: `cache["value"] = value`.',
)
grouped_query_step.mistake(
    "keys are blended, not values",
    edits=[("query, keys, values", "query, keys, keys")],
    observed="Even the first step is wrong: it returns the token's key.",
    change="Look up in the keys, and blend the values.",
)
grouped_query_step.mistake(
    "keys and values are swapped in the look-up",
    edits=[("query, keys, values", "query, values, keys")],
    observed="Even the first step is wrong: it returns the token's key.",
    change="`model.fused_attention(query, keys, values)`, in this order.",
)
grouped_query_step.mistake(
    "the keys are not repeated",
    edits=[
        ("key.repeat_interleave(sharing, dim=1)", "key"),
        ("value.repeat_interleave(sharing, dim=1)", "value"),
    ],
    observed="With as many keys as heads it works, or with one; else the heads do not fit.",
    change="Give each head its key: `repeat_interleave(sharing, dim=1)`.",
)
grouped_query_step.mistake(
    "all heads use the first group's key and value",
    edits=[
        ("key.repeat_interleave(sharing, dim=1)", "key[:, :1]"),
        ("value.repeat_interleave(sharing, dim=1)", "value[:, :1]"),
    ],
    observed="With one key it is right; the others have no influence.",
    change="Repeat all groups: `repeat_interleave(sharing, dim=1)`.",
)
grouped_query_step.mistake(
    "new keys are joined along the heads",
    edits=[
        ('[cache["key"], key], dim=2', '[cache["key"], key], dim=1'),
        ('[cache["value"], value], dim=2', '[cache["value"], value], dim=1'),
    ],
    observed="The first step is right; then the stored keys look like those of other groups.",
    change="Join along the tokens: `torch.cat([old, new], dim=2)`.",
)
grouped_query_step.mistake(
    "new keys are joined along the batch",
    edits=[
        ('[cache["key"], key], dim=2', '[cache["key"], key], dim=0'),
        ('[cache["value"], value], dim=2', '[cache["value"], value], dim=0'),
    ],
    observed="The first step is right; then the stored keys look like those of other sentences.",
    change="Join along the tokens: `torch.cat([old, new], dim=2)`.",
)
grouped_query_step.mistake(
    "only the keys of earlier tokens are remembered",
    edits=[('torch.cat([cache["value"], value], dim=2)', "value")],
    observed="From the second step on there are more keys than values.",
    change="Join the values as well.",
)
grouped_query_step.mistake(
    "keys are repeated as often as there are groups",
    edits=[("query.shape[1] // key.shape[1]", "key.shape[1]")],
    observed="With 4 heads and 2 keys it works by chance.",
    change="`sharing = query.shape[1] // key.shape[1]` heads share a key.",
)
