"""Ctrl-C, or a system that asks us to end, at a moment that suits us."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def deferred_interrupt() -> Iterator[threading.Event]:
    """Turn Ctrl-C and SIGTERM into an event, so that a step is never cut in half.

    A second Ctrl-C interrupts. Outside the main thread, where Python allows no signal handler, both
    signals are left as they are.
    """
    requested = threading.Event()

    def request(number: int, _frame: object) -> None:
        # torchrun passes SIGTERM on to processes that may have had it: only Ctrl-C counts twice.
        if requested.is_set() and number == signal.SIGINT:
            raise KeyboardInterrupt
        requested.set()

    if threading.current_thread() is not threading.main_thread():
        yield requested
        return
    usual = {number: signal.signal(number, request) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield requested
    finally:
        for number, handler in usual.items():
            signal.signal(number, handler)
