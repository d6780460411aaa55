import signal
import threading

import pytest

from transformer_course.translation.training.interrupts import deferred_interrupt


def test_first_interrupt_is_kept_for_later() -> None:
    with deferred_interrupt() as interrupted:
        assert not interrupted.is_set()
        signal.raise_signal(signal.SIGINT)
        assert interrupted.is_set()


def test_second_interrupt_comes_through() -> None:
    with pytest.raises(KeyboardInterrupt), deferred_interrupt():
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)


@pytest.mark.parametrize("error", [None, RuntimeError])
def test_usual_handler_comes_back(error: type[Exception] | None) -> None:
    usual = signal.getsignal(signal.SIGINT)
    try:
        with deferred_interrupt():
            assert signal.getsignal(signal.SIGINT) is not usual
            if error:
                raise error
    except RuntimeError:
        pass
    assert signal.getsignal(signal.SIGINT) is usual


def test_other_threads_leave_the_handler_alone() -> None:
    usual = signal.getsignal(signal.SIGINT)
    seen = []

    def work() -> None:
        with deferred_interrupt() as interrupted:
            seen.append((signal.getsignal(signal.SIGINT), interrupted.is_set()))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [(usual, False)]
