"""Inside a notebook: the set-up of every lesson, the source it is about, the machine it runs on."""

import inspect
import os
import platform
from collections.abc import Callable
from pathlib import Path

import torch
from IPython.display import display


def setup() -> None:
    """Prepare a lesson: the theme of the pictures, and charts that this front end can show."""
    # Importing the pictures registers their theme and their renderer.
    import transformer_course.plots  # noqa: F401

    print("Ready.")


def show_source(thing: type | Callable[..., object]) -> None:
    """Display the source of a class or function.

    It is shown as a Markdown code block, which each front end colours to suit its own light or
    dark theme.

    Raises
    ------
    TypeError
        If ``thing`` is neither a class nor a function written in Python.
    """
    try:
        source = inspect.getsource(thing).rstrip()
    except TypeError as error:
        raise TypeError(
            f"show_source got {thing!r}; it wants a class or function written in Python: "
            "pass the thing itself, not a call or an instance of it"
        ) from error
    # Four backticks, because a docstring may hold three.
    display(
        {"text/markdown": f"````python\n{source}\n````", "text/plain": source},
        raw=True,
    )


def environment_report() -> dict[str, str]:
    """Return what this machine brings: versions, processor, threads, memory and GPU."""
    return {
        "python": platform.python_version(),
        "torch": torch.__version__,
        "system": f"{platform.system()} {platform.machine()}",
        "processors": str(os.cpu_count()),
        "threads": str(torch.get_num_threads()),
        "memory": _memory(),
        "gpu": torch.cuda.get_device_name() if torch.cuda.is_available() else "none",
    }


def _memory() -> str:
    """Return the size of the main memory in GiB; only Linux tells it as a file."""
    table = Path("/proc/meminfo")
    if not table.exists():
        return "unknown"
    kibibytes = int(table.read_text(encoding="ascii").split()[1])
    return f"{kibibytes / 2**20:.1f} GiB"
