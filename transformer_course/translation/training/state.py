"""A training run's state on disk: what :meth:`Trainer.resume` needs to go on to the bit."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch import Tensor

from transformer_course.translation.checkpoints import CheckpointError, read_tensors, write_tensors
from transformer_course.translation.translator import MODEL_FILE

TRAINING_FILE = "training.safetensors"
METRICS_FILE = "metrics.csv"

Tensors = dict[str, Tensor]


@dataclass(frozen=True)
class TrainingState:
    """Where a run is.

    Attributes
    ----------
    model, average, best
        Weights by name: those in training, their moving average and the best so far.
    optimizer
        The optimizer's tensors by the number of the weight.
    progress
        Steps, seconds, history and losses.
    """

    model: Tensors
    average: Tensors
    best: Tensors
    optimizer: dict[int, Tensors]
    progress: dict[str, Any]


def save(state: TrainingState, folder: Path, origin: dict[str, Any]) -> None:
    """Write a state, atomically; ``origin`` says to which run and text it belongs."""
    tensors = _prefixed("model", state.model)
    tensors |= _prefixed("average", state.average) | _prefixed("best", state.best)
    for number, of_one in state.optimizer.items():
        tensors |= _prefixed(f"optimizer.{number}", of_one)
    # One file holds all of it, so that weights and moments are always of the same step.
    write_tensors(folder / TRAINING_FILE, tensors, state.progress | origin)


def is_there(folder: Path) -> bool:
    """Say whether a run in the folder got as far as to write something that must not be lost."""
    return any((folder / name).exists() for name in (TRAINING_FILE, MODEL_FILE))


def load(folder: Path, origin: dict[str, Any]) -> TrainingState:
    """Read what :func:`save` wrote; raise CheckpointError if it is damaged or of another origin."""
    path = folder / TRAINING_FILE
    tensors, progress = read_tensors(path)
    if progress.get("text", origin["text"]) != origin["text"]:
        raise CheckpointError(
            f"{path} belongs to a run on another text; put back the text with which the run began, "
            f"or train into a new folder."
        )
    if progress.get("run") != origin["run"]:
        raise CheckpointError(
            f"{path} belongs to a run with other settings or sizes; resume it with those of the "
            f"run that wrote it."
        )
    optimizer: dict[int, Tensors] = {}
    with damage_said(folder):
        for name, tensor in _below("optimizer.", tensors).items():
            number, key = name.split(".")
            optimizer.setdefault(int(number), {})[key] = tensor
    weights = (_below(f"{kind}.", tensors) for kind in ("model", "average", "best"))
    return TrainingState(*weights, optimizer, progress)


@contextmanager
def damage_said(folder: Path) -> Iterator[None]:
    """Say where the state came from if the body cannot use it."""
    try:
        yield
    except (KeyError, ValueError) as error:
        path = folder / TRAINING_FILE
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
