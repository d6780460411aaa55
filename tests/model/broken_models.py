"""Ways to break a Transformer that leave every shape and some gradient as they were.

Each function takes a right model and changes one thing in it, in place.
"""

import math
from collections.abc import Callable

from torch import Tensor, nn

from transformer_course.model import (
    AddNorm,
    FeedForward,
    LayerNorm,
    MultiHeadAttention,
    Transformer,
    causal_mask,
    fused_attention,
)

Attend = Callable[[Tensor, Tensor, Tensor, Tensor | None], Tensor]


def _attend_by(model: Transformer, attend: Attend) -> None:
    for module in model.modules():
        if isinstance(module, MultiHeadAttention):
            module.attend = attend


def _replace_class(model: Transformer, right: type[nn.Module], broken: type[nn.Module]) -> None:
    for module in model.modules():
        if type(module) is right:
            module.__class__ = broken


def _scores(query: Tensor, key: Tensor) -> Tensor:
    return query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])


# The twelve


def no_mask(model: Transformer) -> None:
    _attend_by(model, lambda q, k, v, mask: fused_attention(q, k, v))


def inverted_mask(model: Transformer) -> None:
    def attend(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> Tensor:
        return fused_attention(q, k, v, None if mask is None else ~mask)

    _attend_by(model, attend)


def no_scale(model: Transformer) -> None:
    def attend(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> Tensor:
        return fused_attention(q * math.sqrt(q.shape[-1]), k, v, mask)

    _attend_by(model, attend)


def softmax_over_queries(model: Transformer) -> None:
    def attend(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> Tensor:
        scores = _scores(q, k)
        if mask is not None:
            scores = scores.masked_fill(~mask, -1e9)
        return scores.softmax(dim=-2) @ v

    _attend_by(model, attend)


def no_softmax(model: Transformer) -> None:
    def attend(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> Tensor:
        scores = _scores(q, k)
        if mask is not None:
            scores = scores.masked_fill(~mask, 0)
        return scores @ v

    _attend_by(model, attend)


def _head_view_without_transpose(x: Tensor) -> Tensor:
    return x.transpose(1, 2).reshape(x.shape)


def wrong_head_view(model: Transformer) -> None:
    def attend(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> Tensor:
        return fused_attention(*map(_head_view_without_transpose, (q, k, v)), mask)

    _attend_by(model, attend)


class _AttentionToItself(MultiHeadAttention):
    def forward(self, query: Tensor, memory: Tensor, mask: Tensor | None = None) -> Tensor:
        return super().forward(query, query, causal_mask(query.shape[1], query.device))


def cross_attention_ignoring_memory(model: Transformer) -> None:
    for layer in model.decoder.layers:
        layer.cross_attention.__class__ = _AttentionToItself


class _NoResidual(AddNorm):
    def forward(self, x: Tensor, sublayer: Callable[[Tensor], Tensor]) -> Tensor:
        return sublayer(self.norm(x)) if self.norm_first else self.norm(sublayer(x))


def no_residual(model: Transformer) -> None:
    _replace_class(model, AddNorm, _NoResidual)


class _NoReLU(FeedForward):
    def forward(self, x: Tensor) -> Tensor:
        return self.contract(self.expand(x))


def no_relu(model: Transformer) -> None:
    _replace_class(model, FeedForward, _NoReLU)


def zero_positional_encoding(model: Transformer) -> None:
    model.source_positions.encoding.zero_()
    model.target_positions.encoding.zero_()


class _DetachedDecoder(Transformer):
    def decode(self, target_ids: Tensor, memory: Tensor, source_ids: Tensor) -> Tensor:
        return super().decode(target_ids, memory.detach(), source_ids)


def detached_decoder(model: Transformer) -> None:
    model.__class__ = _DetachedDecoder


def key_projection_for_queries(model: Transformer) -> None:
    for module in model.modules():
        if isinstance(module, MultiHeadAttention):
            module.query_projection.forward = module.key_projection.forward


# More, for the checks that none of the twelve fails


def mask_of_the_first_sentence_for_all(model: Transformer) -> None:
    def attend(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> Tensor:
        return fused_attention(q, k, v, None if mask is None else mask[:1])

    _attend_by(model, attend)


class _NormOverTheBatch(LayerNorm):
    def forward(self, x: Tensor) -> Tensor:
        mean, variance = x.mean(), x.var(correction=0)
        return self.gain * (x - mean) / (variance + self.eps).sqrt() + self.bias


def norm_over_the_batch(model: Transformer) -> None:
    _replace_class(model, LayerNorm, _NormOverTheBatch)


def wrong_head_view_both_ways(model: Transformer) -> None:
    """Heads that are split and merged wrongly leak nothing from later to earlier tokens."""

    def attend(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> Tensor:
        q, k, v = map(_head_view_without_transpose, (q, k, v))
        output = fused_attention(q, k, v, mask)
        batch, heads, length, d_k = output.shape
        return output.reshape(batch, length, heads, d_k).transpose(1, 2)

    _attend_by(model, attend)
