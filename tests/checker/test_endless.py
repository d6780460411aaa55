"""An answer that does not end is ended, and the feedback says where it was."""

import contextlib
import re
import signal
import sys
import threading
import time

import pytest

from transformer_course.checker import sandbox

from .doubling import Scale, double
from .rejected import words

pytestmark = pytest.mark.usefixtures("nothing_is_left_behind")


def endless(x, times):
    while True:
        pass


def endless_and_deaf(x, times):
    while True:
        with contextlib.suppress(Exception):
            times += 1


def endless_and_quite_deaf(x, times):
    while True:
        with contextlib.suppress(BaseException):
            while True:
                try:
                    while True:
                        times += 1
                except BaseException:
                    pass


def endless_and_printing(x, times):
    while True:
        print("y")


def endless_and_traced(x, times):
    sys.settrace(lambda *event: endless(x, times))
    return double.task.answer(x, times)


def sleeping(x, times):
    time.sleep(60)


def endless_and_unalarmed(x, times):
    signal.signal(signal.SIGALRM, signal.SIG_IGN)
    endless(x, times)


class EndlessError(Exception):
    def __str__(self):
        endless(1, 1)


def raises_endlessly(x, times):
    raise EndlessError


class EndlessConstructor(Scale.task.answer):
    def __init__(self, width):
        endless(1, 1)


@pytest.mark.parametrize(
    "answer", [endless, endless_and_deaf, endless_and_printing, endless_and_traced, sleeping]
)
def test_endless_loop_ends_and_its_line_is_shown(answer, monkeypatch):
    monkeypatch.setattr(sandbox, "TIME_LIMIT", 0.2)
    feedback = words(double, answer)
    assert "It did not end within" in feedback
    assert re.search(r"Your line \d+:\n    \w", feedback)


@pytest.mark.parametrize(
    ("exercise", "answer"),
    [
        (double, endless_and_quite_deaf),
        (double, raises_endlessly),
        (Scale, EndlessConstructor),
    ],
)
def test_endless_loop_ends_wherever_it_is(exercise, answer, monkeypatch):
    monkeypatch.setattr(sandbox, "TIME_LIMIT", 0.2)
    assert "It did not end within" in words(exercise, answer)


def test_endless_loop_ends_in_another_thread(monkeypatch):
    monkeypatch.setattr(sandbox, "TIME_LIMIT", 0.2)
    heard = []
    thread = threading.Thread(target=lambda: heard.append(words(double, endless)))
    thread.start()
    thread.join(10)
    assert "It did not end within" in heard[0]


def test_a_loop_that_has_switched_the_alarm_off_ends_with_the_check(monkeypatch):
    monkeypatch.setattr(sandbox, "CHECK_LIMIT", 1.0)
    assert "did not end within" in words(double, endless_and_unalarmed)
