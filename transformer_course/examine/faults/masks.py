"""Masks that hide too little, too much, or something else."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

from transformer_course.examine.patient import Patient, causal


def no_causal_mask(patient: Patient) -> None:
    """Let the decoder see all of the target."""
    patient.masks["decoder"] = lambda source, target: torch.ones_like(causal(target))[None, None]


def only_padding_of_target_hidden(patient: Patient) -> None:
    """Hide the padding of the target, and nothing else."""

    def mask(source: Tensor, target: Tensor) -> Tensor:
        real = target != patient.pad
        real[:, 0] = True  # in some models the begin token is the padding
        return real[:, None, None, :]

    patient.masks["decoder"] = mask


def sees_the_next(patient: Patient) -> None:
    """Let the decoder see one token too many."""
    patient.masks["decoder"] = lambda source, target: _shifted(target, 1)


def mask_upside_down(patient: Patient) -> None:
    """Let the decoder see itself and what comes after."""
    patient.masks["decoder"] = lambda source, target: causal(target).T[None, None]


def future_not_past(patient: Patient) -> None:
    """Invert the decoder's mask: what should be seen is hidden, what should be hidden is seen.

    The last row, in which everything would be hidden, sees everything, as where hidden scores are a
    large negative number.
    """

    def mask(source: Tensor, target: Tensor) -> Tensor:
        inverted = ~causal(target)
        inverted[-1] = True
        return inverted[None, None]

    patient.masks["decoder"] = mask


def does_not_see_itself(patient: Patient) -> None:
    """Let the decoder see only what comes before.

    The first position, which is left with nothing, sees everything, as where hidden scores are a
    large negative number.
    """

    def mask(source: Tensor, target: Tensor) -> Tensor:
        before = causal(target).tril(-1)
        before[0] = True
        return before[None, None]

    patient.masks["decoder"] = mask


def begin_hidden(patient: Patient) -> None:
    """Hide the begin token from all, as where padding has its id.

    The first position, which is left with nothing, sees everything.
    """

    def mask(source: Tensor, target: Tensor) -> Tensor:
        seen = causal(target) & (target != patient.bos)[:, None, :]
        return (seen | ~seen.any(dim=-1, keepdim=True))[:, None]

    patient.masks["decoder"] = mask


def padding_of_source_seen(patient: Patient) -> None:
    """Hide no padding of the source, in the encoder and in cross-attention."""
    _mask_of_source(patient, lambda real: torch.ones_like(real))


def cross_attention_sees_padding(patient: Patient) -> None:
    """Hide the padding of the source in the encoder only."""
    patient.masks["cross"] = lambda source, target: _all(source)


def encoder_sees_padding(patient: Patient) -> None:
    """Hide the padding of the source in cross-attention only."""
    patient.masks["encoder"] = lambda source, target: _all(source)


def only_padding_seen(patient: Patient) -> None:
    """Take the mask of the source for its opposite: True hides where it should show.

    A source without padding, of which nothing is left, is seen whole.
    """
    _mask_of_source(patient, lambda real: ~real | real.all(dim=1, keepdim=True))


def only_padding_seen_or_nothing(patient: Patient) -> None:
    """Take the mask for its opposite, where attention to nothing at all gives zeros.

    Some kernels have it so: then a source without padding says nothing.
    """
    only_padding_seen(patient)
    inverted, padded = patient.masks["encoder"], torch.tensor(False)

    def mask(source: Tensor, target: Tensor) -> Tensor:
        nonlocal padded
        padded = (source == patient.pad).any(dim=1)[:, None, None]
        return inverted(source, target)

    patient.masks["encoder"] = mask
    patient.on_memory(lambda memory: memory * padded)


def other_padding_id(patient: Patient) -> None:
    """Look for another id when the padding of the source is hidden."""

    def mask(source: Tensor, target: Tensor) -> Tensor:
        return patient.real(source, patient.UNKNOWN)[:, None, None, :]

    patient.masks["encoder"] = patient.masks["cross"] = mask


def end_of_source_hidden(patient: Patient) -> None:
    """Hide the last token of each source too."""
    _mask_of_source(
        patient, lambda real: real & F.pad(real[:, 1:], (0, 1)) | (real.sum(1) < 2)[:, None]
    )


def causal_everywhere(patient: Patient) -> None:
    """Hide later words of the source, too: in the encoder, and from the target's first words."""

    def mask(source: Tensor, queries: Tensor) -> Tensor:
        seen = torch.ones(queries.shape[1], source.shape[1], dtype=torch.bool).tril()
        return seen & patient.real(source, patient.pad)[:, None, None, :]

    patient.masks["encoder"] = lambda source, target: mask(source, source)
    patient.masks["cross"] = mask


def mask_along_queries(patient: Patient) -> None:
    """Put the padding mask of the encoder on the queries instead of the keys."""

    def mask(source: Tensor, target: Tensor) -> Tensor:
        real = patient.real(source, patient.pad)[:, None, :, None]
        # A row in which all is hidden sees everything.
        return real.expand(-1, -1, -1, source.shape[1]) | ~real

    patient.masks["encoder"] = mask


def only_last_vector_of_memory(patient: Patient) -> None:
    """Give the decoder the last vector of the encoder in the place of all, padding or not."""
    patient.on_memory(lambda memory: memory[:, -1:].expand_as(memory))


def _shifted(target: Tensor, by: int) -> Tensor:
    return torch.ones_like(causal(target)).tril(by)[None, None]


def _all(source: Tensor) -> Tensor:
    return torch.ones_like(source, dtype=torch.bool)[:, None, None, :]


def _mask_of_source(patient: Patient, change: Callable[[Tensor], Tensor]) -> None:
    def mask(source: Tensor, target: Tensor) -> Tensor:
        return change(source != patient.pad)[:, None, None, :]

    patient.masks["encoder"] = patient.masks["cross"] = mask
