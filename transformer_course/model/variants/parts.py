"""Norms and feed-forward networks that took the place of the paper's, and how to put them in.

Sources: Zhang and Sennrich (2019), "Root Mean Square Layer Normalization"; Hendrycks and Gimpel
(2016), "Gaussian Error Linear Units"; Shazeer (2020), "GLU Variants Improve Transformer".
"""

from collections.abc import Callable
from typing import TypeVar

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from transformer_course.model.feed_forward import FeedForward
from transformer_course.model.multi_head_attention import MultiHeadAttention

Part = TypeVar("Part", bound=nn.Module)


def rms_norm(
    x: Float[Tensor, "*batch d_model"], gain: Float[Tensor, "d_model"], eps: float = 1e-6
) -> Float[Tensor, "*batch d_model"]:
    """Divide each vector by its root mean square, then scale each feature; nothing is subtracted.

    Squares are taken in 32 bits at least, because in 16 bits those of 300 are infinite.
    """
    wide = x.to(torch.promote_types(x.dtype, torch.float32))
    normalised = wide * torch.rsqrt(wide.square().mean(dim=-1, keepdim=True) + eps)
    return gain * normalised.to(x.dtype)


class RMSNorm(nn.Module):
    """:func:`rms_norm` with a trained gain, by torch's kernel."""

    def __init__(self, d_model: int, eps: float = 1e-6) -> None:
        super().__init__()
        self.gain = nn.Parameter(torch.ones(d_model))
        self.eps = eps

    def forward(self, x: Float[Tensor, "*batch d_model"]) -> Float[Tensor, "*batch d_model"]:
        """Normalise the last axis."""
        return F.rms_norm(x, self.gain.shape, self.gain, self.eps)


class GELUFeedForward(FeedForward):
    """The paper's network with GELU, x times the normal distribution function of x, for ReLU."""

    def forward(
        self, x: Float[Tensor, "batch length d_model"]
    ) -> Float[Tensor, "batch length d_model"]:
        """Apply the same two layers at every position."""
        return self.contract(F.gelu(self.expand(x)))


class SwiGLU(nn.Module):
    """A gated feed-forward network: one hidden vector says how much of another gets through.

    Three matrices without biases take the place of two. To need as many weights as a
    :class:`FeedForward` of ``d_ff``, it is two thirds as wide.

    Parameters
    ----------
    d_model
        Width of the vectors that go in and come out.
    d_ff
        Width of the network that it replaces.
    """

    def __init__(self, d_model: int, d_ff: int) -> None:
        super().__init__()
        hidden = 2 * d_ff // 3
        self.gate = nn.Linear(d_model, hidden, bias=False)
        self.expand = nn.Linear(d_model, hidden, bias=False)
        self.contract = nn.Linear(hidden, d_model, bias=False)

    def forward(
        self, x: Float[Tensor, "batch length d_model"]
    ) -> Float[Tensor, "batch length d_model"]:
        """Gate with SiLU, x times the logistic function of x, also called Swish."""
        return self.contract(F.silu(self.gate(x)) * self.expand(x))


def replace_parts(
    network: nn.Module, kind: type[Part], make: Callable[[Part], nn.Module]
) -> nn.Module:
    """Put ``make(part)`` in the place of each part of exactly this kind; return the network.

    A network that is itself of this kind is left as it was, and ``make(network)`` returned.
    """
    if type(network) is kind:
        return make(network)
    parts = [(path, part) for path, part in network.named_modules() if type(part) is kind]
    for path, part in parts:
        parent, _, name = path.rpartition(".")
        setattr(network.get_submodule(parent), name, make(part))
    return network


def look_up_by(
    network: nn.Module, make: Callable[[MultiHeadAttention], Callable[..., Tensor]]
) -> nn.Module:
    """Give each self-attention another look-up; cross-attention keeps its own.

    ``make(attention)`` returns what is called in place of
    :func:`~transformer_course.model.fused_attention`. The network is returned.
    """
    for path, part in network.named_modules():
        if isinstance(part, MultiHeadAttention) and path.endswith("self_attention"):
            part.attend = make(part)
    return network


def without_biases(network: nn.Module) -> nn.Module:
    """Take the bias out of every linear layer; return the network."""
    for part in network.modules():
        if isinstance(part, nn.Linear):
            part.bias = None
    return network
