"""Small training runs, for the tests of the trainer and of its state on disk."""

import signal
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from transformer_course.translation.corpora.corpus import SentencePair
from transformer_course.translation.training.settings import TrainingSettings
from transformer_course.translation.training.trainer import Row, Trainer
from transformer_course.translation.translator import Translator

# 48 pairs of 4 target tokens make 6 batches of 8: the run goes through two epochs.
SETTINGS = TrainingSettings(
    steps=12,
    batch_tokens=32,
    learning_rate=5e-3,
    evaluate_every=3,
    dev_sentences=3,
    weight_decay=0.01,
)
Watcher = Callable[[list[Row]], None]
NewTrainer = Callable[..., Trainer]


@pytest.fixture(scope="session")
def new_trainer(new_translator: Callable[..., Translator], pairs: list[SentencePair]) -> NewTrainer:
    """Return a function that builds a fresh trainer, as a new process would."""

    def build(
        output: Path | None = None,
        watch: Watcher | None = None,
        sizes: dict[str, Any] | None = None,
        **changes: Any,
    ) -> Trainer:
        settings = replace(SETTINGS, **changes)
        return Trainer(new_translator(**sizes or {}), pairs, pairs, settings, output, watch)

    return build


@pytest.fixture(scope="session")
def straight(new_trainer: NewTrainer) -> Trainer:
    """Train without a stop, for comparison; not to be changed."""
    trainer = new_trainer()
    trainer.train()
    return trainer


def interrupt_at(step: int, times: int = 1) -> Watcher:
    """Return a watcher that presses Ctrl-C when the run has come to the step."""

    def watch(history: list[Row]) -> None:
        if history[-1]["step"] == step:
            for _ in range(times):
                signal.raise_signal(signal.SIGINT)

    return watch


def without_seconds(history: list[Row]) -> list[Row]:
    return [{name: value for name, value in row.items() if name != "seconds"} for row in history]


def assert_same_weights(trainer: Trainer, other: Trainer) -> None:
    weights, others = trainer.model.state_dict(), other.model.state_dict()
    for name, tensor in weights.items():
        assert torch.equal(tensor, others[name]), name
