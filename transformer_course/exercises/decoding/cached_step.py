"""One step of a decoder that keeps what it needs of earlier steps in a cache."""

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import torch
from torch import Tensor, nn

from transformer_course import model
from transformer_course.checker.cases import Case, vectors
from transformer_course.checker.exercise import exercise
from transformer_course.exercises.decoding.small_decoder import SmallDecoder


@cache
def _trained_decoder() -> SmallDecoder:
    """Make the weights once: a check decodes some hundred times with them."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return SmallDecoder()


def _twin(module: nn.Module) -> nn.Module:
    """Return a copy with the same weights, in which nothing that is stored reaches the original."""
    twin = object.__new__(type(module))  # copy.copy takes six times as long
    parts = {name: _twin(part) for name, part in module._modules.items()}
    vars(twin).update(vars(module), _modules=parts, _forward_hooks=OrderedDict())
    return twin


class _Counter:
    """Counts the vectors that some of a decoder's projections work on."""

    def __init__(self, *projections: nn.Module) -> None:
        self.vectors = 0
        for projection in projections:
            projection.register_forward_hook(self._count)

    def _count(self, projection: nn.Module, inputs: tuple[Tensor], output: Tensor) -> None:
        self.vectors += inputs[0].shape[:-1].numel()  # with an axis for the positions or without


@dataclass(frozen=True)
class _Batches:
    """Batches of sentences, and the memory of each."""

    sentences: list[Tensor]
    memories: list[Tensor]


def _step_by_step(code: Callable, batches: _Batches) -> dict:
    """Return what decoding token by token gives."""
    return {"logits at each step": _decoded(code, batches)["logits at each step"]}


def _projected(code: Callable, batches: _Batches) -> dict:
    """Return how many keys and values decoding token by token makes."""
    found = _decoded(code, batches)
    del found["logits at each step"]
    return found


def _decoded(code: Callable, batches: _Batches) -> dict:
    """Decode one batch after the other, token by token; each has an empty cache at first."""
    decoder = _twin(_trained_decoder())
    layers = list(decoder.layers)
    own = _Counter(*(part for layer in layers for part in (layer.key, layer.value)))
    cross = _Counter(*(part for layer in layers for part in (layer.cross_key, layer.cross_value)))
    logits: list[Tensor] = []
    with torch.no_grad():
        for tokens, memory in zip(batches.sentences, batches.memories, strict=True):
            cache: dict = {}
            for place in range(tokens.shape[1]):
                logits.append(code(decoder, tokens[:, [place]], memory, cache))
    return {
        "logits at each step": logits,
        "keys and values made from the target": own.vectors,
        "keys and values made from the memory": cross.vectors,
    }


def _cache_case(
    looks_at: str, *lengths: tuple[int, int], observe: Callable = _step_by_step
) -> Case:
    """Return a case with batches of (target, source) tokens, one after the other.

    All hold two sentences, so that what a global variable keeps of another batch fits in shape
    and shows in the numbers.
    """
    sentences = [
        torch.randint(11, (2, target), generator=torch.Generator().manual_seed(number))
        for number, (target, _) in enumerate(lengths)
    ]
    memories = [vectors(2, source, 8, seed=number) for number, (_, source) in enumerate(lengths)]
    return Case(
        (_Batches(sentences, memories),),
        observe=observe,
        looks_at=looks_at,
        written="(decoder, token, memory, cache)",
    )


@exercise(
    cases=[
        _cache_case("sentences of 2 tokens", (2, 3)),
        _cache_case("sentences of 3 tokens", (3, 4)),
        _cache_case("sentences of 2 tokens, then others of 3 with a new cache", (2, 4), (3, 5)),
        _cache_case(
            "the numbers of keys and values that are made", (2, 4), (3, 5), observe=_projected
        ),
    ],
    hints=[
        "Read `forward` of the decoder and ask of each line: which of its numbers does the newest "
        "token change, and which are the same as one step before?",
        "Per layer there are two things to store: the keys and values of the target, which grow by "
        "one position each step, and those of the memory, which never change. The newest token may "
        "see all that is stored, so no mask is needed. Its position is the number of tokens before "
        "it.",
        "For each layer: `key, value = layer.key(x), layer.value(x)`, joined to the stored ones by "
        "`torch.cat([old, new], dim=1)`, stored again under a name with the layer's number, such "
        'as `cache["self", number]`. At the first step store `layer.cross_key(memory)` and '
        "`layer.cross_value(memory)` too.",
    ],
)
def cached_step(decoder: nn.Module, token: Tensor, memory: Tensor, cache: dict) -> Tensor:
    """Return the logits [B, V] behind one more token [B, 1]; the cache is empty at first."""
    position = cache.get("position", 0)
    x = decoder.embed(token, position)
    for number, layer in enumerate(decoder.layers):
        own, cross = ("self", number), ("cross", number)
        key, value = layer.key(x), layer.value(x)
        if own in cache:
            old_key, old_value = cache[own]
            key, value = torch.cat([old_key, key], dim=1), torch.cat([old_value, value], dim=1)
        cache[own] = key, value
        x = x + model.fused_attention(layer.query(x), key, value)
        if cross not in cache:
            cache[cross] = layer.cross_key(memory), layer.cross_value(memory)
        x = x + model.fused_attention(layer.cross_query(x), *cache[cross])
        x = x + layer.feed_forward(x)
    cache["position"] = position + 1
    return decoder.output(x)[:, -1]


cached_step.mistake(
    "every token gets position 0",
    edits=[("embed(token, position)", "embed(token)")],
    observed="The first step is right, all others are wrong: the token is alone in its tensor, so "
    "it looks like the first one.",
    change="Its position is the number of tokens before it: `decoder.embed(token, position)`.",
)
cached_step.mistake(
    "positions are one too high",
    edits=[("embed(token, position)", "embed(token, position + 1)")],
    observed="Even the first step is wrong: the position is read after the token was counted.",
    change="Read the position first, which is 0 for the first token, and count the token then.",
)
cached_step.mistake(
    "the memory's keys and values are made at every step",
    edits=[("if cross not in cache", "if True")],
    observed="The logits are right, but the memory is projected again for each token. It never "
    "changes.",
    change="Make them at the first step, store them, and use the stored ones from then on.",
)
cached_step.mistake(
    "the newest token sees only itself",
    edits=[("layer.query(x), key, value)", "layer.query(x), key[:, -1:], value[:, -1:])")],
    observed="The first step is right; from the second on, the earlier tokens have no effect.",
    change="Attend to all stored keys and values, not to the new ones alone.",
)
cached_step.mistake(
    "the newest token does not see itself",
    edits=[
        (
            "layer.query(x), key, value)",
            "layer.query(x), *(part[:, : max(part.shape[1] - 1, 1)] for part in (key, value)))",
        )
    ],
    observed="The first step is right; from the second on, the token's own key is missing.",
    change="Append the new key and value first, then attend to all of them.",
)
cached_step.mistake(
    "all layers share both caches",
    edits=[('("self", number)', '("self", 0)'), ('("cross", number)', '("cross", 0)')],
    observed="Even the first step is wrong: the second layer finds keys and values of the first, "
    "of the target and of the memory.",
    change='Store under names with the layer\'s number, such as `cache["self", number]`.',
)
cached_step.mistake(
    "all layers share one cache of the target",
    edits=[('("self", number)', '("self", 0)')],
    observed="Even the first step is wrong: the second layer finds the keys of the first.",
    change='Store under a name with the layer\'s number: `cache["self", number]`.',
)
cached_step.mistake(
    "only the token just before is remembered",
    edits=[("old_value = cache[own]", "old_value = (part[:, -1:] for part in cache[own])")],
    observed="The first two steps are right; from the third on, older tokens are missing: the "
    "cache is replaced by the newest key and value instead of growing.",
    change="Store the joined keys and values, not the new ones.",
)
cached_step.mistake(
    "an axis of length 1 is left over",
    edits=[("decoder.output(x)[:, -1]", "decoder.output(x)")],
    observed="The logits of a step have shape [B, 1, V]; [B, V] is wanted.",
    change="Take the only position: `decoder.output(x)[:, -1]`.",
)
cached_step.mistake(
    "the residual connections are missing",
    edits=[
        ("x = x + model.fused_attention(layer.query", "x = model.fused_attention(layer.query"),
        ("x = x + model.fused_attention(layer.cross", "x = model.fused_attention(layer.cross"),
        ("x = x + layer.feed_forward", "x = layer.feed_forward"),
    ],
    observed="Even the first step is wrong: each part replaces the vector instead of adding to it.",
    change="Write `x = x + ...` three times, as `forward` of the decoder does.",
)
cached_step.mistake(
    "nothing goes around the self-attention",
    edits=[
        ("x + model.fused_attention(layer.query(x)", "model.fused_attention(layer.query(x)"),
    ],
    observed="Even the first step is wrong: of the token's own vector only its value is left.",
    change="Add it: `x = x + model.fused_attention(layer.query(x), key, value)`.",
)
cached_step.mistake(
    "the target's keys and values are made again at every step",
    edits=[
        ("key, value = layer.key(x), layer.value(x)", "key = value = x"),
        (
            "cache[own] = key, value\n",
            "cache[own] = key, value\n        key, value = layer.key(key), layer.value(value)\n",
        ),
    ],
    observed="The logits are right, but all tokens so far are projected at each step: the vectors "
    "are stored instead of their keys and values.",
    change="Store keys and values, and project only the newest token.",
)
cached_step.mistake(
    "positions are one too low",
    edits=[("embed(token, position)", "embed(token, max(position - 1, 0))")],
    observed="The first two steps both use position 0; from the second on all is wrong.",
    change="The position is the number of tokens before this one.",
)
cached_step.mistake(
    "each layer counts the token again",
    edits=[("position + 1", "position + len(decoder.layers)")],
    observed="The positions are 0, 2, 4: the first step is right, and from then on they grow by "
    "the number of layers.",
    change="Count the token once, outside the loop over the layers.",
)
cached_step.mistake(
    "the position is the batch size",
    edits=[("embed(token, position)", "embed(token, len(token) if position else 0)")],
    observed="From the second step on the position stays the same: it comes from the wrong axis.",
    change="Stored keys have shape [B, tokens, d_model]: their number is `key.shape[1]`.",
)
cached_step.mistake(
    "the newest token sees only the first one",
    edits=[("layer.query(x), key, value)", "layer.query(x), key[:, :1], value[:, :1])")],
    observed="The first step is right and the cache grows, but what is stored has no effect: row 0 "
    "of the causal mask hides all keys except the first.",
    change="Leave the mask out: everything in the cache lies before the newest token.",
)
cached_step.mistake(
    "nothing is stored: every token is the first one",
    edits=[("    position = cache", "    cache = {}\n    position = cache")],
    observed="The first step is right. Then each token is decoded as if it were alone: the "
    "dictionary that you get is empty again. `cache = {...}` gives the name to another one.",
    change='Store in the dictionary that you are given: `cache["position"] = ...`, or '
    "`cache.update(...)`.",
)
cached_step.mistake(
    "the target's values are made by the keys' projection",
    edits=[("layer.key(x), layer.value(x)", "layer.key(x), layer.key(x)")],
    observed="Even the first step is wrong: what is blended are keys.",
    change="Make the values with `layer.value(x)`.",
)
cached_step.mistake(
    "all layers share the keys and values of the memory",
    edits=[('("cross", number)', '("cross", 0)')],
    observed="Even the first step is wrong: the second layer attends with the first one's "
    "projections of the memory.",
    change="The memory is the same for all layers, its keys and values are not: store them under a "
    "name with the layer's number.",
)
cached_step.mistake(
    "target and memory share one cache",
    edits=[('("self", number)', '("cross", number)')],
    observed="Even the first step is wrong: cross-attention finds the keys of the target under the "
    "same name.",
    change="Use two names for each layer, one for the target and one for the memory.",
)


def _decode_again(decoder: nn.Module, token: Tensor, memory: Tensor, cache: dict) -> Tensor:
    so_far = cache.get("tokens", token[:, :0])
    cache["tokens"] = torch.cat([so_far, token], dim=1)
    return decoder(cache["tokens"], memory)[:, -1]


cached_step.mistake(
    "there is no cache: the whole target is decoded again",
    body=_decode_again,
    observed="The logits are right, but everything is computed anew for each token.",
    change="Store keys and values, project only the newest token, and attend to the stored ones.",
)
cached_step.mistake(
    "what is stored outlives the sentence",
    edits=[
        (
            "    position = cache",
            "    cache = vars(decoder).setdefault('remembered', {})\n    position = cache",
        )
    ],
    observed="The first sentence is right, the second one finds the keys of the first: they are "
    "stored in the decoder or in a global variable.",
    change="Store in `cache` alone, which is empty at the beginning of each sentence.",
)
cached_step.mistake(
    "the memory's keys and values outlive the sentence",
    edits=[
        ("cross not in cache", "cross not in vars(decoder)"),
        ("cache[cross] =", "vars(decoder)[cross] ="),
        ("*cache[cross]", "*vars(decoder)[cross]"),
    ],
    observed="The first sentence is right, the second one attends to the memory of the first.",
    change="Store in `cache`, which is empty at the beginning of each sentence.",
)
cached_step.mistake(
    "cross-attention looks at the target",
    edits=[("cross_key(memory)", "cross_key(x)"), ("cross_value(memory)", "cross_value(x)")],
    observed="The memory has no effect: the keys and values of cross-attention are made from `x`.",
    change="Make them from the memory: `layer.cross_key(memory)`, `layer.cross_value(memory)`.",
)
cached_step.mistake(
    "keys and values are swapped in cross-attention",
    edits=[("cross_key(", "cross_value("), ("cross_value(", "cross_key(")],
    observed="Even the first step is wrong: attention compares with the values and blends the "
    "keys.",
    change="Store and take them in the same order: keys first.",
)
cached_step.mistake(
    "new keys are joined along the features",
    edits=[("key], dim=1", "key], dim=-1"), ("value], dim=1", "value], dim=-1")],
    observed="The first step is right; at the second the keys are wider than the query, and "
    "attention stops with an error.",
    change="Join along the tokens: `torch.cat([old, new], dim=1)` for shape [B, tokens, d_model].",
)
cached_step.mistake(
    "new keys are joined along the batch",
    edits=[("key], dim=1", "key], dim=0"), ("value], dim=1", "value], dim=0")],
    observed="The first step is right; then the stored keys look like those of other sentences, "
    "until shapes no longer fit.",
    change="Join along the tokens: `torch.cat([old, new], dim=1)` for shape [B, tokens, d_model].",
)
cached_step.mistake(
    "probabilities are returned instead of logits",
    edits=[("decoder.output(x)[:, -1]", "decoder.output(x)[:, -1].softmax(dim=-1)")],
    observed="Each row sums to 1.",
    change="Return the logits, without a softmax.",
)

# Rarer ones

cached_step.mistake(
    "cross-attention uses the query of self-attention",
    edits=[("layer.cross_query(x)", "layer.query(x)")],
    observed="Even the first step is wrong: the memory is asked with the wrong projection.",
    change="Use `layer.cross_query(x)` for the memory.",
)
cached_step.mistake(
    "the scores are not divided by sqrt(d_model)",
    edits=[
        ("layer.query(x), key", "layer.query(x) * x.shape[-1] ** 0.5, key"),
        ("layer.cross_query(x), *", "layer.cross_query(x) * x.shape[-1] ** 0.5, *"),
    ],
    observed="Even the first step is wrong: the weights of your attention are too sharp.",
    change="Divide the scores by the root of the keys' width, or use `model.fused_attention`.",
)
cached_step.mistake(
    "the feed-forward network has no residual connection",
    edits=[("x = x + layer.feed_forward", "x = layer.feed_forward")],
    observed="Even the first step is wrong: the vector that enters the feed-forward network is "
    "lost after it.",
    change="Write `x = x + layer.feed_forward(x)`.",
)
cached_step.mistake(
    "the feed-forward network is left out",
    edits=[("        x = x + layer.feed_forward(x)\n", "")],
    observed="Even the first step is wrong: a layer ends after cross-attention.",
    change="Add `x = x + layer.feed_forward(x)` at the end of the loop.",
)
cached_step.mistake(
    "cross-attention is left out",
    edits=[("        x = x + model.fused_attention(layer.cross_query(x), *cache[cross])\n", "")],
    observed="Even the first step is wrong: the memory has no effect.",
    change="Add the result of cross-attention, `layer.cross_query(x)` with what is stored of the "
    "memory.",
)
cached_step.mistake(
    "the memory's values are made by the keys' projection",
    edits=[("layer.cross_value(memory)", "layer.cross_key(memory)")],
    observed="Even the first step is wrong: what is blended of the memory are keys.",
    change="Make the values with `layer.cross_value(memory)`.",
)
cached_step.mistake(
    "keys and values are swapped in self-attention",
    edits=[("layer.query(x), key, value", "layer.query(x), value, key")],
    observed="Even the first step is wrong: attention compares with the values and blends the "
    "keys.",
    change="Store and take them in the same order: keys first.",
)
cached_step.mistake(
    "only the keys of earlier tokens are remembered",
    edits=[("torch.cat([old_value, value], dim=1)", "value")],
    observed="From the second step on there are more keys than values.",
    change="Join the values as well: `torch.cat([old_value, value], dim=1)`.",
)
cached_step.mistake(
    "only the values of earlier tokens are remembered",
    edits=[("torch.cat([old_key, key], dim=1)", "key")],
    observed="From the second step on there are more values than keys.",
    change="Join the keys as well: `torch.cat([old_key, key], dim=1)`.",
)
cached_step.mistake(
    "the new key is appended to the stored values too",
    edits=[("torch.cat([old_value, value], dim=1)", "torch.cat([old_value, key], dim=1)")],
    observed="The first step is right, all later ones are wrong.",
    change="Join values to values: `torch.cat([old_value, value], dim=1)`.",
)
cached_step.mistake(
    "nothing goes around the cross-attention",
    edits=[
        (
            "x + model.fused_attention(layer.cross_query(x)",
            "model.fused_attention(layer.cross_query(x)",
        )
    ],
    observed="What the earlier tokens say is lost: a layer's vector is nothing but what it found "
    "in the memory.",
    change="Add it: `x = x + model.fused_attention(layer.cross_query(x), ...)`.",
)
cached_step.mistake(
    "self-attention is left out",
    edits=[("        x = x + model.fused_attention(layer.query(x), key, value)\n", "")],
    observed="Even the first step is wrong: keys and values are stored, and nobody looks at them.",
    change="Add the result of self-attention: `x = x + model.fused_attention(layer.query(x), key, "
    "value)`.",
)
cached_step.mistake(
    "positions are one too high from the second token on",
    edits=[("embed(token, position)", "embed(token, position + (position > 0))")],
    observed="The first step is right; the second token gets position 2.",
    change="The position is the number of tokens before this one, without `+ 1`.",
)
_FEED_FORWARD = "        x = x + layer.feed_forward(x)\n"
_CROSS = (
    "        if cross not in cache:\n"
    "            cache[cross] = layer.cross_key(memory), layer.cross_value(memory)\n"
    "        x = x + model.fused_attention(layer.cross_query(x), *cache[cross])\n"
)
cached_step.mistake(
    "the feed-forward network comes before cross-attention",
    edits=[
        (_FEED_FORWARD, ""),
        ("        if cross not in cache", f"{_FEED_FORWARD}        if cross not in cache"),
    ],
    observed="Even the first step is wrong: the parts of a layer are right, their order is not.",
    change="Self-attention, cross-attention, feed-forward network.",
)
cached_step.mistake(
    "cross-attention comes before self-attention",
    edits=[
        (_CROSS, ""),
        ("        key, value = layer.key(x)", f"{_CROSS}        key, value = layer.key(x)"),
    ],
    observed="Even the first step is wrong: the parts of a layer are right, their order is not.",
    change="Self-attention, cross-attention, feed-forward network.",
)
