"""Stop code that never ends."""

import contextlib
import ctypes
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import FrameType

TIME_LIMIT = 5.0  # seconds for one case; an answer needs milliseconds
CHECK_LIMIT = 60.0  # seconds for a whole check, which needs a few at the first time
AGAIN, CLOSEST = 0.1, 1e-6  # seconds from one exception to the next for code that swallows it
GUARDS = ("time_limits", "global_state", "originals", "sandbox", "exceptions", "exits")
# Files through which an exception leaves the body of a time limit.
WAY_OUT = (contextlib.__file__, *(str(Path(__file__).with_name(f"{name}.py")) for name in GUARDS))


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
    with (_alarm if in_main_thread and hasattr(signal, "setitimer") else watchdog)(seconds):
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
def watchdog(seconds: float) -> Iterator[None]:
    """Do what :func:`time_limit` does without signals, which the body may switch off."""
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
