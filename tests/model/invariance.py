"""What holds for every right Transformer, whatever its weights: one function per property.

Each check looks at what goes in and what comes out, never at the code, and returns True where the
property holds. :func:`failed_checks` runs them all and names those that fail. Models must be in
double precision and in eval mode.
"""

import math
from collections.abc import Callable, Iterator

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.func import functional_call

from transformer_course.model import FeedForward, MultiHeadAttention, Transformer

from .small import PAD, noise, other_tokens, ragged_ids, random_ids

BATCH, SOURCE, TARGET = 3, 5, 7
NOTHING = 1e-10  # Changes below are rounding.
SOMETHING = 1e-8  # Changes above are an effect.


def _change(a: Tensor, b: Tensor) -> Tensor:
    """Return how far the vectors along the last axis have moved."""
    return (a - b).abs().amax(dim=-1)


def _same(a: Tensor, b: Tensor) -> bool:
    return bool((_change(a, b) < NOTHING).all())


def _all_differ(a: Tensor, b: Tensor) -> bool:
    return bool((_change(a, b) > SOMETHING).all())


# The whole model


def _one_token_changed(ids: Tensor) -> Tensor:
    """Return as many copies of one sentence as it has tokens; copy i differs in token i."""
    length = ids.shape[1]
    return torch.where(torch.eye(length, dtype=torch.bool), other_tokens(ids), ids)


def _effect_of_target_tokens(model: Transformer) -> Tensor:
    """Return how far each token (row) moves the logits at each position (column)."""
    source, target = random_ids(1, SOURCE, seed=1), random_ids(1, TARGET, seed=2)
    changed = model(source.expand(TARGET, -1), _one_token_changed(target))
    return _change(changed, model(source, target))


def later_target_tokens_change_nothing(model: Transformer) -> bool:
    effect_of_later_tokens = _effect_of_target_tokens(model).tril(-1)
    return bool((effect_of_later_tokens < NOTHING).all())


def earlier_target_tokens_reach_every_logit(model: Transformer) -> bool:
    row, column = torch.triu_indices(TARGET, TARGET)
    return bool((_effect_of_target_tokens(model)[row, column] > SOMETHING).all())


def source_tokens_reach_every_logit(model: Transformer) -> bool:
    source, target = random_ids(1, SOURCE, seed=1), random_ids(1, TARGET, seed=2)
    changed = model(_one_token_changed(source), target.expand(SOURCE, -1))
    return _all_differ(changed, model(source, target))


def padding_changes_nothing(model: Transformer) -> bool:
    source, target = random_ids(BATCH, SOURCE, seed=1), random_ids(BATCH, TARGET, seed=2)
    padded = model(F.pad(source, (0, 3), value=PAD), F.pad(target, (0, 2), value=PAD))
    return _same(padded[:, :TARGET], model(source, target))


def batch_mates_change_nothing(model: Transformer) -> bool:
    source, target = ragged_ids(BATCH, SOURCE, seed=1), ragged_ids(BATCH, TARGET, seed=2)
    alone = [
        model(one_source[None], one_target[None])
        for one_source, one_target in zip(source, target, strict=True)
    ]
    return _same(torch.cat(alone), model(source, target))


def batch_order_only_reorders_the_logits(model: Transformer) -> bool:
    source, target = ragged_ids(BATCH, SOURCE, seed=1), ragged_ids(BATCH, TARGET, seed=2)
    order = torch.tensor([2, 0, 1])
    return _same(model(source[order], target[order]), model(source, target)[order])


def decoder_knows_the_source_by_its_memory_alone(model: Transformer) -> bool:
    source, target = ragged_ids(BATCH, SOURCE, seed=1), ragged_ids(BATCH, TARGET, seed=2)
    memory, padded = model.encode(source), source == PAD
    other_source = torch.where(padded, PAD, other_tokens(source))
    # What stands in the memory at padded positions must not count either.
    other_memory = torch.where(padded[:, :, None], noise(*memory.shape), memory)
    return _same(model.decode(target, other_memory, other_source), model(source, target))


def positions_tell_repeated_tokens_apart(model: Transformer) -> bool:
    source, target = torch.full((1, SOURCE), 3), torch.full((1, TARGET), 4)
    return all(
        _all_differ(vectors[:, 1:], vectors[:, :-1])
        for vectors in (model.encode(source), model(source, target))
    )


def gradient_reaches_every_parameter(model: Transformer) -> bool:
    source, target = random_ids(BATCH, SOURCE, seed=1), random_ids(BATCH, TARGET, seed=2)
    loss = F.cross_entropy(model(source, target).flatten(0, 1), other_tokens(target).flatten())
    # A key's bias adds the same number to all scores of a query, which softmax does not notice.
    parameters = [p for name, p in model.named_parameters() if "key_projection.bias" not in name]
    gradients = torch.autograd.grad(loss, parameters, allow_unused=True)
    return all(gradient is not None and gradient.any() for gradient in gradients)


def input_passes_silent_sublayers(model: Transformer) -> bool:
    x = noise(1, 2, model.config.d_model)
    for stack, inputs in ((model.encoder, (x,)), (model.decoder, (x, x))):
        silent = {
            name: torch.zeros_like(parameter)
            for name, parameter in stack.named_parameters()
            if "output_projection" in name or "contract" in name
        }
        first, second = functional_call(stack, silent, inputs)[0]
        if not _all_differ(first, second):
            return False
    return True


# Its parts


def _attentions(model: Transformer) -> Iterator[MultiHeadAttention]:
    return (module for module in model.modules() if isinstance(module, MultiHeadAttention))


def attention_weights_sum_to_one(model: Transformer) -> bool:
    """The mean of equal values is that value, however many they are and whoever asks."""
    query, value = noise(BATCH, TARGET, model.config.d_model), noise(1, 1, model.config.d_model)
    return all(
        _same(
            attention(query, value.expand(BATCH, SOURCE, -1)),
            attention(query[:1, :1], value),
        )
        for attention in _attentions(model)
    )


def attention_ignores_the_order_of_memory(model: Transformer) -> bool:
    query = noise(BATCH, TARGET, model.config.d_model)
    memory = noise(BATCH, SOURCE, model.config.d_model, seed=1)
    return all(
        _same(attention(query, memory.flip(1)), attention(query, memory))
        for attention in _attentions(model)
    )


def queries_do_not_compete(model: Transformer) -> bool:
    query = noise(BATCH, TARGET, model.config.d_model)
    memory = noise(BATCH, SOURCE, model.config.d_model, seed=1)
    return all(
        _same(attention(query[:, :1], memory), attention(query, memory)[:, :1])
        for attention in _attentions(model)
    )


def temperature_is_the_root_of_d_k(model: Transformer) -> bool:
    d_k = model.config.d_model // model.config.heads
    # The logarithm of a weight near 0 or 1 has lost some digits: hence the wider tolerance.
    return all(
        bool(((_temperature(attention) - math.sqrt(d_k)).abs() < 1e-5).all())
        for attention in _attentions(model)
    )


def _temperature(attention: MultiHeadAttention) -> Tensor:
    """Divide differences of scores by differences of log-weights, for each query and head.

    With two keys, a head's output lies on the line between two values, and where on it is the
    weight: so it can be read from outside.
    """
    d_model = attention.query_projection.in_features
    query, memory = 0.5 * noise(1, TARGET, d_model), 0.5 * noise(1, 2, d_model, seed=1)
    merged: list[Tensor] = []
    hook = attention.output_projection.register_forward_pre_hook(
        lambda _, inputs: merged.append(inputs[0])
    )
    attention(query, memory)
    hook.remove()

    def by_head(x: Tensor) -> Tensor:
        return x[0].unflatten(-1, (attention.heads, -1))  # (length, heads, d_k)

    q, output = by_head(attention.query_projection(query)), by_head(merged[0])
    key_0, key_1 = by_head(attention.key_projection(memory))
    value_0, value_1 = by_head(attention.value_projection(memory))
    line = value_0 - value_1
    weight_0 = ((output - value_1) * line).sum(dim=-1) / line.square().sum(dim=-1)
    return (q * (key_0 - key_1)).sum(dim=-1) / weight_0.logit()


def feed_forward_is_not_affine(model: Transformer) -> bool:
    """An affine map would give f(x + y) + f(0) = f(x) + f(y)."""
    x, y = (noise(1, TARGET, model.config.d_model, seed=seed) for seed in (0, 1))
    return all(
        _all_differ(f(x + y) + f(torch.zeros_like(x)), f(x) + f(y))
        for f in model.modules()
        if isinstance(f, FeedForward)
    )


Check = Callable[[Transformer], bool]
CHECKS: tuple[Check, ...] = (
    later_target_tokens_change_nothing,
    earlier_target_tokens_reach_every_logit,
    source_tokens_reach_every_logit,
    padding_changes_nothing,
    batch_mates_change_nothing,
    batch_order_only_reorders_the_logits,
    decoder_knows_the_source_by_its_memory_alone,
    positions_tell_repeated_tokens_apart,
    gradient_reaches_every_parameter,
    input_passes_silent_sublayers,
    attention_weights_sum_to_one,
    attention_ignores_the_order_of_memory,
    queries_do_not_compete,
    temperature_is_the_root_of_d_k,
    feed_forward_is_not_affine,
)


def failed_checks(model: Transformer) -> set[str]:
    """Name the properties that the model lacks."""
    return {check.__name__ for check in CHECKS if not check(model)}
