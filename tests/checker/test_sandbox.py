"""A learner's code leaves no trace."""

import random
import signal
import sys
import threading
import time
import warnings

import numpy as np
import pytest
import torch

from transformer_course.checker.candidates import is_stub
from transformer_course.checker.sandbox import run
from transformer_course.checker.time_limits import TimeLimitReached, time_limit


def result(code, *inputs):
    return code(*inputs)


def run_function(function, *inputs):
    return run(lambda: function, result, inputs)


def meddle():
    torch.manual_seed(99)
    random.seed(99)
    np.random.seed(99)
    torch.set_default_dtype(torch.float64)
    torch.set_grad_enabled(False)
    warnings.simplefilter("error")
    print("noise")
    print("noise", file=sys.stderr)
    return torch.rand(2)


def settings():
    return (
        torch.get_rng_state().tolist(),
        random.getstate(),
        np.random.get_state()[1].tolist(),
        torch.get_default_dtype(),
        torch.is_grad_enabled(),
        torch.get_default_device(),
        warnings.filters[:],
        sys.stdout,
        sys.stderr,
        signal.getsignal(signal.SIGALRM),
    )


@pytest.mark.parametrize("grad", [True, False])
def test_global_settings_are_left_as_they_were(grad):
    with torch.set_grad_enabled(grad):
        before = settings()
        assert run_function(meddle).error is None
        assert settings() == before


def test_settings_are_restored_after_a_crash():
    def crash():
        meddle()
        raise ValueError

    before = settings()
    assert run_function(crash).error == (ValueError, "")
    assert settings() == before


def test_the_default_device_may_be_set():
    def set_device():
        torch.set_default_device("meta")
        return torch.ones(1)

    run_function(set_device)
    try:
        assert torch.get_default_device() == torch.device("cpu")
    finally:
        torch.set_default_device(None)


def test_code_runs_in_float32_whatever_the_notebook_has_set():
    torch.set_default_dtype(torch.float64)
    try:
        assert run_function(lambda: torch.ones(2)).value.dtype == torch.float32
    finally:
        torch.set_default_dtype(torch.float32)


def test_warnings_are_not_heard():
    def warn():
        warnings.warn("careful", stacklevel=1)
        return 1

    assert run_function(warn).value == 1


def test_inputs_are_not_changed_for_the_next_call():
    numbers = [torch.ones(2), [1, 2]]

    def change(tensor, items):
        tensor += 1
        items.append(3)
        return tensor

    outcome = run_function(change, *numbers)
    assert outcome.changed_input
    assert outcome.repeated == "same"
    assert numbers[0].tolist() == [1, 1]
    assert numbers[1] == [1, 2]


def test_unchanged_inputs_are_not_blamed():
    assert not run_function(lambda x: x + 1, torch.tensor([float("nan")])).changed_input


def test_limit_is_an_alarm_in_the_main_thread_and_the_earlier_timer_goes_on():
    heard = []
    earlier = signal.signal(signal.SIGALRM, lambda *_: heard.append("earlier"))
    timer = signal.setitimer(signal.ITIMER_REAL, 0.5)
    try:
        with pytest.raises(TimeLimitReached), time_limit(0.1):
            time.sleep(5)
        assert heard == []
        time.sleep(0.6)
        assert heard == ["earlier"]
    finally:
        signal.signal(signal.SIGALRM, earlier)
        signal.setitimer(signal.ITIMER_REAL, *timer)


def test_limit_without_signals(monkeypatch):
    """As on Windows, where a long call into C cannot be ended but a loop can."""
    monkeypatch.delattr(signal, "setitimer")
    with pytest.raises(TimeLimitReached), time_limit(0.1):
        while True:
            pass
    deadline = time.monotonic() + 0.3
    while time.monotonic() < deadline:
        pass  # nothing is planted any more


def test_a_limit_without_signals_leaves_python_as_fast_as_it_was(monkeypatch):
    """An exception that is taken back would be looked for before each of Python's steps."""
    monkeypatch.delattr(signal, "setitimer")
    with time_limit(10):
        pass
    with pytest.raises(TimeLimitReached), time_limit(0.01):
        while True:
            pass
    traced = []
    sys.settrace(lambda *event: traced.append(event))
    result(len, "")  # would wait here for ever
    sys.settrace(None)
    assert traced


def test_a_limit_that_is_not_reached_changes_nothing():
    threads = threading.active_count()
    with time_limit(10):
        pass
    assert signal.getitimer(signal.ITIMER_REAL)[1] == 0 or threads


def test_stubs_are_told_from_code():
    def returns_nothing(x):
        print(x)

    def with_words():
        """Do nothing."""
        ...

    assert is_stub(with_words)
    assert not is_stub(returns_nothing)
    assert not is_stub(len)
