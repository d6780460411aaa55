"""Forced decoding: the probability of a translation that is given."""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from transformer_course.model import Transformer, evaluating
from transformer_course.translation.decoding.prefix_scorers import log_probabilities

SCORES_AT_ONCE = 2**25
"""Numbers of 4 bytes, of which there are two copies: more would fill gigabytes."""


def sequence_log_probability(
    model: Transformer,
    source_ids: Int[Tensor, "batch source"],
    target_in: Int[Tensor, "batch target"],
    target_out: Int[Tensor, "batch target"],
) -> Float[Tensor, "batch"]:
    """Log-probability that the model gives to whole translations, in nats: forced decoding.

    Parameters
    ----------
    model
        The translator.
    source_ids, target_in, target_out
        A batch as from :func:`~transformer_course.translation.collate`; padding does not
        count.

    Raises
    ------
    ValueError
        If ``target_in`` and ``target_out`` differ in shape, or the model cannot read the ids.
    """
    if target_in.shape != target_out.shape:
        raise ValueError(
            f"target_in and target_out must have the same shape; got {tuple(target_in.shape)} and "
            f"{tuple(target_out.shape)}. Both come from the same call of collate."
        )
    rows = max(1, SCORES_AT_ONCE // (target_in.shape[1] * model.config.target_vocab))
    batch = (ids.split(rows) for ids in (source_ids, target_in, target_out))
    with evaluating(model):
        return torch.cat([_sums(model, *some) for some in zip(*batch, strict=True)])


def _sums(
    model: Transformer, source_ids: Tensor, target_in: Tensor, target_out: Tensor
) -> Float[Tensor, "batch"]:
    scores = log_probabilities(model(source_ids, target_in))
    chosen = scores.gather(-1, target_out[..., None]).squeeze(-1)
    return chosen.masked_fill(target_out == model.config.pad_id, 0.0).sum(dim=-1)
