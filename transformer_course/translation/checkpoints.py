"""Tensors and settings on disk: safetensors and JSON, never pickle, whole or not at all."""

import json
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from transformer_course.files import atomic_write, write_text


class CheckpointError(ValueError):
    """A checkpoint is missing, damaged, or belongs to another model."""


def write_json(path: Path, content: Any) -> None:
    """Write JSON that a person can read, atomically."""
    write_text(path, json.dumps(content, ensure_ascii=False, indent=1) + "\n")


def json_object(text: str) -> dict[str, Any]:
    """Read a JSON object; raise ValueError or RecursionError if the text is none."""
    content = json.loads(text)
    if not isinstance(content, dict):
        raise ValueError("it must hold a JSON object")
    return content


def read_json(path: Path) -> dict[str, Any]:
    """Read a JSON object; raise CheckpointError if the file is missing or damaged."""
    try:
        return json_object(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        raise CheckpointError(
            f"there is no {path.name} in {path.parent}: this is not a checkpoint folder. Give the "
            f"folder that `transformer-course train --output` wrote, or one that ships, such as "
            f"multi30k-en-fr."
        ) from None
    except (ValueError, RecursionError) as error:
        raise CheckpointError(f"{path} is damaged ({error}); restore it or train again.") from None


def write_tensors(path: Path, tensors: dict[str, Tensor], metadata: dict[str, Any]) -> None:
    """Write tensors and, in the file's header, a dictionary; atomically.

    Raises
    ------
    OSError
        If the file cannot be written; what was there before is untouched.
    """
    contiguous = {name: tensor.detach().contiguous() for name, tensor in tensors.items()}
    with atomic_write(path) as temporary:
        temporary.write_bytes(save(contiguous, metadata={"json": json.dumps(metadata)}))


def read_tensors(path: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Read what :func:`write_tensors` wrote; raise CheckpointError if it is missing or damaged."""
    if not path.is_file():
        raise CheckpointError(
            f"there is no {path.name} in {path.parent}: no checkpoint was written there yet, or it "
            f"was removed. Train again."
        )
    try:
        with safe_open(path, framework="pt") as file:
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
            metadata = json_object((file.metadata() or {}).get("json", "{}"))
    except (SafetensorError, ValueError, RecursionError) as error:
        raise CheckpointError(
            f"{path} is damaged or not a safetensors file ({error}); restore it or train again."
        ) from None
    return tensors, metadata
