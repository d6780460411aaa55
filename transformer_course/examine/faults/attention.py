"""Attention along another axis, and heads that are cut wrongly."""

import math
from collections.abc import Callable

import torch
from torch import Tensor

from transformer_course.examine.patient import Patient

Attend = Callable[[Tensor, Tensor, Tensor, Tensor | None], Tensor]
KINDS = ("encoder", "decoder", "cross")


def _scores(query: Tensor, key: Tensor, mask: Tensor | None) -> Tensor:
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
    return scores if mask is None else scores.masked_fill(~mask, -1e9)


def softmax_over_queries(patient: Patient) -> None:
    """Let the weights of each key sum to 1, instead of those of each query."""

    def attend(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None) -> Tensor:
        return _scores(query, key, mask).softmax(dim=-2) @ value

    _everywhere(patient, attend)


def softmax_over_the_batch(patient: Patient) -> None:
    """Let the weights at one place sum to 1 over the sentences of the batch."""

    def attend(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None) -> Tensor:
        return _scores(query, key, mask).softmax(dim=0) @ value

    _everywhere(patient, attend)


def mask_after_softmax(patient: Patient) -> None:
    """Set weights to 0 after the softmax: what is hidden has had its share of the sum."""

    def attend(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None) -> Tensor:
        weights = _scores(query, key, None).softmax(dim=-1)
        return (weights if mask is None else weights.masked_fill(~mask, 0.0)) @ value

    _everywhere(patient, attend)


def mask_added_as_numbers(patient: Patient) -> None:
    """Add the mask of ones and zeros to the scores, where minus infinity was meant for zeros."""

    def attend(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None) -> Tensor:
        scores = _scores(query, key, None)
        return (scores if mask is None else scores + mask.to(scores)).softmax(dim=-1) @ value

    _everywhere(patient, attend)


def heads_by_view(patient: Patient) -> None:
    """Cut heads by a view without a transpose, which mixes up positions and heads."""

    def cut(x: Tensor) -> Tensor:
        return x.transpose(1, 2).reshape(x.shape)

    for kind in KINDS:
        patient.on_attention(
            kind, lambda right: lambda q, k, v, mask: right(*map(cut, (q, k, v)), mask)
        )


def keys_by_view(patient: Patient) -> None:
    """Bring the keys' features before their positions by a view instead of a transpose."""

    def attend(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None) -> Tensor:
        length, width = key.shape[-2:]
        scores = query @ key.reshape(*key.shape[:-2], width, length) / math.sqrt(width)
        scores = scores if mask is None else scores.masked_fill(~mask, -1e9)
        return scores.softmax(dim=-1) @ value

    _everywhere(patient, attend)


def heads_joined_by_view(patient: Patient) -> None:
    """Join heads by a view without a transpose."""

    def joined(output: Tensor) -> Tensor:
        batch, heads, length, width = output.shape
        return output.reshape(batch, length, heads, width).transpose(1, 2)

    _joined_otherwise(patient, joined)


def heads_joined_across_sentences(patient: Patient) -> None:
    """Join heads, where the length comes first, by a view without a permutation."""

    def joined(output: Tensor) -> Tensor:
        batch, heads, length, width = output.shape
        return output.reshape(length, batch, heads, width).permute(1, 2, 0, 3)

    _joined_otherwise(patient, joined)


def _joined_otherwise(patient: Patient, joined: Callable[[Tensor], Tensor]) -> None:
    for kind in KINDS:
        patient.on_attention(kind, lambda right: lambda *inputs: joined(right(*inputs)))


def attends_along_the_batch(patient: Patient) -> None:
    """Take the batch's axis for the sentence's in self-attention."""

    def attend(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None) -> Tensor:
        q, k, v = (x.transpose(0, 2) for x in (query, key, value))
        weights = _scores(q, k, None).softmax(dim=-1)
        return (weights @ v).transpose(0, 2)

    for kind in ("encoder", "decoder"):
        patient.on_attention(kind, lambda right: attend)


def rows_without_anything(patient: Patient) -> None:
    """Hide from each position of the target itself too, by minus infinity."""

    def attend(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None) -> Tensor:
        scores = _scores(query, key, None)
        hidden = torch.ones_like(scores, dtype=torch.bool).triu()
        return scores.masked_fill(hidden, float("-inf")).softmax(dim=-1) @ value

    patient.on_attention("decoder", lambda right: attend)


def norm_over_the_batch(patient: Patient) -> None:
    """Subtract from the memory its mean over the sentences of the batch."""
    patient.on_memory(lambda memory: memory - memory.mean(dim=0, keepdim=True))


def norm_over_the_sentence(patient: Patient) -> None:
    """Normalise the memory and the scores over positions instead of features."""

    def change(x: Tensor) -> Tensor:
        mean, spread = x.mean(dim=1, keepdim=True), x.std(dim=1, keepdim=True).nan_to_num()
        return (x - mean) / (spread + 0.1) if x.shape[1] > 1 else x

    patient.on_memory(change)
    patient.after_scores.append(change)


def no_dropout_switch(patient: Patient) -> None:
    """Use dropout as a function that is always on."""
    patient.on_memory(lambda memory: torch.dropout(memory, 0.2, True))


def _everywhere(patient: Patient, attend: Attend) -> None:
    for kind in KINDS:
        patient.on_attention(kind, lambda right: attend)
