"""Lesson 6: what holds for every right Transformer, whatever its weights; one test per property.

A test looks at what goes in and what comes out, never at the code. It takes any model with the
interface of :class:`~transformer_course.model.Transformer`, fresh or trained, and returns True
where the property holds. :func:`naive_test` shows how models are often tested instead.
"""

import math
from collections.abc import Callable, Iterator

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn
from torch.func import functional_call

from transformer_course.examine import adapters
from transformer_course.examine.bench import BATCH, EFFECT, SOURCE, TARGET, Bench, NotExamined
from transformer_course.examine.experiments import gradients
from transformer_course.examine.experiments import model as experiments
from transformer_course.model.feed_forward import FeedForward
from transformer_course.model.multi_head_attention import MultiHeadAttention
from transformer_course.model.transformer import evaluating

TOLERANCE = EFFECT  # A smaller change is rounding, a larger one an effect.
SECONDS = 60.0


def naive_test(network: nn.Module) -> bool:
    """Check that logits have the right shape and are finite, and that some gradient arrives."""
    bench = _bench(network)
    logits = network(bench.sources, bench.targets)
    if logits.shape != (BATCH, TARGET, network.config.target_vocab) or not logits.isfinite().all():
        return False
    following = bench.other_target_words(bench.targets)
    loss = F.cross_entropy(logits.flatten(0, 1), following.flatten())
    found = torch.autograd.grad(loss, [*network.parameters()], allow_unused=True)
    return any(gradient is not None and bool(gradient.any()) for gradient in found)


# The whole model: experiments that are made on any subject


def effect_of_target_tokens(network: nn.Module) -> Float[Tensor, "target target"]:
    """Return how far each token of a target (row) moves the logits at each position (column)."""
    return experiments.effect_of_target_tokens(_bench(network))


def sees_no_future(network: nn.Module) -> bool:
    """Check that no target token has an effect at an earlier position."""
    return experiments.future(_bench(network)).word == "none"


def sees_the_past(network: nn.Module) -> bool:
    """Check that each target token has an effect at its own and at every later position."""
    bench = _bench(network)
    return experiments.past(bench).word == "all" and experiments.own_token(bench).word == "yes"


def reads_the_source(network: nn.Module) -> bool:
    """Check that each source token has an effect."""
    return experiments.source(_bench(network)).word == "all"


def ignores_padding(network: nn.Module) -> bool:
    """Check that padding behind source and target does not change the logits of real tokens."""
    bench = _bench(network)
    return (
        experiments.source_padding(bench).word == "no"
        and experiments.target_padding(bench).word == "no"
    )


def ignores_the_batch(network: nn.Module) -> bool:
    """Check that a sentence gets the same logits alone as among others."""
    return experiments.other_sentences(_bench(network)).word == "no"


def tells_positions_apart(network: nn.Module) -> bool:
    """Check that a repeated word counts for something else at each position."""
    try:
        return experiments.positions(_bench(network)).word == "in both"
    except NotExamined:  # there is no source to look at
        return True


def trains_every_parameter(network: nn.Module) -> bool:
    """Check that the loss has a gradient with respect to every parameter."""
    return gradients.gradients(_bench(network)).word == "for all"


def reads_only_the_memory(network: nn.Module) -> bool:
    """Check that the decoder takes from the source ids only where padding stands."""
    bench = _bench(network)
    source, target = bench.ragged
    padded = source == network.config.pad_id
    other_source = torch.where(padded, source, bench.other_source_words(source))
    with evaluating(network):
        memory = network.encode(source)
        # What stands in the memory at padded positions must not count either.
        other_memory = torch.where(padded[:, :, None], _noise(*memory.shape).to(memory), memory)
        return _same(
            network.decode(target, other_memory, other_source),
            network.decode(target, memory, source),
        )


# Its parts


def keeps_the_residual(network: nn.Module) -> bool:
    """Check that encoder and decoder still know their input when all sub-layers are silent."""
    x = _vectors(network, batch=1, length=2)
    for stack, inputs in ((network.encoder, (x,)), (network.decoder, (x, x))):
        silent = {
            name: torch.zeros_like(parameter)
            for name, parameter in stack.named_parameters()
            if "output_projection" in name or "contract" in name
        }
        with evaluating(stack):
            first, second = functional_call(stack, silent, inputs)[0]
        if not _all_differ(first, second):
            return False
    return True


def averages_the_values(network: nn.Module) -> bool:
    """Check that attention weights sum to 1: the mean of equal values is that value."""
    query, value = _vectors(network, BATCH, TARGET), _vectors(network, 1, 1)
    return all(
        _same(attention(query, value.expand(BATCH, SOURCE, -1)), attention(query[:1, :1], value))
        for attention in _parts(network, MultiHeadAttention)
    )


def ignores_memory_order(network: nn.Module) -> bool:
    """Check that attention without a mask finds the same in whatever order the memory stands."""
    query, memory = _vectors(network, BATCH, TARGET), _vectors(network, BATCH, SOURCE, seed=1)
    return all(
        _same(attention(query, memory.flip(1)), attention(query, memory))
        for attention in _parts(network, MultiHeadAttention)
    )


def divides_by_root_d_k(network: nn.Module) -> bool:
    """Check that scores are divided by the root of a head's width before the softmax."""
    root_d_k = math.sqrt(network.config.d_model / network.config.heads)
    query, memory = 0.5 * _vectors(network, 1, TARGET), 0.5 * _vectors(network, 1, 2, seed=1)

    def divides(attention: MultiHeadAttention) -> bool:
        scores, log_weights = _preferences(attention, query, memory)
        # Not the quotient: where the scores nearly agree it is all rounding.
        error = (scores - root_d_k * log_weights).abs().max()
        return bool(error < 0.01 * scores.abs().max())

    return all(map(divides, _parts(network, MultiHeadAttention)))


def is_not_linear(network: nn.Module) -> bool:
    """Check that feed-forward is not affine, where f(x + y) + f(0) = f(x) + f(y) would hold."""
    x, y = _vectors(network, 1, TARGET), _vectors(network, 1, TARGET, seed=1)
    return all(
        _all_differ(f(x + y) + f(torch.zeros_like(x)), f(x) + f(y))
        for f in _parts(network, FeedForward)
    )


Test = Callable[[nn.Module], bool]
TESTS: tuple[Test, ...] = (
    sees_no_future,
    sees_the_past,
    reads_the_source,
    reads_only_the_memory,
    ignores_padding,
    ignores_the_batch,
    tells_positions_apart,
    trains_every_parameter,
    keeps_the_residual,
    averages_the_values,
    ignores_memory_order,
    divides_by_root_d_k,
    is_not_linear,
)


def failed_tests(network: nn.Module) -> set[str]:
    """Name the properties that the model lacks."""
    return {test.__name__ for test in TESTS if not test(network)}


# What the tests are made of


def _bench(network: nn.Module) -> Bench:
    return Bench(adapters.course(network), SECONDS)


def _change(a: Tensor, b: Tensor) -> Tensor:
    """Return how far the vectors along the last axis have moved."""
    return (a - b).abs().amax(dim=-1)


def _same(a: Tensor, b: Tensor) -> bool:
    return bool((_change(a, b) < TOLERANCE).all())


def _all_differ(a: Tensor, b: Tensor) -> bool:
    return bool((_change(a, b) > TOLERANCE).all())


def _noise(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def _vectors(network: nn.Module, batch: int, length: int, seed: int = 0) -> Tensor:
    """Draw vectors of the model's width and number type."""
    return _noise(batch, length, network.config.d_model, seed=seed).to(network.output.weight)


def _parts(network: nn.Module, kind: type[nn.Module]) -> Iterator[nn.Module]:
    return (module for module in network.modules() if isinstance(module, kind))


def _preferences(
    attention: MultiHeadAttention, query: Tensor, memory: Tensor
) -> tuple[Tensor, Tensor]:
    """Return by how much each query and head prefers one key, in scores and in log-weights.

    With two keys, a head's output lies on the line between two values, and where on it is the
    weight: so it can be read from outside.
    """
    weight, bias = attention.output_projection.parameters()
    as_it_is = {
        "output_projection.weight": torch.eye(len(weight)).to(weight),
        "output_projection.bias": torch.zeros_like(bias),
    }
    merged = functional_call(attention, as_it_is, (query, memory))

    def by_head(x: Tensor) -> Tensor:
        return x[0].unflatten(-1, (attention.heads, -1))  # (length, heads, d_k)

    q, output = by_head(attention.query_projection(query)), by_head(merged)
    key_0, key_1 = by_head(attention.key_projection(memory))
    value_0, value_1 = by_head(attention.value_projection(memory))
    line = value_0 - value_1
    weight_0 = ((output - value_1) * line).sum(dim=-1) / line.square().sum(dim=-1)
    return (q * (key_0 - key_1)).sum(dim=-1), weight_0.logit()
