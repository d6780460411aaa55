"""Linear attention that corrects what it has written: the gated delta rule.

Sources: Schlag et al. (2021), "Linear Transformers Are Secretly Fast Weight Programmers", section
4.2; Yang et al. (2024), "Gated Delta Networks: Improving Mamba2 with Delta Rule", section 3.1.
"""

import math

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from transformer_course.model.multi_head_attention import (
    MultiHeadAttention,
    merge_heads,
    split_heads,
)
from transformer_course.model.variants.positions import Mask


def delta_rule_step(
    query: Float[Tensor, "*batch d_k"],
    key: Float[Tensor, "*batch d_k"],
    value: Float[Tensor, "*batch d_v"],
    keep: Float[Tensor, "*batch"],
    rate: Float[Tensor, "*batch"],
    state: Float[Tensor, "*batch d_k d_v"],
) -> tuple[Float[Tensor, "*batch d_v"], Float[Tensor, "*batch d_k d_v"]]:
    """Forget a little, correct what the key finds, then let the query look.

    Parameters
    ----------
    query, key, value
        Those of the newest token; keys have length 1.
    keep
        Share of the state that is kept, 0 to 1.
    rate
        Share of the error that is corrected: with 1, the key finds exactly the value afterwards.
    state
        What the tokens before have left; zeros at first.

    Returns
    -------
    output, state
        What the query finds, and the new state.
    """
    state = keep[..., None, None] * state
    error = value - (key[..., None, :] @ state)[..., 0, :]
    state = state + rate[..., None, None] * key[..., :, None] * error[..., None, :]
    return (query[..., None, :] @ state)[..., 0, :], state


class DeltaAttention(MultiHeadAttention):
    """Self-attention by the gated delta rule, token after token; each token chooses its gates.

    In the place of a cache there is a state of ``heads * key_features * d_model / heads`` numbers,
    however long the text. It only looks back, so it knows the order of the tokens.

    Parameters
    ----------
    d_model, heads
        As in :class:`MultiHeadAttention`.
    key_features
        Width of a head's queries and keys; by default that of its values.
    """

    def __init__(self, d_model: int, heads: int, key_features: int | None = None) -> None:
        super().__init__(d_model, heads)
        features = key_features or d_model // heads
        self.query_projection = nn.Linear(d_model, heads * features)
        self.key_projection = nn.Linear(d_model, heads * features)
        self.keep = nn.Linear(d_model, heads)
        self.rate = nn.Linear(d_model, heads)
        nn.init.constant_(self.keep.bias, math.log(99))  # 0.99 is kept at first

    def forward(
        self,
        query: Float[Tensor, "batch length d_model"],
        memory: Float[Tensor, "batch length d_model"],
        mask: Mask = None,
    ) -> Float[Tensor, "batch length d_model"]:
        """Read ``memory`` from its first token to its last; the mask is not needed."""
        value = split_heads(self.value_projection(memory), self.heads)
        q, k = (
            F.normalize(F.silu(split_heads(part, self.heads)), dim=-1)
            for part in (self.query_projection(query), self.key_projection(memory))
        )
        keep, rate = (gate(memory).sigmoid().transpose(1, 2) for gate in (self.keep, self.rate))
        state = value.new_zeros(*value.shape[:2], k.shape[-1], value.shape[-1])
        outputs = []
        for token in range(value.shape[2]):
            now = (x[:, :, token] for x in (q, k, value, keep, rate))
            output, state = delta_rule_step(*now, state)
            outputs.append(output)
        return self.output_projection(merge_heads(torch.stack(outputs, dim=2)))
