"""What was seen of an answer, and the facts that follow from it; each is found when asked for."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from transformer_course.checker.calls import as_code
from transformer_course.checker.candidates import source_of
from transformer_course.checker.cases import Case, Property
from transformer_course.checker.comparison import Difference, difference, size
from transformer_course.checker.faults import faults, tried_properties, unsteady
from transformer_course.checker.fingerprint import fingerprint
from transformer_course.checker.outcomes import Outcome, same_behaviour
from transformer_course.checker.task import Task

Shapes = dict[str, tuple[int, ...]]
"""Shapes of a module's parameters by name."""


@dataclass(frozen=True)
class Observation:
    """What an answer did, beside what the course's own implementation does.

    Attributes
    ----------
    task
        What is to be written.
    candidate
        The answer.
    complaint
        Why it cannot be run, in a sentence; empty if it can.
    seen, wanted
        What the two did in each case; empty for a stub. None comes after a case that never ended.
    beside
        Runs both in a further case, the course's own first.
    """

    task: Task
    candidate: Any
    complaint: str = ""
    seen: Sequence[Outcome] = ()
    wanted: Sequence[Outcome] = ()
    beside: Callable[[Case], tuple[Outcome, Outcome]] | None = None

    @property
    def is_attempt(self) -> bool:
        """Whether there is more than a stub."""
        return bool(self.seen) and all(outcome.attempted for outcome in self.seen)

    @property
    def is_endless(self) -> bool:
        """Whether a case never ended."""
        return self.seen[-1].timed_out

    @cached_property
    def source(self) -> str:
        """The text of the cell that defines the answer; empty if there is none."""
        return source_of(self.candidate)

    @property
    def rows(self) -> list[tuple[Case, Outcome, Outcome]]:
        """Each case, what is wanted in it and what was seen."""
        return list(zip(self.task.cases, self.wanted, self.seen, strict=False))

    @cached_property
    def wrong(self) -> list[Outcome]:
        """What was seen in the wrong cases."""
        return [seen for _, wanted, seen in self.rows if not same_behaviour(wanted, seen)]

    @cached_property
    def faults(self) -> list[str]:
        """What is wrong apart from the values, in a sentence each."""
        return faults(self.task, self.seen, self.wanted)

    @cached_property
    def unsteady(self) -> str | None:
        """Why equal calls need not give equal results, in a sentence."""
        return unsteady(self.task, self.seen)

    @property
    def changes_arguments(self) -> bool:
        """Whether arguments are changed in place, by an answer that ends."""
        return not self.is_endless and any(outcome.changed_input for outcome in self.seen)

    @property
    def properties(self) -> list[tuple[Property, bool]]:
        """The properties of a right answer, each with whether it holds."""
        return tried_properties(self.task, self.seen, self.wanted)

    @property
    def crash(self) -> tuple[Case, Outcome]:
        """The first case that stopped in a line of the learner's, or else the first that did."""
        crashes = [(case, seen) for case, _, seen in self.rows if seen.error]
        return next(((case, seen) for case, seen in crashes if seen.line), crashes[0])

    @cached_property
    def other_parameters(self) -> tuple[Shapes, Shapes] | None:
        """The wanted parameters and the answer's, of the first case in which they differ."""
        for _, wanted, seen in self.rows:
            if wanted.parameters != seen.parameters and (seen.parameters or not seen.error):
                return wanted.parameters, seen.parameters
        return None

    @cached_property
    def example(self) -> tuple[Case, Difference] | None:
        """The wrong result that is read fastest; what only looks at something comes last."""
        wrong: list[tuple[bool, int, Case, Difference]] = []
        for case, wanted, seen in self.rows:
            if not seen.error and (found := difference(wanted.value, seen.value)):
                length = len(as_code(self.task, case)) + 8 * size(wanted.value)
                wrong.append((bool(case.looks_at), length, case, found))
        return min(wrong, key=lambda row: row[:2])[2:] if wrong else None

    @property
    def printed(self) -> str:
        """What the code printed in the first case in which it did."""
        return next((seen.printed for seen in self.seen if seen.printed.strip()), "")

    @property
    def fingerprint(self) -> str:
        """What tells answers that compute the same."""
        return fingerprint(self.seen)
