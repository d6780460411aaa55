"""Run a learner's code so that nothing it does can hurt the notebook or the checker."""

import contextlib
import copy
import io
import sys
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor

from transformer_course.checker.comparison import difference, snapshot
from transformer_course.checker.exceptions import (
    kind_of,
    learners_line,
    says_not_implemented,
    words_of,
    writable,
)
from transformer_course.checker.global_state import seed, untouched_globals
from transformer_course.checker.originals import original_functions
from transformer_course.checker.outcomes import Outcome
from transformer_course.checker.time_limits import (
    CHECK_LIMIT,
    TIME_LIMIT,
    TimeLimitReached,
    time_limit,
    watchdog,
)

PRINT_LIMIT = 400  # characters of printed output that are kept


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
    with original_functions(), untouched_globals(), watchdog(CHECK_LIMIT):
        yield


class _Captured(io.StringIO):
    """Printed output, up to a limit, so that a printing loop cannot fill the memory."""

    limit = PRINT_LIMIT

    def write(self, text: str) -> int:
        super().write(text[: max(self.limit - self.tell(), 0)])
        return len(text)

    def close(self) -> None:
        """Stay open: what was printed is still to be read."""


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
    outcome.printed = writable(captured.getvalue())
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

    def call(number: int) -> Any:
        given = _copied(inputs)
        seed(number)
        try:
            with guard():
                result = _untraced(observe, prepared, *given)
        except Exception:
            note_changes(given)  # they may be why it stopped
            raise
        value = snapshot(result)
        note_changes(given)
        return value

    seed(0)
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
    outcome.error = (kind_of(error), words_of(error))
    outcome.line = learners_line(error)
    outcome.attempted = not says_not_implemented(error)
