"""Run a learner's code so that nothing it does can hurt the notebook or the checker."""

import contextlib
import copy
import ctypes
import io
import linecache
import random
import re
import signal
import sys
import sysconfig
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import CodeType
from typing import Any

import numpy as np
import torch

from transformer_course.exercises.comparison import difference

TIME_LIMIT = 3.0  # seconds for one call; every exercise needs milliseconds
PRINT_LIMIT = 400  # characters of printed output that are kept
NOT_THE_LEARNERS = tuple(
    str(Path(folder)) + "/"
    for folder in {
        str(Path(__file__).parents[1]),
        *(sysconfig.get_path(name) for name in ("stdlib", "purelib", "platlib")),
    }
)


class TimeLimitReached(BaseException):
    """Raised inside code that runs too long; not an Exception, so few handlers swallow it."""


@contextlib.contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raise :class:`TimeLimitReached` in the body once it has run for ``seconds``.

    The main thread of a Unix process gets an alarm signal, which also ends a sleep. Elsewhere
    (Windows, other threads) a second thread plants the exception, which Python raises before its
    next bytecode: loops end, a single long call into C does not. Either way it is raised again
    every tenth of a second, for code that swallows it.
    """
    in_main_thread = threading.current_thread() is threading.main_thread()
    alarmed = _alarm if in_main_thread and hasattr(signal, "setitimer") else _watchdog
    with alarmed(seconds, again=0.1):
        yield


@contextlib.contextmanager
def _alarm(seconds: float, again: float) -> Iterator[None]:
    def ring(signal_number: int, frame: object) -> None:
        raise TimeLimitReached

    began = time.monotonic()
    earlier_handler = signal.signal(signal.SIGALRM, ring)
    earlier_delay, earlier_interval = signal.setitimer(signal.ITIMER_REAL, seconds, again)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, earlier_handler)
        if earlier_delay:
            remaining = max(earlier_delay - (time.monotonic() - began), 0.001)
            signal.setitimer(signal.ITIMER_REAL, remaining, earlier_interval)


@contextlib.contextmanager
def _watchdog(seconds: float, again: float) -> Iterator[None]:
    plant = ctypes.pythonapi.PyThreadState_SetAsyncExc
    watched = ctypes.c_ulong(threading.get_ident())
    finished = threading.Event()
    lock = threading.Lock()  # so that nothing is planted once the body is over

    def watch() -> None:
        delay = seconds
        while not finished.wait(delay):
            with lock:
                if not finished.is_set():
                    plant(watched, ctypes.py_object(TimeLimitReached))
            delay = again

    threading.Thread(target=watch, daemon=True).start()
    try:
        yield
    finally:
        with lock:
            finished.set()
            plant(watched, None)


@contextlib.contextmanager
def untouched_globals() -> Iterator[None]:
    """Give the body fixed global settings and put back what was there before."""
    torch_random, python_random, numpy_random = (
        torch.get_rng_state(),
        random.getstate(),
        np.random.get_state(),  # noqa: NPY002
    )
    dtype, grad = torch.get_default_dtype(), torch.is_grad_enabled()
    torch.set_default_dtype(torch.float32)
    try:
        with warnings.catch_warnings(), torch.device("cpu"), torch.enable_grad():
            warnings.simplefilter("ignore")
            yield
    finally:
        torch.set_default_dtype(dtype)
        torch.set_grad_enabled(grad)
        torch.set_rng_state(torch_random)
        random.setstate(python_random)
        np.random.set_state(numpy_random)  # noqa: NPY002


def _seed(seed: int) -> None:
    torch.manual_seed(seed)
    random.seed(seed)
    np.random.seed(seed)  # noqa: NPY002


class _Captured(io.StringIO):
    """Printed output, kept up to a limit so that a printing loop cannot fill the memory."""

    def write(self, text: str) -> int:
        super().write(text[: max(PRINT_LIMIT - self.tell(), 0)])
        return len(text)


@dataclass(frozen=True)
class LearnerLine:
    """Where in the learner's own code something happened."""

    number: int
    text: str


@dataclass
class Outcome:
    """What one case showed about the code under test.

    ``error`` is the exception's type and message, ``repeated`` says how a second call with the
    same arguments went: "same", "random" or "remembered".
    """

    value: Any = None
    parameters: dict[str, tuple[int, ...]] | None = None
    error: tuple[type[BaseException], str] | None = None
    line: LearnerLine | None = None
    attempted: bool = True
    printed: str = ""
    changed_input: bool = False
    repeated: str = "same"


def run(prepare: Callable[[], Any], observe: Callable, inputs: tuple) -> Outcome:
    """Prepare the code under test, then call it on copies of the inputs, with every guard.

    Parameters
    ----------
    prepare
        Returns the function or module to observe; may raise what the learner's code raises.
    observe
        ``observe(prepared, *inputs)`` returns what is compared.
    inputs
        Arguments, deep-copied for each call.
    """
    outcome = Outcome()
    captured = _Captured()
    with untouched_globals():
        try:
            with (
                contextlib.redirect_stdout(captured),
                contextlib.redirect_stderr(captured),
                time_limit(TIME_LIMIT),
            ):
                _observe(outcome, prepare, observe, inputs)
        except KeyboardInterrupt:
            raise  # the learner pressed stop
        except BaseException as error:  # noqa: BLE001  whatever a learner's code may raise
            _note_error(outcome, error)
    outcome.printed = captured.getvalue()
    return outcome


def _observe(outcome: Outcome, prepare: Callable, observe: Callable, inputs: tuple) -> None:
    def call(seed: int) -> Any:
        given = copy.deepcopy(inputs)
        _seed(seed)
        value = observe(prepared, *given)
        outcome.changed_input |= difference(inputs, given) is not None
        return value

    _seed(0)
    prepared = prepare()
    if isinstance(prepared, torch.nn.Module):
        outcome.parameters = {n: tuple(p.shape) for n, p in prepared.named_parameters()}
    outcome.value = call(seed=0)
    outcome.attempted = outcome.value is not ... and not _is_empty(prepared, outcome.value)
    if difference(outcome.value, call(seed=1)) is not None:
        at_equal_seed = difference(outcome.value, call(seed=0))
        outcome.repeated = "random" if at_equal_seed is None else "remembered"


def _note_error(outcome: Outcome, error: BaseException) -> None:
    message = re.sub(r" at 0x[0-9a-fA-F]+", "", str(error)).strip()
    outcome.error = (type(error), message.partition("\n")[0])
    code_lines = list(_lines_of(error))
    learners = [line for filename, line in code_lines if not filename.startswith(NOT_THE_LEARNERS)]
    outcome.line = learners[-1] if learners else None
    if isinstance(error, NotImplementedError):
        # torch raises NotImplementedError too, for operations it lacks: only the learner's counts.
        outcome.attempted = not (learners and learners[-1] is code_lines[-1][1])


def _lines_of(error: BaseException) -> Iterator[tuple[str, LearnerLine]]:
    step = error.__traceback__
    while step:
        filename = step.tb_frame.f_code.co_filename
        text = linecache.getline(filename, step.tb_lineno).strip()
        yield filename, LearnerLine(step.tb_lineno, text)
        step = step.tb_next
