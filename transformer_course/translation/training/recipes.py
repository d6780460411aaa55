"""Sizes and settings that are known to work, one recipe for each kind of corpus."""

from dataclasses import dataclass, field, replace
from typing import Any

from transformer_course.translation.corpora.registry import check_name
from transformer_course.translation.training.settings import TrainingSettings


@dataclass(frozen=True)
class Recipe:
    """What to build and how to train it.

    Parameters
    ----------
    training
        How to train.
    sizes
        Fields of :class:`~transformer_course.model.TransformerConfig`.
    min_frequency
        Words seen less often in training become ``<unk>``.
    subwords
        If given, this many sub-words for both languages take the place of words.
    most_words
        If given, training pairs with more words than this on a side are left out.
    """

    training: TrainingSettings
    sizes: dict[str, Any] = field(default_factory=dict)
    min_frequency: int = 1
    subwords: int | None = None
    most_words: int | None = None


# Chosen on the dev split of Multi30k. The sizes are those of the "tiny" Transformer of Wu et al.
# (2021), "Good for Misconceived Reasons".
REAL_TEXT = Recipe(
    sizes={
        "d_model": 128,
        "heads": 4,
        "encoder_layers": 4,
        "decoder_layers": 4,
        "d_ff": 256,
        "dropout": 0.2,
        "max_len": 1024,
        "norm_first": True,
    },
    training=TrainingSettings(
        steps=10_000,
        batch_tokens=1024,
        learning_rate=3e-3,
        warmup=0.08,
        average=0.998,
        evaluate_every=500,
        dev_sentences=200,
        precision="auto",
        fast=True,
        threads=None,
    ),
    subwords=6000,
    most_words=100,
)
LONG_RUN = replace(
    REAL_TEXT,
    sizes=REAL_TEXT.sizes | {"dropout": 0.3},
    training=replace(
        REAL_TEXT.training,
        steps=20_000,
        batch_tokens=1536,
        learning_rate=4e-3,
        average=0.999,
        evaluate_every=1000,
    ),
)
"""For Multi30k when you have two hours: more steps, of more sentences, with more dropout."""


RECIPES = {
    "toy": Recipe(
        sizes={
            "d_model": 64,
            "heads": 4,
            "encoder_layers": 2,
            "decoder_layers": 2,
            "d_ff": 256,
            "dropout": 0.0,
            "max_len": 256,
            "norm_first": True,
        },
        training=TrainingSettings(),
    ),
    "files": REAL_TEXT,
    "multi30k": REAL_TEXT,
    "wmt14": replace(REAL_TEXT, subwords=8000),
}


def recipe_for(corpus: str) -> Recipe:
    """Return the recipe for a kind of corpus; raise ValueError for an unknown kind."""
    check_name(corpus)
    return RECIPES[corpus]
