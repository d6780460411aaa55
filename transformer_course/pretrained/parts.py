"""What Marian computes otherwise than the paper, as parts that take the place of the paper's.

Source: Junczys-Dowmunt et al. (2018), "Marian: Fast Neural Machine Translation in C++"; what is
said of its numbers was found out with the implementation in Hugging Face's ``transformers``.
"""

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from transformer_course.model import FeedForward, SinusoidalPositionalEncoding, Transformer


class SwishFeedForward(FeedForward):
    """The feed-forward network with ``x * sigmoid(x)`` in place of ReLU.

    Source: Ramachandran et al. (2017), "Searching for Activation Functions", who named it swish;
    torch calls it SiLU.
    """

    def forward(
        self, x: Float[Tensor, "batch length d_model"]
    ) -> Float[Tensor, "batch length d_model"]:
        """Apply the same two layers at every position."""
        return self.contract(F.silu(self.expand(x)))


class SinesThenCosines(SinusoidalPositionalEncoding):
    """The paper's sinusoids in another order: first all sines, then all cosines."""

    def __init__(self, d_model: int, max_len: int = 5000, dropout: float = 0.1) -> None:
        super().__init__(d_model, max_len, dropout)
        self.encoding = torch.cat([self.encoding[:, 0::2], self.encoding[:, 1::2]], dim=1)


def use_swish(network: nn.Module) -> None:
    """Put swish into all layers of a Transformer; its weights are new."""
    config = network.config
    for layer in (*network.encoder.layers, *network.decoder.layers):
        layer.feed_forward = SwishFeedForward(config.d_model, config.d_ff)


def use_sines_then_cosines(network: nn.Module) -> None:
    """Let a Transformer add its sinusoids in Marian's order."""
    config = network.config
    network.source_positions, network.target_positions = (
        SinesThenCosines(config.d_model, config.max_len, config.dropout) for _ in range(2)
    )


def use_output_bias(network: Transformer) -> None:
    """Give the output layer a bias, which starts at zero, and leave its table as it is."""
    table = network.output.weight
    network.output = nn.Linear(*reversed(table.shape))
    network.output.weight = table
    nn.init.zeros_(network.output.bias)
