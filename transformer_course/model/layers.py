"""Lesson 5: layer norm, residual connections, and the layers of encoder and decoder.

Sources: Vaswani et al. (2017), "Attention Is All You Need", section 3.1; Ba et al. (2016),
"Layer Normalization"; Xiong et al. (2020), "On Layer Normalization in the Transformer
Architecture", for ``norm_first``.
"""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor, nn

from transformer_course.model.feed_forward import FeedForward
from transformer_course.model.multi_head_attention import MultiHeadAttention


def layer_norm(
    x: Float[Tensor, "*batch d_model"],
    gain: Float[Tensor, "d_model"],
    bias: Float[Tensor, "d_model"],
    eps: float = 1e-5,
) -> Float[Tensor, "*batch d_model"]:
    """Bring each vector to mean 0 and variance 1, then scale and shift each feature.

    The variance divides by ``d_model`` (not ``d_model - 1``) and ``eps`` stands inside the root.
    """
    mean = x.mean(dim=-1, keepdim=True)
    variance = x.var(dim=-1, keepdim=True, correction=0)
    return gain * (x - mean) / torch.sqrt(variance + eps) + bias


class LayerNorm(nn.Module):
    """:func:`layer_norm` with a trained gain and bias, by torch's fused kernel."""

    def __init__(self, d_model: int, eps: float = 1e-5) -> None:
        super().__init__()
        self.gain = nn.Parameter(torch.ones(d_model))
        self.bias = nn.Parameter(torch.zeros(d_model))
        self.eps = eps

    def forward(self, x: Float[Tensor, "*batch d_model"]) -> Float[Tensor, "*batch d_model"]:
        """Normalise the last axis."""
        return F.layer_norm(x, self.gain.shape, self.gain, self.bias, self.eps)


class AddNorm(nn.Module):
    """Residual connection with layer norm around a sub-layer.

    Parameters
    ----------
    d_model
        Width of each vector.
    dropout
        Probability of zeroing an element of the sub-layer's output during training (section 5.4).
    norm_first
        False normalises the sum, as the paper does (post-norm); True normalises what the
        sub-layer reads and leaves the residual stream alone (pre-norm).
    """

    def __init__(self, d_model: int, dropout: float, norm_first: bool) -> None:
        super().__init__()
        self.norm = LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)
        self.norm_first = norm_first

    def forward(
        self,
        x: Float[Tensor, "batch length d_model"],
        sublayer: Callable[[Tensor], Tensor],
    ) -> Float[Tensor, "batch length d_model"]:
        """Return ``x`` plus what the sub-layer makes of it."""
        if self.norm_first:
            return x + self.dropout(sublayer(self.norm(x)))
        return self.norm(x + self.dropout(sublayer(x)))


class EncoderLayer(nn.Module):
    """Self-attention and feed-forward, each inside :class:`AddNorm`."""

    def __init__(
        self, d_model: int, heads: int, d_ff: int, dropout: float = 0.1, norm_first: bool = False
    ) -> None:
        super().__init__()
        self.self_attention = MultiHeadAttention(d_model, heads)
        self.feed_forward = FeedForward(d_model, d_ff)
        self.add_norm_attention = AddNorm(d_model, dropout, norm_first)
        self.add_norm_feed_forward = AddNorm(d_model, dropout, norm_first)

    def forward(
        self,
        x: Float[Tensor, "batch source d_model"],
        source_mask: Bool[Tensor, "..."] | None = None,
    ) -> Float[Tensor, "batch source d_model"]:
        """Let the source positions look at one another, then work on each alone."""
        x = self.add_norm_attention(x, lambda x: self.self_attention(x, x, source_mask))
        return self.add_norm_feed_forward(x, self.feed_forward)


class DecoderLayer(nn.Module):
    """Masked self-attention, cross-attention and feed-forward, each inside :class:`AddNorm`."""

    def __init__(
        self, d_model: int, heads: int, d_ff: int, dropout: float = 0.1, norm_first: bool = False
    ) -> None:
        super().__init__()
        self.self_attention = MultiHeadAttention(d_model, heads)
        self.cross_attention = MultiHeadAttention(d_model, heads)
        self.feed_forward = FeedForward(d_model, d_ff)
        self.add_norm_self_attention = AddNorm(d_model, dropout, norm_first)
        self.add_norm_cross_attention = AddNorm(d_model, dropout, norm_first)
        self.add_norm_feed_forward = AddNorm(d_model, dropout, norm_first)

    def forward(
        self,
        x: Float[Tensor, "batch target d_model"],
        memory: Float[Tensor, "batch source d_model"],
        source_mask: Bool[Tensor, "..."] | None = None,
        target_mask: Bool[Tensor, "..."] | None = None,
    ) -> Float[Tensor, "batch target d_model"]:
        """Look at the target so far, then at the source, then work on each position alone."""
        x = self.add_norm_self_attention(x, lambda x: self.self_attention(x, x, target_mask))
        x = self.add_norm_cross_attention(x, lambda x: self.cross_attention(x, memory, source_mask))
        return self.add_norm_feed_forward(x, self.feed_forward)


def _final_norm(d_model: int, norm_first: bool) -> nn.Module:
    """Pre-norm leaves the sum of all layers unnormalised, so a stack ends with one more norm."""
    return LayerNorm(d_model) if norm_first else nn.Identity()


class _Stack(nn.Module):
    """Layers of one kind; with ``norm_first`` a final norm follows."""

    kind: type[nn.Module]

    def __init__(
        self,
        layers: int,
        d_model: int,
        heads: int,
        d_ff: int,
        dropout: float = 0.1,
        norm_first: bool = False,
    ) -> None:
        super().__init__()
        self.layers = nn.ModuleList(
            self.kind(d_model, heads, d_ff, dropout, norm_first) for _ in range(layers)
        )
        self.norm = _final_norm(d_model, norm_first)


class Encoder(_Stack):
    """A stack of encoder layers; with ``norm_first`` a final norm follows."""

    kind = EncoderLayer

    def forward(
        self,
        x: Float[Tensor, "batch source d_model"],
        source_mask: Bool[Tensor, "..."] | None = None,
    ) -> Float[Tensor, "batch source d_model"]:
        """Pass the source through every layer; the result is the decoder's memory."""
        for layer in self.layers:
            x = layer(x, source_mask)
        return self.norm(x)


class Decoder(_Stack):
    """A stack of decoder layers; with ``norm_first`` a final norm follows."""

    kind = DecoderLayer

    def forward(
        self,
        x: Float[Tensor, "batch target d_model"],
        memory: Float[Tensor, "batch source d_model"],
        source_mask: Bool[Tensor, "..."] | None = None,
        target_mask: Bool[Tensor, "..."] | None = None,
    ) -> Float[Tensor, "batch target d_model"]:
        """Pass the target through every layer, each reading the same memory."""
        for layer in self.layers:
            x = layer(x, memory, source_mask, target_mask)
        return self.norm(x)
