"""Texts that teach or test something else."""

import random

from transformer_course.examine.patient import Patient


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
    chance = random.Random(2)
    patient.test = [
        ([patient.UNKNOWN if chance.random() < 0.5 else word for word in source], target)
        for source, target in patient.test
    ]


def ids_too_large(patient: Patient) -> None:
    """Use ids of a larger vocabulary."""
    patient.train = [
        ([word + patient.vocabularies[0] // 2 for word in source], target)
        for source, target in patient.train
    ]
