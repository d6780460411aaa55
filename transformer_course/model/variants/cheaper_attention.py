"""Attention that costs less: fewer pairs, no softmax, fewer keys and values to keep.

Sources: Jiang et al. (2023), "Mistral 7B", section 2; Gemma Team (2025), "Gemma 3 Technical
Report", section 2; Katharopoulos et al. (2020), "Transformers are RNNs", sections 3.2 and 3.3;
Shazeer (2019), "Fast Transformer Decoding: One Write-Head is All You Need"; Ainslie et al. (2023),
"GQA: Training Generalized Multi-Query Transformer Models"; DeepSeek-AI (2024), "DeepSeek-V2: A
Strong, Economical, and Efficient Mixture-of-Experts Language Model", section 2.1.
"""

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor, nn

from transformer_course.model.attention import causal_mask, fused_attention
from transformer_course.model.multi_head_attention import (
    MultiHeadAttention,
    merge_heads,
    split_heads,
)
from transformer_course.model.variants.positions import Mask, offsets


def sliding_window_mask(length: int, window: int) -> Bool[Tensor, "length length"]:
    """Allow each position to attend to itself and to the ``window - 1`` before it."""
    return causal_mask(length) & (offsets(length, length) > -window)


def cached_tokens(length: int, layers: int, window: int, every: int) -> int:
    """Return how many tokens the caches of all layers hold together after ``length`` tokens.

    Each ``every``-th layer sees everything, the others the last ``window`` tokens: Gemma 3 has five
    of these to one of those.
    """
    whole = layers // every
    return whole * length + (layers - whole) * min(length, window)


def positive_features(x: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    """Make all features positive: elu(x) + 1, as Katharopoulos et al. do."""
    return F.elu(x) + 1


def linear_attention(
    query: Float[Tensor, "*batch query d_k"],
    key: Float[Tensor, "*batch key d_k"],
    value: Float[Tensor, "*batch key d_v"],
    mask: Mask = None,
) -> Float[Tensor, "*batch query d_v"]:
    """Weigh the values by dot products of positive features, without a softmax.

    Without a mask the product is taken from the right, so that its cost is linear in the length;
    with one, all scores are made, and a query without any key gets zeros.
    """
    query, key = positive_features(query), positive_features(key)
    if mask is None:
        total = key.sum(dim=-2)[..., None]  # (..., d_k, 1)
        return query @ (key.transpose(-2, -1) @ value) / _never_zero(query @ total)
    scores = (query @ key.transpose(-2, -1)).masked_fill(~mask, 0.0)
    return scores @ value / _never_zero(scores.sum(dim=-1, keepdim=True))


def _never_zero(total: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    """Let what nothing adds up to divide nothing: features far below 0 round to 0."""
    return total.clamp(min=torch.finfo(total.dtype).tiny)


def linear_attention_step(
    query: Float[Tensor, "*batch d_k"],
    key: Float[Tensor, "*batch d_k"],
    value: Float[Tensor, "*batch d_v"],
    state: tuple[Float[Tensor, "*batch d_k d_v"], Float[Tensor, "*batch d_k"]],
) -> tuple[
    Float[Tensor, "*batch d_v"],
    tuple[Float[Tensor, "*batch d_k d_v"], Float[Tensor, "*batch d_k"]],
]:
    """Compute :func:`linear_attention` under a causal mask one token at a time.

    Parameters
    ----------
    query, key, value
        Those of the newest token.
    state
        The sum of ``key value^T`` over the tokens before, and the sum of their keys, both after
        :func:`positive_features`; zeros at first. Its size does not depend on how many there were.

    Returns
    -------
    output, state
        What the token gathers, and the state with it.
    """
    query, key = positive_features(query), positive_features(key)
    memory, total = state
    memory = memory + key[..., :, None] * value[..., None, :]
    total = total + key
    gathered = (query[..., None, :] @ memory)[..., 0, :]
    return gathered / _never_zero((query * total).sum(dim=-1, keepdim=True)), (memory, total)


def grouped_query_attention(
    query: Float[Tensor, "batch heads query d_k"],
    key: Float[Tensor, "batch groups key d_k"],
    value: Float[Tensor, "batch groups key d_v"],
    mask: Mask = None,
) -> Float[Tensor, "batch heads query d_v"]:
    """Attend with neighbouring heads sharing a key and a value; ``groups`` divides ``heads``."""
    sharing = query.shape[1] // key.shape[1]
    key, value = (x.repeat_interleave(sharing, dim=1) for x in (key, value))
    return fused_attention(query, key, value, mask)


class GroupedQueryAttention(MultiHeadAttention):
    """Multi-head attention with fewer keys and values than queries.

    With one group this is multi-query attention, with as many as heads it is
    :class:`MultiHeadAttention`.

    Parameters
    ----------
    d_model, heads
        As there.
    groups
        Heads of keys and values; must divide ``heads``.

    Raises
    ------
    ValueError
        If it does not.
    """

    def __init__(self, d_model: int, heads: int, groups: int) -> None:
        super().__init__(d_model, heads)
        if groups < 1 or heads % groups:
            raise ValueError(
                f"heads must be divisible by groups, because heads / groups of them share a key; "
                f"got heads={heads}, groups={groups}."
            )
        self.groups = groups
        width = groups * (d_model // heads)
        self.key_projection = nn.Linear(d_model, width)
        self.value_projection = nn.Linear(d_model, width)
        self.attend = grouped_query_attention

    def keys_and_values(
        self, memory: Float[Tensor, "batch key d_model"]
    ) -> tuple[Float[Tensor, "batch groups key d_k"], Float[Tensor, "batch groups key d_k"]]:
        """Return what a cache keeps: one key and one value for each group."""
        key = split_heads(self.key_projection(memory), self.groups)
        value = split_heads(self.value_projection(memory), self.groups)
        return key, value


class LatentAttention(MultiHeadAttention):
    """Keys and values of all heads are made from one short vector, and only that is kept.

    This is multi-head latent attention without positions. (DeepSeek's heads have a few more
    features, which carry rotary positions; their keys are kept as they are, one for all heads.)

    Parameters
    ----------
    d_model, heads
        As in :class:`MultiHeadAttention`.
    rank
        Width of the short vector.
    """

    def __init__(self, d_model: int, heads: int, rank: int) -> None:
        super().__init__(d_model, heads)
        self.compress = nn.Linear(d_model, rank, bias=False)
        self.key_projection = nn.Linear(rank, d_model, bias=False)
        self.value_projection = nn.Linear(rank, d_model, bias=False)

    def keys_and_values(
        self, memory: Float[Tensor, "batch key d_model"]
    ) -> tuple[Float[Tensor, "batch heads key d_k"], Float[Tensor, "batch heads key d_k"]]:
        """Compress, then unfold."""
        return super().keys_and_values(self.compress(memory))

    def look_up_latents(
        self,
        query: Float[Tensor, "batch query d_model"],
        latent: Float[Tensor, "batch key rank"],
        mask: Mask = None,
    ) -> Float[Tensor, "batch query d_model"]:
        """Attend to the short vectors themselves, as to one key and value that all heads share.

        A key is ``unfold @ latent``, so its product with a query is the latent's product with
        ``unfold.T @ query``; in the same way values are unfolded after they were blended.
        """
        unfold_key, unfold_value = (
            part.weight.unflatten(0, (self.heads, -1))  # (heads, d_k, rank)
            for part in (self.key_projection, self.value_projection)
        )
        q = self.queries(query)
        q = q @ unfold_key * (unfold_key.shape[2] / q.shape[3]) ** 0.5  # it divides by sqrt(rank)
        gathered = grouped_query_attention(q, latent[:, None], latent[:, None], mask)
        return self.output_projection(merge_heads(gathered @ unfold_value.transpose(1, 2)))


def cache_bytes_per_token(layers: int, groups: int, d_k: int, bytes_of_one: int = 2) -> int:
    """Return how many bytes a decoder's cache keeps of each token: keys and values."""
    return 2 * layers * groups * d_k * bytes_of_one


def latent_bytes_per_token(layers: int, rank: int, rotary: int, bytes_of_one: int = 2) -> int:
    """Return the same for compressed keys: a short vector, and the features with positions."""
    return layers * (rank + rotary) * bytes_of_one
