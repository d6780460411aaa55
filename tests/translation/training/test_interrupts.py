import signal
import threading

import pytest

from transformer_course.translation.training.interrupts import deferred_interrupt

SIGNALS = [signal.SIGINT, signal.SIGTERM]


@pytest.mark.parametrize("number", SIGNALS)
def test_first_interrupt_is_kept_for_later(number: signal.Signals) -> None:
    with deferred_interrupt() as interrupted:
        assert not interrupted.is_set()
        signal.raise_signal(number)
        assert interrupted.is_set()


@pytest.mark.parametrize("first", SIGNALS)
def test_request_to_end_does_not_interrupt_what_ends_already(first: signal.Signals) -> None:
    with deferred_interrupt() as interrupted:
        signal.raise_signal(first)
        signal.raise_signal(signal.SIGTERM)
        assert interrupted.is_set()


def test_second_interrupt_comes_through() -> None:
    with pytest.raises(KeyboardInterrupt), deferred_interrupt():
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)


@pytest.mark.parametrize("number", SIGNALS)
@pytest.mark.parametrize("error", [None, RuntimeError])
def test_usual_handler_comes_back(number: signal.Signals, error: type[Exception] | None) -> None:
    usual = signal.getsignal(number)
    try:
        with deferred_interrupt():
            assert signal.getsignal(number) is not usual
            if error:
                raise error
    except RuntimeError:
        pass
    assert signal.getsignal(number) is usual


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
