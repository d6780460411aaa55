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
grouped_query_step.mistake(
    "the newest token sees only the first one",
    edits=[
        ("keys = key.", "keys = key[:, :, :1]."),
        ("values = value.", "values = value[:, :, :1]."),
    ],
    observed="The first step is right; then nothing changes any more. `is_causal=True` takes the "
    "only query for the first token.",
    change="Leave the mask out: the newest token may see all that is stored.",
)
grouped_query_step.mistake(
    "the cache begins with zeros",
    edits=[
        (
            "    if cache:",
            '    cache.setdefault("key", torch.zeros_like(key))\n'
            '    cache.setdefault("value", torch.zeros_like(value))\n'
            "    if cache:",
        ),
    ],
    observed="Even the first step is wrong: a key of zeros has score 0, so it gets a weight.",
    change="Begin with nothing: the first token's key and value are all there is.",
)
grouped_query_step.mistake(
    "keys and values are stored in opposite orders",
    edits=[('[cache["value"], value]', '[value, cache["value"]]')],
    observed="The first step is right; then a key's weight goes to another token's value.",
    change="Append both at the same end: `torch.cat([old, new], dim=2)`.",
)
grouped_query_step.mistake(
    "scores are not divided by the root of d_k",
    edits=[("query, keys, values", "query * query.shape[-1] ** 0.5, keys, values")],
    observed="The first step is right; then the weights are too sharp.",
    change="Divide the scores by `d_k ** 0.5`, or use `model.fused_attention`, which does.",
)
grouped_query_step.mistake(
    "scores are divided by the root of d_k twice",
    edits=[("query, keys, values", "query / query.shape[-1] ** 0.5, keys, values")],
    observed="The first step is right; then the weights are too even.",
    change="Divide once: `model.fused_attention` does it already, and by the root of d_k.",
)
grouped_query_step.mistake(
    "the softmax runs over the queries, of which there is one",
    edits=[
        ("fused_attention(query", "fused_attention(0 * query"),
        ("keys, values)", "keys, values) * keys.shape[2]"),
    ],
    observed="The first step is right; then all weights are 1, and values are added up.",
    change="Each query's weights sum to 1 over the keys: `softmax(dim=-1)`.",
)
grouped_query_step.mistake(
    "the softmax runs over the heads",
    edits=[
        (
            "model.fused_attention(query, keys",
            "((query @ keys.transpose(2, 3) / query.shape[-1] ** 0.5).softmax(dim=1)",
        ),
        (", values)", " @ values)"),
    ],
    observed="Even the first step is wrong: its only key should have weight 1 in each head.",
    change="Each query's weights sum to 1 over the keys: `softmax(dim=-1)`.",
)
grouped_query_step.mistake(
    "there is no softmax",
    edits=[
        (
            "model.fused_attention(query, keys",
            "((query @ keys.transpose(2, 3) / query.shape[-1] ** 0.5)",
        ),
        (", values)", " @ values)"),
    ],
    observed="Even the first step is wrong: its only key should have weight 1.",
    change="Apply `softmax(dim=-1)` to the scores, or use `model.fused_attention`, which does.",
)
grouped_query_step.mistake(
    "only the first token is stored",
    edits=[
        (
            '    cache["key"], cache["value"] = key, value',
            '    cache.setdefault("key", key), cache.setdefault("value", value)',
        ),
    ],
    observed="Two steps are right; from the third on, tokens between the first and the newest are "
    "missing.",
    change='Store what was joined at each step: `cache["key"] = key`.',
)
grouped_query_step.mistake(
    "a second text goes on where the first one ended",
    # Each case reads two texts: the second one's cache begins with what the first one's holds.
    edits=[
        ("cache: dict)", "cache: dict, kept: dict = {})"),
        (
            "    if cache:",
            "    if not cache and query.shape not in kept:\n"
            "        kept.clear()\n"
            "        kept[query.shape] = cache\n"
            "    elif not cache:\n"
            "        cache.update(kept.pop(query.shape))\n"
            "    if cache:",
        ),
    ],
    observed="The first text is right; the first token of another one sees all of the first text.",
    change="Keep the keys and values in `cache`, not in lists outside of the function.",
)
grouped_query_step.mistake(
    "the whole list of keys is repeated, and before it is stored",
    edits=[
        (
            "    if cache:",
            "    sharing = query.shape[1] // key.shape[1]\n"
            "    key = key.repeat(1, sharing, 1, 1)\n"
            "    value = value.repeat(1, sharing, 1, 1)\n"
            "    if cache:",
        ),
    ],
    observed="Distant heads share a key, and the cache holds one for each head: nothing is saved.",
    change="Store one key for each group, and repeat each in its place when you look up: "
    "`repeat_interleave(sharing, dim=1)`.",
)
grouped_query_step.mistake(
    "a head's group is its number divided by the number of groups",
    edits=[
        (
            "key.repeat_interleave(sharing, dim=1)",
            "key[:, torch.arange(query.shape[1]) // key.shape[1]]",
        ),
        (
            "value.repeat_interleave(sharing, dim=1)",
            "value[:, torch.arange(query.shape[1]) // key.shape[1]]",
        ),
    ],
    observed="With 4 heads and 2 keys it is right by chance; else heads share with others than "
    "their neighbours, or there is no such key.",
    change="`query.shape[1] // key.shape[1]` heads share a key: divide the head's number by that.",
)
grouped_query_step.mistake(
    "the first token is stored twice",
    edits=[
        (
            "    if cache:",
            '    cache.setdefault("key", key)\n    cache.setdefault("value", value)\n    if cache:',
        ),
    ],
    observed="The first step's output is right, but the cache holds the first token twice, so "
    "later tokens give it twice its weight.",
    change="Where the cache is empty, the first token's key and value are all there is.",
)
grouped_query_step.mistake(
    "keys and values of all tokens are added up",
    edits=[
        ('torch.cat([cache["key"], key], dim=2)', 'cache["key"] + key'),
        ('torch.cat([cache["value"], value], dim=2)', 'cache["value"] + value'),
    ],
    observed="The first step is right; then there is still a single key and value for each group, "
    "and the query has nothing to choose from.",
    change="Append: `torch.cat([old, new], dim=2)`.",
)
grouped_query_step.mistake(
    "the queries are stored and looked up with as well",
    edits=[
        (
            "    if cache:",
            '    query = torch.cat([cache["query"], query], dim=2) if cache else query\n'
            "    if cache:",
        ),
        (
            'cache["key"], cache["value"] = key, value',
            'cache["query"], cache["key"], cache["value"] = query, key, value',
        ),
    ],
    observed="Your output grows by a row with each step: old tokens ask again.",
    change="Only the newest token asks; of the others keep the keys and values.",
)
grouped_query_step.mistake(
    "keys and values are repeated along the batch",
    edits=[
        ("key.repeat_interleave(sharing, dim=1)", "key.repeat_interleave(sharing, dim=0)"),
        ("value.repeat_interleave(sharing, dim=1)", "value.repeat_interleave(sharing, dim=0)"),
    ],
    observed="With as many keys as heads it works; else the shapes do not fit: the heads are "
    "axis 1.",
    change="Give each head its key: `repeat_interleave(sharing, dim=1)`.",
)
grouped_query_step.mistake(
    "new keys are joined along the features",
    edits=[
        ('[cache["key"], key], dim=2', '[cache["key"], key], dim=-1'),
        ('[cache["value"], value], dim=2', '[cache["value"], value], dim=-1'),
    ],
    observed="At the second step, keys are twice as wide as the query, and nothing fits.",
    change="Join along the tokens: `torch.cat([old, new], dim=2)`.",
)
