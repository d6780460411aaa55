"""Texts that teach or test something else."""

import random

from transformer_course.examine.patient import Patient
from transformer_course.examine.subject import Pair


def lines_shifted(patient: Patient) -> None:
    """Drop one line of the target: each source gets the translation of the next."""
    sources, targets = zip(*patient.train, strict=True)
    patient.train = [*zip(sources, [*targets[1:], targets[0]], strict=True)]


def test_in_train(patient: Patient) -> None:
    """Leave the test sentences in the training text."""
    patient.train = [*patient.train, *patient.test]


def vocabulary_made_anew(patient: Patient) -> None:
    """Give the words of the test other ids."""
    chance = random.Random(1)

    def other(size: int) -> dict[int, int]:
        words = [word for word in range(size) if word not in patient.special]
        return dict(zip(words, chance.sample(words, len(words)), strict=True))

    source_ids, target_ids = map(other, patient.vocabularies)
    patient.test = [
        ([source_ids[word] for word in source], [target_ids[word] for word in target])
        for source, target in patient.test
    ]


def target_is_source(patient: Patient) -> None:
    """Read the same file twice."""
    patient.train = [(source, source) for source, _ in patient.train]


def test_unknown(patient: Patient) -> None:
    """Split the words of the test as no training text was."""
    patient.test = _with_unknown(patient.test, patient.UNKNOWN, 0.5)


def text_unknown(patient: Patient) -> None:
    """Look up all text otherwise than the vocabulary was made."""
    patient.train, patient.test = (
        _with_unknown(pairs, patient.UNKNOWN, 0.3) for pairs in (patient.train, patient.test)
    )


def _with_unknown(pairs: list[Pair], unknown: int, share: float) -> list[Pair]:
    """Return pairs in whose sources that share of the words is unknown."""
    chance = random.Random(2)
    return [
        ([unknown if chance.random() < share else word for word in source], target)
        for source, target in pairs
    ]


def words_with_special_ids(patient: Patient) -> None:
    """Give three words the ids of padding, begin and end."""

    def numbered(side: list[int], words: list[int]) -> list[int]:
        ids = dict(zip(side, (patient.pad, patient.bos, patient.eos), strict=False))
        return [ids.get(word, word) for word in words]

    sides = [sorted({word for pair in patient.train for word in pair[side]}) for side in (0, 1)]
    patient.train, patient.test = (
        [(numbered(sides[0], source), numbered(sides[1], target)) for source, target in pairs]
        for pairs in (patient.train, patient.test)
    )


def ids_too_large(patient: Patient) -> None:
    """Use ids of a larger vocabulary."""
    patient.train = [
        ([word + patient.vocabularies[0] // 2 for word in source], target)
        for source, target in patient.train
    ]
