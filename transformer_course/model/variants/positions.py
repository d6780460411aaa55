"""Positions as distances: attention itself is told how far each key lies from the query.

Nothing is added to the words. Each of these takes the place of the look-up in a multi-head
self-attention, such as ``attention.attend = rotary_attention``, and the queries are the last of the
keys' positions, as in decoding with a cache. Their weights are not what
:func:`~transformer_course.model.capture_attention` computes, so it leaves such a module out.

Sources: Shaw et al. (2018), "Self-Attention with Relative Position Representations"; Raffel et al.
(2020), "Exploring the Limits of Transfer Learning with a Unified Text-to-Text Transformer", section
2.1; Su et al. (2021), "RoFormer: Enhanced Transformer with Rotary Position Embedding", section 3.4;
Press et al. (2022), "Train Short, Test Long: Attention with Linear Biases Enables Input Length
Extrapolation", section 3.
"""

import math

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from transformer_course.model.attention import fused_attention
from transformer_course.model.positional_encoding import angular_frequencies

Mask = Bool[Tensor, "..."] | None


def offsets(queries: int, keys: int) -> Int[Tensor, "queries keys"]:
    """Return how many positions each key lies after each query, negative where it lies before.

    The last query and the last key share a position.

    Raises
    ------
    ValueError
        If there are more queries than keys.
    """
    if queries > keys:
        raise ValueError(f"the queries are the last of the keys; got {queries} and {keys}.")
    key = torch.arange(keys)
    return key - key[keys - queries :, None]


def biased_attention(
    query: Float[Tensor, "*batch query d_k"],
    key: Float[Tensor, "*batch key d_k"],
    value: Float[Tensor, "*batch key d_v"],
    bias: Float[Tensor, "..."],
    mask: Mask = None,
) -> Float[Tensor, "*batch query d_v"]:
    """Attend with ``bias`` added to the scaled scores, whose shape it can be broadcast to."""
    if mask is not None:
        bias = bias.masked_fill(~mask, -math.inf)
    return F.scaled_dot_product_attention(query, key, value, attn_mask=bias.to(query.dtype))


class RelativeAttention(nn.Module):
    """A trained vector for each distance, compared with the query as if it were a key.

    Of Shaw et al.'s equation 4, the part that acts on the keys; values are left alone. Distances
    beyond ``limit`` share the vector of the limit.

    Parameters
    ----------
    d_k
        Features of a head; all heads share the vectors.
    limit
        Largest distance with a vector of its own, in tokens.
    """

    def __init__(self, d_k: int, limit: int = 16) -> None:
        super().__init__()
        self.limit = limit
        self.vectors = nn.Embedding(2 * limit + 1, d_k)
        nn.init.normal_(self.vectors.weight, std=d_k**-0.5)

    def forward(
        self,
        query: Float[Tensor, "batch heads query d_k"],
        key: Float[Tensor, "batch heads key d_k"],
        value: Float[Tensor, "batch heads key d_v"],
        mask: Mask = None,
    ) -> Float[Tensor, "batch heads query d_v"]:
        """Attend by content and distance."""
        distance = offsets(query.shape[2], key.shape[2])
        row = distance.clamp(-self.limit, self.limit) + self.limit
        # Each query meets all vectors once; then each key takes the one of its distance.
        scores = query @ self.vectors.weight.T / math.sqrt(query.shape[-1])
        bias = scores.gather(-1, row.to(scores.device).expand(*scores.shape[:2], -1, -1))
        return biased_attention(query, key, value, bias, mask)


def t5_buckets(
    offset: Int[Tensor, "..."], buckets: int = 32, farthest: int = 128, both_sides: bool = True
) -> Int[Tensor, "..."]:
    """Return the bucket of each offset: exact for short distances, ever wider for long ones.

    Parameters
    ----------
    offset
        Position of the key minus that of the query.
    buckets
        How many there are.
    farthest
        From this distance on, all share the last bucket.
    both_sides
        Whether keys after the query have half of the buckets; otherwise they count as distance 0.

    Raises
    ------
    ValueError
        If there are too few buckets, or more of them for single distances than ``farthest``.
    """
    if not 1 <= buckets // (4 if both_sides else 2) < farthest:
        raise ValueError(
            f"half of each side's buckets are for single distances, which has to be at least one "
            f"and less than farthest; got {buckets=}, {farthest=}, {both_sides=}."
        )
    if both_sides:
        buckets //= 2
        side = buckets * (offset > 0)
        distance = offset.abs()
    else:
        side = 0
        distance = (-offset).clamp(min=0)
    exact = buckets // 2
    # The other buckets are equally wide on a logarithmic scale from `exact` to `farthest`.
    growth = torch.log(distance.clamp(min=1) / exact) / math.log(farthest / exact)
    wide = (exact + (growth * (buckets - exact)).long()).clamp(max=buckets - 1)
    return side + torch.where(distance < exact, distance, wide)


class BucketAttention(nn.Module):
    """A trained number for each head and bucket of distances is added to the scores, as in T5.

    T5's layers share one table (pass one object to all) and do not divide scores by sqrt(d_k);
    these do.

    Parameters
    ----------
    heads
        Number of heads.
    buckets, farthest, both_sides
        As in :func:`t5_buckets`.
    """

    def __init__(
        self, heads: int, buckets: int = 32, farthest: int = 128, both_sides: bool = True
    ) -> None:
        super().__init__()
        self.sizes = (buckets, farthest, both_sides)
        self.biases = nn.Embedding(buckets, heads)
        nn.init.zeros_(self.biases.weight)

    def forward(
        self,
        query: Float[Tensor, "batch heads query d_k"],
        key: Float[Tensor, "batch heads key d_k"],
        value: Float[Tensor, "batch heads key d_v"],
        mask: Mask = None,
    ) -> Float[Tensor, "batch heads query d_v"]:
        """Attend by content and distance."""
        rows = t5_buckets(offsets(query.shape[2], key.shape[2]), *self.sizes)
        bias = self.biases(rows.to(query.device)).movedim(-1, 0)  # (heads, query, key)
        return biased_attention(query, key, value, bias, mask)


def rotary_frequencies(d_k: int, base: int = 10_000) -> Float[Tensor, "pairs"]:
    """Return by how many radians each pair turns at each step: ``base ** (-2 i / d_k)``."""
    return angular_frequencies(d_k) ** math.log(base, 10_000)


def rotate(
    x: Float[Tensor, "*batch length d_k"], first: int = 0, base: int = 10_000
) -> Float[Tensor, "..."]:
    """Turn each pair of features by the angle of its position (RoFormer, equation 34).

    Features ``2i`` and ``2i + 1`` turn by ``position * rotary_frequencies(d_k, base)[i]``. The dot
    product of a turned query and a turned key depends on their positions through the offset alone.

    Parameters
    ----------
    x
        Queries or keys of each head.
    first
        Position of the first vector.
    base
        The larger it is, the slower the slow pairs turn.

    Raises
    ------
    ValueError
        If ``d_k`` is odd.
    """
    position = torch.arange(first, first + x.shape[-2], dtype=torch.float64)
    angle = position[:, None] * rotary_frequencies(x.shape[-1], base)  # (length, pairs)
    cos, sin = angle.cos().to(x), angle.sin().to(x)
    even, odd = x[..., 0::2], x[..., 1::2]
    return torch.stack([even * cos - odd * sin, even * sin + odd * cos], dim=-1).flatten(-2)


def rotary_attention(
    query: Float[Tensor, "*batch query d_k"],
    key: Float[Tensor, "*batch key d_k"],
    value: Float[Tensor, "*batch key d_v"],
    mask: Mask = None,
) -> Float[Tensor, "*batch query d_v"]:
    """Attend with queries and keys turned by :func:`rotate`; values stay as they are."""
    first = key.shape[-2] - query.shape[-2]
    return fused_attention(rotate(query, first), rotate(key), value, mask)


def alibi_slopes(heads: int) -> Float[Tensor, "heads"]:
    """Return each head's slope: for 8 heads 1/2, 1/4, ..., 1/256, in general powers of 2^(-8/n).

    For a number of heads that is not a power of two, the authors' code takes the slopes of the
    power below, and then every other slope of the power above.

    Raises
    ------
    ValueError
        If there is no head.
    """
    if heads < 1:
        raise ValueError(f"there must be at least one head; got {heads}.")
    power = 2 ** math.floor(math.log2(heads))
    exponents = [*range(2, 2 * power + 1, 2), *range(1, 2 * power, 2)]
    return torch.tensor([2 ** (-4 * exponent / power) for exponent in exponents[:heads]])


def alibi_bias(heads: int, queries: int, keys: int) -> Float[Tensor, "heads queries keys"]:
    """Return minus slope times distance, for the scores of each head.

    The authors only look back; here keys after the query lose as much as those before it.
    """
    return -alibi_slopes(heads)[:, None, None] * offsets(queries, keys).abs()


def alibi_attention(
    query: Float[Tensor, "*batch heads query d_k"],
    key: Float[Tensor, "*batch heads key d_k"],
    value: Float[Tensor, "*batch heads key d_v"],
    mask: Mask = None,
) -> Float[Tensor, "*batch heads query d_v"]:
    """Attend with :func:`alibi_bias` added to the scores: the farther, the less."""
    bias = alibi_bias(*query.shape[-3:-1], key.shape[-2])
    return biased_attention(query, key, value, bias.to(query), mask)
