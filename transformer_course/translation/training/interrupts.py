"""Ctrl-C at a moment that suits us."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def deferred_interrupt() -> Iterator[threading.Event]:
    """Turn Ctrl-C into an event, so that a step is never cut in half; a second one interrupts.

    Outside the main thread, where Python allows no signal handler, Ctrl-C is left as it is.
    """
    requested = threading.Event()

    def request(_signal: int, _frame: object) -> None:
        if requested.is_set():
            raise KeyboardInterrupt
        requested.set()

    if threading.current_thread() is not threading.main_thread():
        yield requested
        return
    usual = signal.signal(signal.SIGINT, request)
    try:
        yield requested
    finally:
        signal.signal(signal.SIGINT, usual)
