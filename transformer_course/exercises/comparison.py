"""Compare what a learner's code returned with what the reference returned."""

from dataclasses import dataclass
from numbers import Number
from typing import Any

import numpy as np
import torch
from torch import Tensor

TOLERANCE = {torch.float64: 1e-6, torch.float32: 1e-4, torch.bfloat16: 2e-2, torch.float16: 2e-3}


@dataclass(frozen=True)
class Difference:
    """The first place where two results differ, and how.

    ``kind`` is "type", "length", "shape", "nan" or "values"; ``path`` is ``""`` for the result
    itself, ``"[0]"`` for its first part.
    """

    kind: str
    path: str
    expected: Any
    received: Any


def difference(expected: Any, received: Any, path: str = "") -> Difference | None:
    """Return the first difference in type, shape or values, or None; rounding is no difference.

    Number types (float32 or float64, bool or int) and autograd graphs are left to
    :func:`technical_difference`, so that right values are recognised as right.
    """
    if isinstance(expected, Tensor):
        return _tensor_difference(expected, received, path)
    if isinstance(expected, Number):
        return _number_difference(expected, received, path)
    if isinstance(expected, dict):
        return _dict_difference(expected, received, path)
    if isinstance(expected, list | tuple):
        return _sequence_difference(expected, received, path)
    if isinstance(received, type(expected)) and (callable(expected) or expected == received):
        return None
    kind = "values" if isinstance(received, type(expected)) else "type"
    return Difference(kind, path, expected, received)


def _tensor_difference(expected: Tensor, received: Any, path: str) -> Difference | None:
    if not isinstance(received, Tensor):
        return Difference("type", path, expected, received)
    if expected.shape != received.shape:
        return Difference("shape", path, expected, received)
    if wrong_elements(expected, received).any():
        has_nan = received.isnan().any() and not expected.isnan().any()
        return Difference("nan" if has_nan else "values", path, expected, received)
    return None


def wrong_elements(expected: Tensor, received: Tensor) -> Tensor:
    """Mark the elements that differ by more than the rounding of the coarser of the two dtypes."""
    tolerance = max(TOLERANCE.get(tensor.dtype, 0.0) for tensor in (expected, received))
    expected, received = (t.detach().cpu().double() for t in (expected, received))
    scale = min(1.0, expected.abs().max().item()) if expected.numel() else 1.0
    close = torch.isclose(
        received, expected, rtol=tolerance, atol=tolerance * scale, equal_nan=True
    )
    return ~close


def _number_difference(expected: Number, received: Any, path: str) -> Difference | None:
    is_single = isinstance(received, Tensor | np.ndarray) and received.ndim == 0
    if not (isinstance(received, Number | np.generic) or is_single):
        return Difference("type", path, expected, received)
    as_tensors = (torch.tensor(float(n), dtype=torch.float64) for n in (expected, received))
    if wrong_elements(*as_tensors):
        return Difference("values", path, expected, received)
    return None


def _dict_difference(expected: dict, received: Any, path: str) -> Difference | None:
    if not isinstance(received, dict):
        return Difference("type", path, expected, received)
    if expected.keys() != received.keys():
        return Difference("values", path, expected, received)
    pairs = ((f"{path}[{key!r}]", expected[key], received[key]) for key in expected)
    return next((d for p, e, r in pairs if (d := difference(e, r, p))), None)


def _sequence_difference(expected: list | tuple, received: Any, path: str) -> Difference | None:
    if not isinstance(received, list | tuple):
        return Difference("type", path, expected, received)
    if len(expected) != len(received):
        return Difference("length", path, expected, received)
    pairs = zip(expected, received, strict=True)
    parts = (difference(e, r, f"{path}[{i}]") for i, (e, r) in enumerate(pairs))
    return next((part for part in parts if part), None)


def technical_difference(expected: Any, received: Any) -> str | None:
    """Say in a sentence what is wrong with results of equal values: dtype or autograd graph."""
    if isinstance(expected, list | tuple):
        parts = (technical_difference(e, r) for e, r in zip(expected, received, strict=True))
        return next((part for part in parts if part), None)
    if isinstance(expected, dict):
        parts = (technical_difference(expected[key], received[key]) for key in expected)
        return next((part for part in parts if part), None)
    if not isinstance(expected, Tensor):
        return None
    if expected.dtype != received.dtype:
        wanted, got = (str(t.dtype).removeprefix("torch.") for t in (expected, received))
        return (
            f"The numbers are right, but their dtype is `{got}` and `{wanted}` is wanted: "
            f"create or convert your tensor as `{wanted}`."
        )
    if received.requires_grad and not expected.requires_grad:
        return (
            "The numbers are right, but they carry an autograd graph and none is wanted: "
            "compute with plain tensors, without `requires_grad=True` or `nn.Parameter`."
        )
    if expected.requires_grad and not received.requires_grad:
        return (
            "The numbers are right, but the autograd graph is lost, so no gradient can flow: "
            "leave out `.detach()`, `.data`, `.item()` and `torch.no_grad()`."
        )
    return None


def size(value: Any) -> int:
    """Count the numbers in a result; the failing case with the fewest is the one to show."""
    if isinstance(value, Tensor):
        return value.numel()
    if isinstance(value, dict):
        return sum(map(size, value.values()))
    return sum(map(size, value)) if isinstance(value, list | tuple) else 1


def describe(value: Any) -> str:
    """Say what a value is: ``tensor of shape [2, 4], float32``, ``None``, ``a list of 3``."""
    if value is None or value is ...:
        return str(value)
    if isinstance(value, Tensor):
        dtype = str(value.dtype).removeprefix("torch.")
        return f"tensor of shape {list(value.shape)}, {dtype}"
    if isinstance(value, np.ndarray):
        return f"NumPy array of shape {list(value.shape)}, {value.dtype}"
    if isinstance(value, bool | int | float | str):
        return f"{value!r} ({type(value).__name__})"
    if isinstance(value, list | tuple | dict):
        return f"{type(value).__name__} of {len(value)}"
    return f"object of type {type(value).__name__}"


def matrix(tensor: Tensor, index: tuple[int, ...]) -> Tensor:
    """Return the last two axes at ``index``; fewer axes are filled up with ones."""
    if tensor.dim() < 2:
        return tensor.reshape(1, -1)
    return tensor[index[:-2]]
