"""Keep code under test from ending the process that tests it."""

import contextlib
import os
from collections.abc import Iterator
from typing import NoReturn


@contextlib.contextmanager
def no_exit() -> Iterator[None]:
    """Turn ``os._exit``, after which nobody could say anything, into a SystemExit.

    A process that the code has forked ends by it as usual: there it would go on as a second one.
    """
    before, here = os._exit, os.getpid()

    def ends(status: int) -> NoReturn:
        if os.getpid() != here:
            before(status)
        raise SystemExit(status)

    os._exit = ends
    try:
        yield
    finally:
        os._exit = before
