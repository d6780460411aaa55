"""Run a learner's code so that nothing it does can hurt the notebook or the checker."""

import contextlib
import copy
import ctypes
import dis
import gc
import io
import linecache
import os
import random
import re
import signal
import sys
import sysconfig
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch._tensor_str import PRINT_OPTS

from transformer_course.checker import originals
from transformer_course.checker.answers import COURSE_FILE
from transformer_course.checker.comparison import difference, snapshot
from transformer_course.checker.originals import original_functions

TIME_LIMIT = 5.0  # seconds for one case; an answer needs milliseconds
CHECK_LIMIT = 60.0  # seconds for a whole check, which needs a few at the first time
PRINT_LIMIT = 400  # characters of printed output that are kept
MESSAGE_LIMIT = 1000  # characters of an exception's message that are kept
AGAIN, CLOSEST = 0.1, 1e-6  # seconds from one exception to the next for code that swallows it
# Files through which an exception leaves the body of a time limit.
WAY_OUT = (__file__, contextlib.__file__, originals.__file__)

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
    next bytecode: a loop ends, one long call into C does not. Either way it is raised again a tenth
    of a second later, for code that swallows it.
    """
    in_main_thread = threading.current_thread() is threading.main_thread()
    with (_alarm if in_main_thread and hasattr(signal, "setitimer") else _watchdog)(seconds):
        yield


@contextlib.contextmanager
def _alarm(seconds: float) -> Iterator[None]:
    again, over = AGAIN, False

    def ring(signal_number: int, frame: FrameType) -> None:
        nonlocal again
        if over:
            return
        # On the way out, and in here, nothing may be raised: the alarm would never be switched off.
        outside = frame.f_code.co_filename not in WAY_OUT
        # A loop that swallows every exception does not swallow those that come between two rounds.
        # That is just after the last one, so rings come closer until they meet in here.
        again = max(again / 2, CLOSEST) if outside else min(again * 2, AGAIN)
        signal.setitimer(signal.ITIMER_REAL, again)
        if outside:
            raise TimeLimitReached

    began = time.monotonic()
    earlier_handler = signal.signal(signal.SIGALRM, ring)
    earlier_delay, earlier_interval = signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        over = True
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, earlier_handler)
        if earlier_delay:
            remaining = max(earlier_delay - (time.monotonic() - began), 0.001)
            signal.setitimer(signal.ITIMER_REAL, remaining, earlier_interval)


@contextlib.contextmanager
def _watchdog(seconds: float) -> Iterator[None]:
    plant = ctypes.pythonapi.PyThreadState_SetAsyncExc
    watched = ctypes.c_ulong(threading.get_ident())
    reached = ctypes.py_object(TimeLimitReached)
    finished = threading.Event()
    lock = threading.Lock()  # so that nothing is planted once the body is over
    over = planted = False

    def watch() -> None:
        nonlocal planted
        delay = seconds
        while not finished.wait(delay):
            with lock:
                if over:
                    return
                planted = True
                plant(watched, reached)
            delay = AGAIN

    threading.Thread(target=watch, daemon=True).start()
    try:
        yield
    finally:
        over = True  # comes first, because what is planted may be raised in any call
        with contextlib.suppress(TimeLimitReached):
            with lock:
                finished.set()
            # What is planted and not yet raised is waited for. Python can take it back, but would
            # then look for it before each of its steps, for ever.
            while planted:
                plant(watched, reached)


def _working_folder() -> Path | None:
    with contextlib.suppress(OSError):  # somebody may have removed it
        return Path.cwd()
    return None


def _go_to(folder: Path | None) -> None:
    with contextlib.suppress(OSError):
        os.chdir(folder or "")


# What is read before the learner's code runs and, if it has changed afterwards, set back.
SETTINGS: tuple[tuple[Callable[[], Any], Callable[[Any], Any]], ...] = (
    (sys.getprofile, sys.setprofile),
    (sys.getrecursionlimit, sys.setrecursionlimit),
    (gc.isenabled, lambda enabled: gc.enable() if enabled else gc.disable()),
    (gc.get_threshold, lambda thresholds: gc.set_threshold(*thresholds)),
    (_working_folder, _go_to),
    (np.get_printoptions, lambda options: np.set_printoptions(**options)),
    (lambda: dict(vars(PRINT_OPTS)), lambda options: torch.set_printoptions(**options)),
    (torch.get_default_dtype, torch.set_default_dtype),
    (torch.get_default_device, lambda d: torch.set_default_device(None if d.type == "cpu" else d)),
    (torch.get_num_threads, torch.set_num_threads),
    (torch.get_deterministic_debug_mode, torch.set_deterministic_debug_mode),
    (
        lambda: (torch.is_anomaly_enabled(), torch.is_anomaly_check_nan_enabled()),
        lambda modes: torch.set_anomaly_enabled(*modes),
    ),
)


@contextlib.contextmanager
def untouched_globals() -> Iterator[None]:
    """Give the body fixed global settings, and put back afterwards what was there before."""
    settings, device = [ask() for ask, _ in SETTINGS], torch.get_default_device()
    states = torch.get_rng_state(), random.getstate(), np.random.get_state()
    torch.set_default_dtype(torch.float32)
    try:
        # The context of a device slows every call of torch down.
        on_cpu = contextlib.nullcontext() if device.type == "cpu" else torch.device("cpu")
        with warnings.catch_warnings(), on_cpu, torch.enable_grad():
            warnings.simplefilter("ignore")
            yield
    finally:
        for (ask, put_back), before in zip(SETTINGS, settings, strict=True):
            if ask() != before:
                put_back(before)
        for put_back, state in zip(SET_STATES, states, strict=True):
            put_back(state)


@contextlib.contextmanager
def whole_check() -> Iterator[None]:
    """Guard the body of a check, in which each case is guarded once more, as a whole.

    Its limit does not depend on the signals that the learner's code may have switched off.

    Raises
    ------
    BaseException
        Whatever the learner's code raises where it is not expected to run: when its results are
        compared and described. TimeLimitReached if it never ends there.
    """
    with original_functions(), untouched_globals(), _watchdog(CHECK_LIMIT):
        yield


SET_STATES = (torch.set_rng_state, random.setstate, np.random.set_state)


def _seed(number: int) -> None:
    # The inputs were drawn from small seeds: from one of these, `randn_like(x)` would be x itself.
    seed = 2017 + number
    torch.default_generator.manual_seed(seed)  # code under test runs on the CPU
    random.seed(seed)
    np.random.seed(seed)


class _Captured(io.StringIO):
    """Printed output, up to a limit, so that a printing loop cannot fill the memory."""

    limit = PRINT_LIMIT

    def write(self, text: str) -> int:
        super().write(text[: max(self.limit - self.tell(), 0)])
        return len(text)

    def close(self) -> None:
        """Stay open: what was printed is still to be read."""


@dataclass(frozen=True)
class Line:
    """A line of source and where it is."""

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

    def observe_twice() -> None:
        try:
            observe_again = _observe(outcome, prepare, observe, inputs, trusted)
            captured.limit = 0  # the second call would print the same again
            if not trusted:
                outcome.repeated = _repeated(outcome.value, observe_again)
        except (KeyboardInterrupt, TimeLimitReached):
            raise  # the learner pressed stop, or has no time left
        except BaseException as error:
            _note_error(outcome, error)  # its words are the learner's code too

    with (
        contextlib.nullcontext() if trusted else untouched_globals(),
        contextlib.redirect_stdout(captured),
        contextlib.redirect_stderr(captured),
    ):
        try:
            with contextlib.nullcontext() if trusted else time_limit(TIME_LIMIT):
                observe_twice()
        except TimeLimitReached as error:
            if trusted:  # it is the whole check that has no time left
                raise
            _note_error(outcome, error)
    outcome.printed = _writable(captured.getvalue())
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

    def note_changes(given: tuple) -> None:
        if not trusted:
            outcome.changed_input |= difference(inputs, given) is not None

    def call(seed: int) -> Any:
        given = _copied(inputs)
        _seed(seed)
        try:
            with guard():
                result = _untraced(observe, prepared, *given)
        except Exception:
            note_changes(given)  # they may be why it stopped
            raise
        value = snapshot(result)
        note_changes(given)
        return value

    _seed(0)
    with guard():
        prepared = _untraced(prepare)
    if isinstance(prepared, torch.nn.Module):
        outcome.parameters = {n: tuple(p.shape) for n, p in prepared.named_parameters()}
    outcome.value = call(0)
    outcome.attempted = outcome.value is not ...
    return call


def _untraced(code: Callable, *inputs: Any) -> Any:
    """Call code, and put the tracing back before Python calls anything else, which it traces."""
    trace = sys.gettrace()
    try:
        return code(*inputs)
    finally:
        if sys.gettrace() is not trace:
            sys.settrace(trace)


def _copied(inputs: tuple) -> tuple:
    """Copy arguments deeply; tensors by cloning, which is ten times faster."""
    clones = {id(value): snapshot(value) for value in inputs if type(value) is Tensor}
    return copy.deepcopy(inputs, clones)


def _repeated(first: Any, call: Callable[[int], Any]) -> str:
    """Say how further calls compare with the first, whose seed was 0."""
    if difference(first, call(1)) is None:
        return "same"
    if difference(first, call(0)) is None:
        return "random"
    # What does not even equal itself, such as an integer beyond all floats, tells nothing.
    return "remembered" if difference(first, first) is None else "same"


def _note_error(outcome: Outcome, error: BaseException) -> None:
    # Addresses differ from run to run, which stored outputs must not.
    message = re.sub(r" at 0x[0-9a-fA-F]+", "", _message(error)).strip()
    outcome.error = (kind_of(error), _writable(message.partition("\n")[0][:MESSAGE_LIMIT]))
    lines = list(_lines(error))
    learners = [line for line in lines if not line.file.startswith(FOREIGN_FILES)]
    outcome.line = learners[-1] if learners else None
    outcome.attempted = not (
        isinstance(error, NotImplementedError) and outcome.line is lines[-1] and _has_raised(error)
    )


def kind_of(error: BaseException) -> type[BaseException]:
    """Return the type of an exception; a base of it where the type is asked by code of its own."""
    return next(kind for kind in type.mro(type(error)) if type(kind) is type)


def _message(error: BaseException) -> str:
    try:
        return str(error)
    except (KeyboardInterrupt, TimeLimitReached):
        raise
    except BaseException:  # an exception's own code may fail too
        return ""


def _writable(text: str) -> str:
    """Return a text in which half characters, which no file or page can hold, are numbers."""
    return text.encode(errors="backslashreplace").decode()


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
