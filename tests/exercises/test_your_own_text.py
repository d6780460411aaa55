"""What lesson 13 has its readers write is what the course and sacreBLEU compute."""

import random

import numpy as np
import pytest
import torch

from transformer_course import translation
from transformer_course.exercises.your_own_text import paired_p, split_by_source
from transformer_course.translation.corpora.corpus import SentencePair
from transformer_course.translation.corpora.splits import complete, held_out

WORDS = ["un", "chien", "noir", "court", "sur", "la", "plage", "avec", "une", "balle", "rouge"]


def sentences(seed: int, number: int = 40) -> list[str]:
    chance = random.Random(seed)
    return [" ".join(chance.choices(WORDS, k=chance.randrange(4, 9))) for _ in range(number)]


def damaged(texts: list[str], share: float, seed: int) -> list[str]:
    chance = random.Random(seed)
    return [
        " ".join(word if chance.random() > share else "chat" for word in text.split())
        for text in texts
    ]


@pytest.mark.parametrize("share", [0.2, 0.3, 0.5])
def test_paired_p_is_the_courses(share: float) -> None:
    references = sentences(0)
    systems = damaged(references, 0.2, seed=1), damaged(references, share, seed=2)
    ours = translation.paired_bootstrap(*systems, references, samples=200, seed=3)
    # The same draws: there, how often each sentence is drawn; here, the numbers of the sentences.
    often = np.random.default_rng(3).multinomial(40, np.full(40, 1 / 40), size=200)
    draws = torch.tensor(np.array([np.repeat(np.arange(40), row) for row in often]))
    counts = [torch.tensor(translation.sentence_counts(texts, references)) for texts in systems]
    difference, p = paired_p.task.answer(translation.bleu_of_counts, *counts, draws)
    assert difference == pytest.approx(ours["difference"])
    assert p == pytest.approx(ours["p_value"])


def test_counts_add_up_to_sacrebleus_score() -> None:
    references = sentences(0)
    said = damaged(references, 0.3, seed=1)
    counts = translation.sentence_counts(said, references)
    assert translation.bleu_of_counts(counts.sum(axis=0)) == pytest.approx(
        translation.bleu(said, references)
    )


def test_split_is_the_courses() -> None:
    pairs = [SentencePair(f"satz {n % 130}", f"phrase {n}") for n in range(200)]
    splits, _ = complete(pairs, {}, seed=0)
    shuffled = random.Random(0).sample(pairs, len(pairs))
    as_tuples = [(pair.source, pair.target) for pair in shuffled]
    left, dev = split_by_source.task.answer(as_tuples, held_out(130))
    train, test = split_by_source.task.answer(left, held_out(130))
    assert [(p.source, p.target) for p in splits["dev"]] == dev
    assert [(p.source, p.target) for p in splits["test"]] == test
    assert [(p.source, p.target) for p in splits["train"]] == train
