"""Compare what a learner's code returned with what the reference returned."""

import reprlib
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
import torch
from torch import Tensor

TOLERANCE = {torch.float64: 1e-6, torch.float32: 1e-3, torch.float16: 1e-2, torch.bfloat16: 1e-1}


@dataclass(frozen=True)
class Difference:
    """The first place where two results differ, and how.

    ``kind`` is "type", "length", "keys", "shape", "nan" or "values"; ``path`` is empty for the
    result itself, ``[0]`` for its first part.
    """

    kind: str
    path: str
    expected: Any
    received: Any


def difference(expected: Any, received: Any, path: str = "") -> Difference | None:
    """Return the first difference in type, shape or values, or None; rounding is not a difference.

    Number types (float32 or float64, bool or int) and autograd graphs are left to
    :func:`technical_difference`, so that right values are recognised as right. What cannot be
    compared, because it raises an exception, is of another type.
    """
    try:
        # A list may hold a million plain numbers.
        plain = type(expected) in (int, float) and type(received) in (int, float)
        return None if plain and expected == received else _difference(expected, received, path)
    except Exception:
        return Difference("type", path, expected, received)


def _difference(expected: Any, received: Any, path: str) -> Difference | None:
    if isinstance(expected, Tensor):
        kind = _tensor_kind(expected, received)
    elif isinstance(expected, Real):
        kind = _number_kind(expected, received)
    elif isinstance(expected, list | tuple | dict):
        kind = _container_kind(expected, received)
        if kind is None:
            parts = _parts_of_both(expected, received)
            found = (difference(e, r, f"{path}[{key!r}]") for key, e, r in parts)
            return next((part for part in found if part), None)
        if kind == "keys":
            return Difference(kind, f"{path}.keys()", list(expected), list(received))
    elif type(expected) is not type(received):
        kind = "type"
    else:  # other objects are not looked into
        kind = "values" if isinstance(expected, str) and expected != received else None
    return Difference(kind, path, expected, received) if kind else None


def _tensor_kind(expected: Tensor, received: Any) -> str | None:
    if not isinstance(received, Tensor) or _is_exotic(received) != _is_exotic(expected):
        return "type"
    if expected.shape != received.shape:
        return "shape"
    if not _is_exotic(expected) and wrong_elements(expected, received).any():
        return "nan" if received.isnan().any() and not expected.isnan().any() else "values"
    return None


def _is_exotic(tensor: Tensor) -> bool:
    return tensor.is_complex() or tensor.is_meta


def wrong_elements(expected: Tensor, received: Tensor) -> Tensor:
    """Mark the elements that differ by more than the rounding of the coarser of the two dtypes."""
    tolerance = max(TOLERANCE.get(tensor.dtype, 0.0) for tensor in (expected, received))
    expected, received = (t.detach().cpu().double() for t in (expected, received))
    # Near zero the tolerance is absolute, but never coarser than the numbers themselves.
    scale = min(1.0, expected.abs().max().item()) if expected.numel() else 1.0
    return ~torch.isclose(
        received, expected, rtol=tolerance, atol=tolerance * scale, equal_nan=True
    )


def _number_kind(expected: Real, received: Any) -> str | None:
    is_number = isinstance(received, Real | np.generic | np.ndarray | Tensor)
    if not is_number or getattr(received, "ndim", 0):
        return "type"
    if isinstance(received, Tensor):
        received = received.detach()
    numbers = [
        torch.tensor(float(n), dtype=torch.float64, device="cpu") for n in (expected, received)
    ]
    if wrong_elements(*numbers):
        return "values"
    # One in a million of a large count is more than rounding.
    is_another = isinstance(expected, int) and round(float(received)) != expected
    return "values" if is_another else None


def _container_kind(expected: list | tuple | dict, received: Any) -> str | None:
    if isinstance(expected, dict):
        if not isinstance(received, dict):
            return "type"
        return None if expected.keys() == received.keys() else "keys"
    if not isinstance(received, list | tuple):
        return "type"
    return None if len(expected) == len(received) else "length"


def _parts(value: list | tuple | dict) -> dict:
    return value if isinstance(value, dict) else dict(enumerate(value))


def parts_of(value: list | tuple | dict) -> list:
    """Return what a container holds."""
    return list(_parts(value).values())


def _parts_of_both(expected: Any, received: Any) -> list[tuple[Any, Any, Any]]:
    others = _parts(received)  # a dict may be in another order
    return [(key, part, others[key]) for key, part in _parts(expected).items()]


def technical_difference(expected: Any, received: Any) -> str | None:
    """Say in a sentence what is wrong with results of equal values: dtype or autograd graph."""
    if isinstance(expected, list | tuple | dict):
        found = (technical_difference(e, r) for _, e, r in _parts_of_both(expected, received))
        return next((part for part in found if part), None)
    if not isinstance(expected, Tensor):
        if isinstance(received, Tensor) and received.requires_grad:
            return (
                "The number is right, but it is a tensor that keeps its whole autograd graph in "
                "memory: return a plain number, with `.item()`."
            )
        return None
    if expected.dtype != received.dtype:
        wanted, got = dtype_name(expected), dtype_name(received)
        return (
            f"The numbers are right, but their dtype is `{got}` and `{wanted}` is wanted: "
            f"create or convert your tensor as `torch.{wanted}`."
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


def snapshot(value: Any) -> Any:
    """Copy a result, so that code which changes it later cannot change what was seen."""
    if isinstance(value, Tensor):
        copied = value.detach().to_dense().clone()
        return copied.requires_grad_() if value.requires_grad else copied
    if type(value) in (list, tuple):
        return type(value)(map(snapshot, value))
    if type(value) is dict:
        return {key: snapshot(part) for key, part in value.items()}
    return value.copy() if isinstance(value, np.ndarray) else value


def size(value: Any) -> int:
    """Count the numbers in a result; the failing case with the fewest is the one to show."""
    if isinstance(value, list | tuple | dict):
        return sum(map(size, parts_of(value)))
    return value.numel() if isinstance(value, Tensor) else 1


def describe(value: Any) -> str:
    """Say what a value is: ``tensor of shape [2, 4], float32``, ``None``, ``a list of 3``."""
    try:
        return _described(value)
    except Exception:  # such as the shape of a nested tensor
        return f"object of type {type(value).__name__}"


def _described(value: Any) -> str:
    if value is None or value is ...:
        return str(value)
    if isinstance(value, Tensor):
        device = "" if value.device.type == "cpu" else f", on {value.device}"
        return f"tensor of shape {list(value.shape)}, {dtype_name(value)}{device}"
    if isinstance(value, np.ndarray):
        return f"NumPy array of shape {list(value.shape)}, {value.dtype}"
    if type(value) in (bool, int, float, str):
        written = f"{value:.7g}" if isinstance(value, float) else repr(value)
        return f"{short(written)} ({type(value).__name__})"
    if type(value) in (list, tuple, dict):
        return f"{type(value).__name__} of {len(value)}: {short(PLAIN.repr(value))}"
    return f"object of type {type(value).__name__}"


class _Plain(reprlib.Repr):
    """Write lists as Python does, as far as they are read; objects in them say only their type."""

    def __init__(self) -> None:
        super().__init__()
        self.maxlist = self.maxtuple = self.maxdict = self.maxstring = self.maxlong = 60

    def repr_instance(self, value: Any, level: int) -> str:
        """Write what is not a plain value; no code of the learner's is run for it."""
        written = value is None or isinstance(value, Tensor | float | bool)
        return repr(value) if written else describe(value)


PLAIN = _Plain()


def dtype_name(tensor: Tensor) -> str:
    """Return the name of a dtype as it is written after ``torch.``."""
    return str(tensor.dtype).removeprefix("torch.")


def short(text: str) -> str:
    """Return a text on one line, cut after 60 characters."""
    text = " ".join(text.split())
    return text if len(text) <= 60 else f"{text[:57]}..."
