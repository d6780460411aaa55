"""What one case showed about the code under test, and when two outcomes are the same."""

from dataclasses import dataclass, field
from typing import Any

from transformer_course.checker.comparison import difference
from transformer_course.checker.exceptions import Line
from transformer_course.checker.time_limits import TimeLimitReached


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


def same_behaviour(one: Outcome, other: Outcome) -> bool:
    """Whether two implementations did the same: equal parameters, and results or exceptions."""
    if one.parameters != other.parameters:
        return False
    if one.error or other.error:
        return one.error == other.error
    return difference(one.value, other.value) is None
