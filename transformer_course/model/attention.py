"""Lesson 2: attention, a look-up that blends, and the masks that say where it may look.

Source: Vaswani et al. (2017), "Attention Is All You Need", sections 3.2.1 and 3.2.3.

A mask is boolean and True means "may attend". It is broadcast to the scores' shape
(batch, heads, query, key). A query with nothing to attend to gets zeros.
"""

import math

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor


def padding_mask(ids: Int[Tensor, "batch key"], pad_id: int) -> Bool[Tensor, "batch 1 1 key"]:
    """Allow every query to attend to the tokens that are not padding."""
    return (ids != pad_id)[:, None, None, :]


def causal_mask(
    length: int, device: torch.device | str | None = None
) -> Bool[Tensor, "length length"]:
    """Allow each position to attend to itself and to earlier positions (section 3.2.3)."""
    return torch.ones(length, length, dtype=torch.bool, device=device).tril()


def target_mask(
    ids: Int[Tensor, "batch length"], pad_id: int
) -> Bool[Tensor, "batch 1 length length"]:
    """Allow what both the padding mask and the causal mask allow."""
    return padding_mask(ids, pad_id) & causal_mask(ids.shape[1], ids.device)


def _check_mask(mask: Tensor, scores_shape: torch.Size) -> None:
    if mask.dtype != torch.bool:
        raise TypeError(
            f"a mask must be boolean with True = may attend; got {mask.dtype}. "
            f"Write `mask.bool()` if 1 means attend, `mask == 0` if 1 means hide."
        )
    # A (batch, query, key) mask would broadcast over heads when batch == heads: silently wrong.
    if mask.dim() not in (2, len(scores_shape)):
        raise ValueError(
            f"the mask has {mask.dim()} axes {tuple(mask.shape)}, the scores have "
            f"{len(scores_shape)} {tuple(scores_shape)}. Give it 2 axes (query, key) or one for "
            f"each axis of the scores, for example with `mask.unsqueeze(1)` for the heads."
        )
    pairs = zip(reversed(mask.shape), reversed(scores_shape), strict=False)
    if any(size not in (1, wanted) for size, wanted in pairs):
        raise ValueError(
            f"the mask's shape {tuple(mask.shape)} does not fit the scores' shape "
            f"{tuple(scores_shape)}. Its last two axes are (query, key); an axis may be 1."
        )


def scaled_dot_product_attention(
    query: Float[Tensor, "*batch query d_k"],
    key: Float[Tensor, "*batch key d_k"],
    value: Float[Tensor, "*batch key d_v"],
    mask: Bool[Tensor, "..."] | None = None,
) -> tuple[Float[Tensor, "*batch query d_v"], Float[Tensor, "*batch query key"]]:
    """Blend the values by how well each key fits the query, as in equation 1 of the paper.

    Returns
    -------
    output
        For each query the weighted mean of the values.
    weights
        For each query how much it attends to each key; rows sum to 1, or to 0 where the mask
        allows no key.

    Raises
    ------
    TypeError
        If the mask is not boolean.
    ValueError
        If the mask does not fit the scores.
    """
    d_k = query.shape[-1]
    scores = query @ key.transpose(-2, -1) / math.sqrt(d_k)  # (..., query, key)
    if mask is None:
        weights = scores.softmax(dim=-1)
    else:
        _check_mask(mask, scores.shape)
        # The lowest finite number, not -inf: a row without any key would become NaN.
        lowest = torch.finfo(scores.dtype).min
        weights = scores.masked_fill(~mask, lowest).softmax(dim=-1)
        weights = weights.masked_fill(~mask, 0.0)
    return weights @ value, weights


def fused_attention(
    query: Float[Tensor, "*batch query d_k"],
    key: Float[Tensor, "*batch key d_k"],
    value: Float[Tensor, "*batch key d_v"],
    mask: Bool[Tensor, "..."] | None = None,
) -> Float[Tensor, "*batch query d_v"]:
    """Compute the same output by torch's fused kernel, which never stores the weights.

    Errors are those of :func:`scaled_dot_product_attention`; as many values as keys are wanted.
    """
    if key.shape[-2] != value.shape[-2]:  # the kernel does not look, and reads past the end
        raise ValueError(
            f"each key needs its value; got {key.shape[-2]} keys and {value.shape[-2]} values."
        )
    if mask is not None:
        batch = torch.broadcast_shapes(query.shape[:-2], key.shape[:-2])
        _check_mask(mask, torch.Size([*batch, query.shape[-2], key.shape[-2]]))
    return F.scaled_dot_product_attention(query, key, value, attn_mask=mask)
