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


# What mistakes in cached_step.toml are made with.


def _decode_again(decoder: nn.Module, token: Tensor, memory: Tensor, cache: dict) -> Tensor:
    so_far = cache.get("tokens", token[:, :0])
    cache["tokens"] = torch.cat([so_far, token], dim=1)
    return decoder(cache["tokens"], memory)[:, -1]
