"""Run a learner's code so that nothing it does can hurt the notebook or the checker."""

import contextlib
import copy
import ctypes
import dis
import io
import linecache
import os
import random
import re
import signal
import sysconfig
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from transformer_course.checker.answers import COURSE_FILE
from transformer_course.checker.comparison import difference, snapshot
from transformer_course.checker.originals import original_functions

TIME_LIMIT = 5.0  # seconds for one case; an answer needs milliseconds
PRINT_LIMIT = 400  # characters of printed output that are kept

# Prefixes of the files that a learner did not write: Python, installed packages, this course.
FOREIGN_FILES = (
    "<frozen ",
    COURSE_FILE,
    str(Path(__file__).parents[1]) + os.sep,
    *(sysconfig.get_path(name) + os.sep for name in ("stdlib", "purelib", "platlib")),
)


class TimeLimitReached(BaseException):
    """Raised inside code that runs too long; not an Exception, so few handlers swallow it."""


@contextlib.contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raise :class:`TimeLimitReached` in the body once it has run for ``seconds``.

    The main thread of a Unix process gets an alarm signal, which also ends a sleep. Elsewhere
    (Windows, other threads) a second thread plants the exception, which Python raises before its
    next bytecode: a loop ends, one long call into C does not. Either way it is raised again every
    tenth of a second, for code that swallows it.
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
    """Give the body fixed global settings, and put back afterwards what was there before."""
    dtype, device, torch_state = (
        torch.get_default_dtype(),
        torch.get_default_device(),
        torch.get_rng_state(),
    )
    python_state, numpy_state = random.getstate(), np.random.get_state()
    threads = torch.get_num_threads()
    torch.set_default_dtype(torch.float32)
    try:
        # The context of a device slows every call of torch down.
        on_cpu = contextlib.nullcontext() if device.type == "cpu" else torch.device("cpu")
        with warnings.catch_warnings(), on_cpu, torch.enable_grad():
            warnings.simplefilter("ignore")
            yield
    finally:
        torch.set_default_dtype(dtype)
        if torch.get_default_device() != device:
            torch.set_default_device(None if device.type == "cpu" else device)
        if torch.get_num_threads() != threads:
            torch.set_num_threads(threads)
        torch.set_rng_state(torch_state)
        random.setstate(python_state)
        np.random.set_state(numpy_state)


def _seed(seed: int) -> None:
    torch.default_generator.manual_seed(seed)  # code under test runs on the CPU
    random.seed(seed)
    np.random.seed(seed)


class _Captured(io.StringIO):
    """Printed output, up to a limit, so that a printing loop cannot fill the memory."""

    limit = PRINT_LIMIT

    def write(self, text: str) -> int:
        super().write(text[: max(self.limit - self.tell(), 0)])
        return len(text)


@dataclass(frozen=True)
class Line:
    """A line of source and where it stands."""

    file: str
    number: int
    text: str


@dataclass
class Outcome:
    """What one case showed about the code under test.

    Attributes
    ----------
    value
        What was observed.
    parameters
        Shapes of a module's parameters by name.
    error
        Type and message of an exception that came out.
    line
        The learner's line that raised it, if one did.
    attempted
        False if the code returned ``...`` or raised NotImplementedError itself.
    printed
        What the first call printed.
    changed_input
        Whether a call changed its arguments in place.
    repeated
        How a second call with equal arguments went: "same", "random" or "remembered".
    """

    value: Any = None
    parameters: dict[str, tuple[int, ...]] = field(default_factory=dict)
    error: tuple[type[BaseException], str] | None = None
    line: Line | None = None
    attempted: bool = True
    printed: str = ""
    changed_input: bool = False
    repeated: str = "same"

    @property
    def timed_out(self) -> bool:
        """Whether the code ran into the time limit."""
        return self.error is not None and self.error[0] is TimeLimitReached


def run(
    prepare: Callable[[], Any],
    observe: Callable[..., Any],
    inputs: tuple,
    *,
    trusted: bool = False,
) -> Outcome:
    """Prepare the code under test and call it on copies of the inputs, with every guard.

    Parameters
    ----------
    prepare
        Returns the function or module to observe; may raise what the learner's code raises.
    observe
        ``observe(prepared, *inputs)`` returns what is compared.
    inputs
        Arguments, copied for each call.
    trusted
        True for the course's own code: it is called once, and leaves global settings to the
        caller. A learner's is called again, to see whether the result stays the same.
    """
    outcome = Outcome()
    captured = _Captured()
    try:
        with (
            contextlib.nullcontext() if trusted else untouched_globals(),
            contextlib.redirect_stdout(captured),
            contextlib.redirect_stderr(captured),
            contextlib.nullcontext() if trusted else time_limit(TIME_LIMIT),
        ):
            observe_again = _observe(outcome, prepare, observe, inputs, trusted)
            captured.limit = 0  # the second call would print the same again
            if not trusted:
                outcome.repeated = _repeated(outcome.value, observe_again)
    except KeyboardInterrupt:
        raise  # the learner pressed stop
    except BaseException as error:
        _note_error(outcome, error)
    outcome.printed = captured.getvalue()
    return outcome


def _observe(
    outcome: Outcome,
    prepare: Callable[[], Any],
    observe: Callable[..., Any],
    inputs: tuple,
    trusted: bool,
) -> Callable[[int], Any]:
    """Fill in the outcome of a first call, and return how to make another one with a seed."""
    guard = contextlib.nullcontext if trusted else original_functions

    def call(seed: int) -> Any:
        given = _copied(inputs)
        _seed(seed)
        with guard():
            result = observe(prepared, *given)
        value = snapshot(result)
        if not trusted:
            outcome.changed_input |= difference(inputs, given) is not None
        return value

    _seed(0)
    with guard():
        prepared = prepare()
    if isinstance(prepared, torch.nn.Module):
        outcome.parameters = {n: tuple(p.shape) for n, p in prepared.named_parameters()}
    outcome.value = call(0)
    outcome.attempted = outcome.value is not ...
    return call


def _copied(inputs: tuple) -> tuple:
    """Copy arguments deeply; tensors by cloning, which is ten times faster."""
    clones = {id(value): snapshot(value) for value in inputs if type(value) is Tensor}
    return copy.deepcopy(inputs, clones)


def _repeated(first: Any, call: Callable[[int], Any]) -> str:
    """Say how further calls compare with the first, whose seed was 0."""
    if difference(first, call(1)) is None:
        return "same"
    return "random" if difference(first, call(0)) is None else "remembered"


def _note_error(outcome: Outcome, error: BaseException) -> None:
    # Addresses differ from run to run, which stored outputs must not.
    message = re.sub(r" at 0x[0-9a-fA-F]+", "", _message(error)).strip()
    outcome.error = (type(error), message.partition("\n")[0])
    lines = list(_lines(error))
    learners = [line for line in lines if not line.file.startswith(FOREIGN_FILES)]
    outcome.line = learners[-1] if learners else None
    outcome.attempted = not (
        isinstance(error, NotImplementedError) and outcome.line is lines[-1] and _has_raised(error)
    )


def _message(error: BaseException) -> str:
    with contextlib.suppress(Exception):  # an exception's own code may fail too
        return str(error)
    return ""


def _has_raised(error: BaseException) -> bool:
    """Tell a `raise` from torch, which raises NotImplementedError for operations that it lacks."""
    step = error.__traceback__
    while step.tb_next:
        step = step.tb_next
    return step.tb_frame.f_code.co_code[step.tb_lasti] == dis.opmap["RAISE_VARARGS"]


def _lines(error: BaseException) -> Iterator[Line]:
    step = error.__traceback__
    while step:
        file = step.tb_frame.f_code.co_filename
        yield Line(file, step.tb_lineno, linecache.getline(file, step.tb_lineno).strip())
        step = step.tb_next


def make_quotable(text: str, file: str) -> None:
    """Let reports quote, and answers be copied from, code that was compiled from a text."""
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)


def _stub() -> None: ...


def _documented_stub() -> None:
    """Say something."""


def is_stub(function: Callable) -> bool:
    """Whether a function's body holds nothing but a docstring and ``...`` or ``pass``."""
    code = getattr(function, "__code__", None)
    stubs = (_stub.__code__.co_code, _documented_stub.__code__.co_code)
    # A function that returns a constant differs from a stub only in that constant.
    return (
        code is not None and code.co_code in stubs and {*code.co_consts} <= {None, function.__doc__}
    )
