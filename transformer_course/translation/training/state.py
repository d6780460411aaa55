"""A training run's state on disk: what :meth:`Trainer.resume` needs to go on to the bit."""

from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd
from torch import Tensor

from transformer_course.files import atomic_write
from transformer_course.translation.checkpoints import CheckpointError, read_tensors, write_tensors
from transformer_course.translation.translator import MODEL_FILE, load_parameters

if TYPE_CHECKING:
    from transformer_course.translation.training.trainer import Trainer

TRAINING_FILE = "training.safetensors"
METRICS_FILE = "metrics.csv"
PROGRESS = ("step", "seconds", "history", "losses")


def save(trainer: "Trainer", folder: Path) -> None:
    """Write the translator, the metrics and the state, atomically each."""
    weights = trainer.weights
    moments = trainer.optimizer.state_dict()["state"]
    tensors = _prefixed("model", weights.in_training)
    tensors |= _prefixed("average", weights.average) | _prefixed("best", weights.best)
    for number, of_one in moments.items():
        tensors |= _prefixed(f"optimizer.{number}", of_one)
    progress = {name: getattr(trainer, name) for name in PROGRESS}
    # One file holds all of it, so that weights and moments are always of the same step.
    origin = {"run": trainer.identity(), "text": trainer.text}
    write_tensors(folder / TRAINING_FILE, tensors, progress | origin)
    trainer.translator.save(folder)
    if not trainer.history:
        return
    with atomic_write(folder / METRICS_FILE) as temporary:
        pd.DataFrame(trainer.history).to_csv(temporary, index=False)


def is_there(folder: Path) -> bool:
    """Say whether a run in the folder got as far as to write something that must not be lost."""
    return any((folder / name).exists() for name in (TRAINING_FILE, MODEL_FILE))


def load(trainer: "Trainer", folder: Path) -> None:
    """Put a trainer back to where :func:`save` was called; raise CheckpointError if it cannot."""
    path = folder / TRAINING_FILE
    tensors, progress = read_tensors(path)
    if progress.get("text", trainer.text) != trainer.text:
        raise CheckpointError(
            f"{path} belongs to a run on another text; put back the text with which the run began, "
            f"or train into a new folder."
        )
    if progress.get("run") != trainer.identity():
        raise CheckpointError(
            f"{path} belongs to a run with other settings or sizes; resume it with those of the "
            f"run that wrote it."
        )
    load_parameters(trainer.model, _below("model.", tensors), path)
    optimizer = trainer.optimizer.state_dict()
    try:
        for name, tensor in _below("optimizer.", tensors).items():
            number, key = name.split(".")
            optimizer["state"].setdefault(int(number), {})[key] = tensor
        trainer.optimizer.load_state_dict(optimizer)
        trainer.weights.load(_below("average.", tensors), _below("best.", tensors))
        for name in PROGRESS:
            setattr(trainer, name, progress[name])
    except (KeyError, ValueError) as error:
        raise CheckpointError(f"{path} is damaged ({error}); train again.") from None


def _prefixed(prefix: str, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    return {f"{prefix}.{name}": tensor for name, tensor in tensors.items()}


def _below(prefix: str, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """Pick the entries whose name begins with the prefix, and take it off."""
    return {
        name.removeprefix(prefix): tensor
        for name, tensor in tensors.items()
        if name.startswith(prefix)
    }
