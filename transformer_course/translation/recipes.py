"""Sizes and settings that are known to work, one recipe for each kind of corpus."""

from dataclasses import dataclass, field
from typing import Any

from transformer_course.translation.training import TrainingSettings


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
    """

    training: TrainingSettings
    sizes: dict[str, Any] = field(default_factory=dict)
    min_frequency: int = 1


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
    "files": Recipe(
        sizes={
            "d_model": 256,
            "heads": 4,
            "encoder_layers": 3,
            "decoder_layers": 3,
            "d_ff": 512,
            "dropout": 0.15,
            "max_len": 256,
            "norm_first": True,
        },
        training=TrainingSettings(
            steps=2000,
            batch_tokens=1024,
            learning_rate=1.5e-3,
            warmup=0.08,
            evaluate_every=200,
            threads=None,
            dev_sentences=100,
        ),
        min_frequency=3,
    ),
}


def recipe_for(corpus: str) -> Recipe:
    """Return the recipe for a kind of corpus; raise ValueError for an unknown kind."""
    if corpus not in RECIPES:
        raise ValueError(f"there is no corpus {corpus!r}; use one of {', '.join(RECIPES)}.")
    return RECIPES[corpus]
