"""Lesson 6: twelve ways to break a Transformer that leave every shape, and some gradient, intact.

Each function takes a right model and changes one thing in it, in place.
"""

import copy
import math
from collections.abc import Callable

from torch import Tensor, nn

from transformer_course.examine.properties import TESTS, naive_test
from transformer_course.model import (
    AddNorm,
    FeedForward,
    MultiHeadAttention,
    Transformer,
    causal_mask,
    fused_attention,
)

Attend = Callable[[Tensor, Tensor, Tensor, Tensor | None], Tensor]


def attend_by(network: Transformer, attend: Attend) -> None:
    """Let every attention in the model compute by another function."""
    for module in _attentions(network):
        module.attend = attend


def replace_class(network: Transformer, right: type[nn.Module], broken: type[nn.Module]) -> None:
    """Give every module of one class the methods of another."""
    for module in network.modules():
        if type(module) is right:
            module.__class__ = broken


def _attentions(network: Transformer) -> list[MultiHeadAttention]:
    return [module for module in network.modules() if isinstance(module, MultiHeadAttention)]


def _scores(query: Tensor, key: Tensor) -> Tensor:
    return query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])


def no_mask(network: Transformer) -> None:
    """Let every position attend to every position, future and padding included."""
    attend_by(network, lambda q, k, v, mask: fused_attention(q, k, v))


def inverted_mask(network: Transformer) -> None:
    """Let each position attend to what its mask forbids, and to nothing else."""

    def attend(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> Tensor:
        return fused_attention(q, k, v, None if mask is None else ~mask)

    attend_by(network, attend)


def no_scale(network: Transformer) -> None:
    """Do not divide the scores by the root of d_k."""

    def attend(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> Tensor:
        return fused_attention(q * math.sqrt(q.shape[-1]), k, v, mask)

    attend_by(network, attend)


def softmax_over_queries(network: Transformer) -> None:
    """Let the attention weights of each key sum to 1, instead of those of each query."""

    def attend(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> Tensor:
        scores = _scores(q, k)
        if mask is not None:
            scores = scores.masked_fill(~mask, -1e9)
        return scores.softmax(dim=-2) @ v

    attend_by(network, attend)


def no_softmax(network: Transformer) -> None:
    """Use the scores as attention weights as they are, with 0 where the mask forbids."""

    def attend(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> Tensor:
        scores = _scores(q, k)
        if mask is not None:
            scores = scores.masked_fill(~mask, 0)
        return scores @ v

    attend_by(network, attend)


def head_view_without_transpose(x: Tensor) -> Tensor:
    """Cut (batch, heads, length, d_k) as a view does that forgets to transpose."""
    return x.transpose(1, 2).reshape(x.shape)


def wrong_head_view(network: Transformer) -> None:
    """Split heads by a view without a transpose, which mixes up positions and heads."""

    def attend(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> Tensor:
        return fused_attention(*map(head_view_without_transpose, (q, k, v)), mask)

    attend_by(network, attend)


class _AttentionToItself(MultiHeadAttention):
    def forward(self, query: Tensor, memory: Tensor, mask: Tensor | None = None) -> Tensor:
        return super().forward(query, query, causal_mask(query.shape[1], query.device))


def cross_attention_ignoring_memory(network: Transformer) -> None:
    """Take keys and values of the cross-attention from the target instead of the memory."""
    for layer in network.decoder.layers:
        layer.cross_attention.__class__ = _AttentionToItself


class _NoResidual(AddNorm):
    def forward(self, x: Tensor, sublayer: Callable[[Tensor], Tensor]) -> Tensor:
        return sublayer(self.norm(x)) if self.norm_first else self.norm(sublayer(x))


def no_residual(network: Transformer) -> None:
    """Put what a sub-layer returns in place of its input, instead of adding it."""
    replace_class(network, AddNorm, _NoResidual)


class _NoReLU(FeedForward):
    def forward(self, x: Tensor) -> Tensor:
        return self.contract(self.expand(x))


def no_relu(network: Transformer) -> None:
    """Leave the ReLU out of the feed-forward networks."""
    replace_class(network, FeedForward, _NoReLU)


def zero_positional_encoding(network: Transformer) -> None:
    """Set all positional encodings to 0."""
    network.source_positions.encoding.zero_()
    network.target_positions.encoding.zero_()


class _DetachedDecoder(Transformer):
    def decode(self, target_ids: Tensor, memory: Tensor, source_ids: Tensor) -> Tensor:
        return super().decode(target_ids, memory.detach(), source_ids)


def detached_decoder(network: Transformer) -> None:
    """Let no gradient pass from the decoder to the encoder."""
    network.__class__ = _DetachedDecoder


def key_projection_for_queries(network: Transformer) -> None:
    """Make the queries with the matrix of the keys."""
    for attention in _attentions(network):
        attention.query_projection.forward = attention.key_projection.forward


Break = Callable[[Transformer], None]
TWELVE: dict[str, Break] = {
    break_model.__name__.replace("_", " "): break_model
    for break_model in (
        no_mask,
        inverted_mask,
        no_scale,
        softmax_over_queries,
        no_softmax,
        wrong_head_view,
        cross_attention_ignoring_memory,
        no_residual,
        no_relu,
        zero_positional_encoding,
        detached_decoder,
        key_projection_for_queries,
    )
}


def broken(name: str, network: Transformer) -> Transformer:
    """Return a copy of a right model, broken in the way that the name says."""
    other = copy.deepcopy(network)
    TWELVE[name](other)
    return other


def who_catches_whom(network: Transformer) -> dict[str, dict[str, bool]]:
    """Say for each test which models fail it: a right one, and its twelve broken copies.

    ``pandas.DataFrame`` makes a table of it, with a row for each model.
    """
    models = {"right model": network} | {name: broken(name, network) for name in TWELVE}
    return {
        test.__name__: {name: not test(each) for name, each in models.items()}
        for test in (naive_test, *TESTS)
    }
