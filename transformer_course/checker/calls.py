"""A case as code: its arguments by name, small ones as they are, so that it can be copied."""

from typing import Any

from torch import Tensor

from transformer_course.checker.cases import Case
from transformer_course.checker.comparison import describe
from transformer_course.checker.task import Task

SMALL = 12
"""Numbers of a tensor that is written out."""
LONG = 60  # characters of an argument


def as_code(task: Task, case: Case) -> str:
    """Return lines that make a case; what is too large to write is described in a comment."""
    looked_at = f"  # looked at: {case.looks_at}" if case.looks_at else ""
    if case.written:
        return f"{task.name}{case.written}{looked_at}"
    arguments = task.arguments(case)
    lines = [line for name, value in arguments.items() if (line := _assignment(name, value))]
    names = list(arguments)
    count = len(case.construct or ())
    built, given = (
        ", ".join(_argument(name, arguments[name]) for name in part)
        for part in (names[:count], names[count:])
    )
    called = task.name if case.construct is None else f"{task.name}({built})"
    return "\n".join([*lines, f"{called}({given}){looked_at}"])


def _assignment(name: str, value: Any) -> str:
    """Return the line that gives a tensor its name; shorter arguments go into the call."""
    if not isinstance(value, Tensor):
        return "" if _is_short(value) else f"# {name}: {describe(value)}"
    if not can_be_written(value):
        return f"# {name}: {describe(value)}"
    usual = str(value.dtype) in ("torch.float32", "torch.int64", "torch.bool")
    dtype = "" if usual else f", dtype={value.dtype}"
    return f"{name} = torch.tensor({numbers(value.tolist())}{dtype})"


def can_be_written(tensor: Tensor) -> bool:
    """Whether all numbers of a tensor fit into a line."""
    return tensor.numel() <= SMALL and not tensor.is_complex() and not tensor.is_meta


def numbers(value: Any) -> str:
    """Write nested lists of numbers, with four digits each."""
    if isinstance(value, list):
        return f"[{', '.join(map(numbers, value))}]"
    return f"{value:.4g}{'.' * value.is_integer()}" if isinstance(value, float) else str(value)


def _is_short(value: Any) -> bool:
    return len(repr(value)) <= LONG and " at 0x" not in repr(value)


def _argument(name: str, value: Any) -> str:
    if isinstance(value, Tensor) or not _is_short(value):
        return name
    return f"{name}={value!r}"
