"""Batches that are not what the pairs should become."""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from transformer_course.examine import reference
from transformer_course.examine.patient import Patient
from transformer_course.examine.reference import padded
from transformer_course.examine.subject import Pair

Rows = tuple[list[int], list[int], list[int]]
MOST = 20


def _rows(patient: Patient, row: Callable[[list[int], list[int]], Rows]) -> None:
    """Make a batch from what a function makes of each pair: source, target in, target out."""

    def collate(pairs: Sequence[Pair]) -> tuple[Tensor, Tensor, Tensor]:
        rows = [row(list(source), list(target)) for source, target in pairs]
        source, target_in, target_out = (
            padded(side, patient.pad) for side in zip(*rows, strict=True)
        )
        length = max(target_in.shape[1], target_out.shape[1])
        more = [
            torch.nn.functional.pad(t, (0, length - t.shape[1]), value=patient.pad)
            for t in (target_in, target_out)
        ]
        return source, *more

    patient.collate = collate


def not_shifted(patient: Patient) -> None:
    """Want at each position the token that is fed in there."""
    p = patient
    _rows(p, lambda s, t: ([*s, p.eos], [p.bos, *t, p.eos], [p.bos, *t, p.eos]))


def shifted_twice(patient: Patient) -> None:
    """Want the token after the next."""
    p = patient
    _rows(p, lambda s, t: ([*s, p.eos], [p.bos, *t], [*t[1:], p.eos]))


def no_begin(patient: Patient) -> None:
    """Feed the first word in, instead of the begin token."""
    p = patient
    _rows(p, lambda s, t: ([*s, p.eos], t, [*t[1:], p.eos]))


def no_end(patient: Patient) -> None:
    """Never want the end token."""
    p = patient
    _rows(p, lambda s, t: ([*s, p.eos], [p.bos, *t[:-1]], t))


def swapped(patient: Patient) -> None:
    """Take source for target and target for source."""
    p = patient
    words = min(p.vocabularies)
    _rows(
        p,
        lambda s, t: (
            [*(x % words for x in t), p.eos],
            [p.bos, *(x % words for x in s)],
            [*s, p.eos],
        ),
    )


def cut_before_the_end(patient: Patient) -> None:
    """Cut long targets after their end token was added."""
    p = patient
    _rows(
        p,
        lambda s, t: ([*s, p.eos][:MOST], [p.bos, *t, p.eos][: MOST - 1], [*t, p.eos][: MOST - 1]),
    )


def padded_at_the_front(patient: Patient) -> None:
    """Put the padding of sources and targets before the words."""
    right = patient.collate

    def collate(pairs: Sequence[Pair]) -> tuple[Tensor, Tensor, Tensor]:
        return tuple(to_the_right(ids, patient.pad) for ids in right(pairs))

    patient.collate = collate


def to_the_right(ids: Tensor, pad: int) -> Tensor:
    """Return rows with the padding behind their words moved to the front."""
    rows = []
    for row in ids.tolist():
        behind = 0
        while behind < len(row) - 1 and row[-1 - behind] == pad:
            behind += 1
        rows.append([pad] * behind + row[: len(row) - behind])
    return torch.tensor(rows)


def padded_with_another_id(patient: Patient) -> None:
    """Pad with an id that is a word."""
    other = patient.UNKNOWN
    patient.collate = lambda pairs: reference.collate(pairs, other, patient.bos, patient.eos, other)


def end_after_the_padding(patient: Patient) -> None:
    """Put the end token behind the padding."""
    right = patient.collate

    def collate(pairs: Sequence[Pair]) -> tuple[Tensor, Tensor, Tensor]:
        source, target_in, _ = right(pairs)
        words = padded([list(t) for _, t in pairs], patient.pad)
        ends = torch.full((len(words), 1), patient.eos)
        return source, target_in, torch.cat([words, ends], dim=1)

    patient.collate = collate


def sources_in_another_order(patient: Patient) -> None:
    """Sort the sources by length and leave the targets as they were."""
    right = patient.collate

    def collate(pairs: Sequence[Pair]) -> tuple[Tensor, Tensor, Tensor]:
        sources = sorted((s for s, _ in pairs), key=len)
        return right([(s, t) for s, (_, t) in zip(sources, pairs, strict=True)])

    patient.collate = collate


def source_reversed(patient: Patient) -> None:
    """Reverse the sources in training."""
    p = patient
    _rows(p, lambda s, t: ([*s[::-1], p.eos], [p.bos, *t], [*t, p.eos]))


def one_column_too_narrow(patient: Patient) -> None:
    """Make the tensors as long as the longest target, without room for its end token."""
    right = patient.collate

    def collate(pairs: Sequence[Pair]) -> tuple[Tensor, Tensor, Tensor]:
        source, target_in, target_out = right(pairs)
        return source, target_in[:, :-1], target_out[:, :-1]

    patient.collate = collate
