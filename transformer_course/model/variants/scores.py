"""What is done to attention's scores, so that they stay small or may say "nothing".

Sources: Henry et al. (2020), "Query-Key Normalization for Transformers"; Dehghani et al. (2023),
"Scaling Vision Transformers to 22 Billion Parameters", section 2.1; OpenAI (2025), "gpt-oss-120b
and gpt-oss-20b Model Card", section 2.2.
"""

from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor, nn

from transformer_course.model.attention import fused_attention
from transformer_course.model.variants.parts import RMSNorm
from transformer_course.model.variants.positions import Mask, biased_attention


class NormedAttention(nn.Module):
    """QK-norm: queries and keys of each head go through an RMSNorm before the look-up.

    With gains of 1 all have the length ``sqrt(d_k)``, so a score is at most that, too.

    Parameters
    ----------
    d_k
        Features of a head; all heads share the gains.
    attend
        The look-up that follows.
    """

    def __init__(self, d_k: int, attend: Callable[..., Tensor] = fused_attention) -> None:
        super().__init__()
        self.query_norm, self.key_norm = RMSNorm(d_k), RMSNorm(d_k)
        self.attend = attend

    def forward(
        self,
        query: Float[Tensor, "batch heads query d_k"],
        key: Float[Tensor, "batch heads key d_k"],
        value: Float[Tensor, "batch heads key d_v"],
        mask: Mask = None,
    ) -> Float[Tensor, "batch heads query d_v"]:
        """Attend by directions, not by lengths."""
        return self.attend(self.query_norm(query), self.key_norm(key), value, mask)


class SinkAttention(nn.Module):
    """A trained score for each head takes part in the softmax, but has no value.

    It is as if there were one more key, to which all queries give this score and whose value is 0.
    So the weights of a head may add up to less than 1.

    Parameters
    ----------
    heads
        Number of heads.
    """

    def __init__(self, heads: int) -> None:
        super().__init__()
        self.sink = nn.Parameter(torch.zeros(heads))

    def forward(
        self,
        query: Float[Tensor, "batch heads query d_k"],
        key: Float[Tensor, "batch heads key d_k"],
        value: Float[Tensor, "batch heads key d_v"],
        mask: Mask = None,
    ) -> Float[Tensor, "batch heads query d_v"]:
        """Attend to the keys or to nothing."""
        batch, heads, queries, _ = query.shape
        nothing = key.new_zeros(batch, heads, 1, 1)
        key = torch.cat([key, nothing.expand(-1, -1, -1, key.shape[-1])], dim=2)
        value = torch.cat([value, nothing.expand(-1, -1, -1, value.shape[-1])], dim=2)
        bias = torch.zeros(batch, heads, queries, key.shape[2] - 1).to(query)
        if mask is not None:
            bias = bias.masked_fill(~mask, -torch.inf)
        sink = self.sink[None, :, None, None].expand(batch, -1, queries, 1)
        return biased_attention(query, key, value, torch.cat([bias, sink], dim=-1))
