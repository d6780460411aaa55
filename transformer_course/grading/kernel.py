"""Run cells as a notebook's kernel does, where nobody looks and no other program is at hand."""

import sys
from types import ModuleType
from unittest.mock import MagicMock

from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config

from transformer_course.checker.time_limits import time_limit


class Kernel(InteractiveShell):
    """IPython without a history, windows, other programs and words about errors."""

    def system(self, cmd: str) -> None:
        """Leave out `!pip install ...`: what grades a class installs nothing for it."""

    def getoutput(self, cmd: str, split: bool = True, depth: int = 0) -> list[str]:
        """Leave out the program, and say that it printed nothing."""
        return []

    def enable_gui(self, gui: str | None = None) -> None:
        """Open no window."""

    def showtraceback(self, *args: object, **settings: object) -> None:
        """Print nothing: :func:`run` returns the error."""

    showsyntaxerror = showtraceback


def start() -> Kernel:
    """Return a new kernel, the one of this process from now on."""
    config = Config()
    config.HistoryManager.enabled = False
    Kernel.clear_instance()
    return Kernel.instance(config=config)


def run(kernel: Kernel, source: str, seconds: float) -> list[BaseException]:
    """Run a cell, and return what went wrong.

    A module that is not installed here, such as one of Colab's, is replaced by one in which every
    name exists and does nothing, and the cell is run again: what else it imports is needed.
    """
    absent: list[BaseException] = []
    while True:
        error = _run_once(kernel, source, seconds)
        name = error.name if isinstance(error, ModuleNotFoundError) else None
        if not name or not isinstance(name, str) or name in sys.modules:
            return [*absent, error] if error else absent
        absent.append(error)
        sys.modules[name] = _nothing(name)


def _run_once(kernel: Kernel, source: str, seconds: float) -> BaseException | None:
    try:
        with time_limit(seconds):
            result = kernel.run_cell(source, store_history=False)
    except BaseException as error:  # IPython itself may stumble over a cell
        return error
    return result.error_before_exec or result.error_in_exec


def _nothing(name: str) -> ModuleType:
    return MagicMock(name=name, __name__=name, __path__=[], __spec__=None)
