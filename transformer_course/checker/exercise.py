"""An exercise and its four verbs: check, hint, gaps and solution."""

import inspect
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from transformer_course.checker import progress, report
from transformer_course.checker.answers import AnswerText
from transformer_course.checker.candidates import NOTHING
from transformer_course.checker.cases import Case, Property
from transformer_course.checker.explain import explain
from transformer_course.checker.feedback import Feedback, Source, Verdict
from transformer_course.checker.gaps import Gaps, gaps_of
from transformer_course.checker.mistakes import Catalogue, Mistake
from transformer_course.checker.observer import Observer
from transformer_course.checker.records import Record, RecordError, records
from transformer_course.checker.sandbox import whole_check
from transformer_course.checker.task import Task

ON_SOLVED: dict[str, Callable[["Exercise", Callable], str | None]] = {}
"""What else is done with a right answer, by a name for each; it may return a sentence to show."""


_JUDGING = threading.Lock()
"""Held while an answer is judged: one that calls a check of its own would never come to an end."""


class Exercise:
    """A function or module to write, and the knowledge to judge it.

    Made by decorating a model answer with :func:`exercise`.
    """

    def __init__(
        self, task: Task, parts: Mapping[str, "Exercise"], known: Iterable[Record]
    ) -> None:
        self.task = task
        self.name = task.name
        self.answer = AnswerText(task.answer, {path: part.answer for path, part in parts.items()})
        mistakes = [Mistake(record, self.answer) for record in known]
        self.observer = Observer(task)
        self.catalogue = Catalogue(mistakes, self.observer.run_case)
        self._hints_given = 0

    def __repr__(self) -> str:
        return f"Exercise {self.name}: .check({self.name}), .hint(), .gaps(), .solution()"

    def check(self, candidate: Any = NOTHING) -> Feedback:
        """Judge the learner's function or class.

        Nothing that the learner's code does makes this raise, except that KeyboardInterrupt, the
        stop button, passes through.

        Returns
        -------
        Feedback
            A notebook displays it when it is the last line of a cell; elsewhere, print it.
            ``feedback.passed`` says whether the exercise is solved.
        """
        feedback, name = self.judge(candidate), f"{self.task.lesson}.{self.name}"
        if feedback.verdict is Verdict.WRONG and feedback.answer:
            progress.record_try(name, feedback.answer)
        if not feedback.passed:
            return feedback
        saved = progress.record(name)
        remarks = [] if saved else [progress.NOT_SAVED]
        remarks += filter(None, (self._done(act, candidate) for act in ON_SOLVED.values()))
        return feedback.with_sentences(remarks)

    def _done(self, act: Callable, candidate: Callable) -> str | None:
        """Do something with a right answer, which may run the learner's code again."""
        try:
            with whole_check():
                return act(self, candidate)
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            return report.left_undone(error)

    def judge(self, candidate: Any = NOTHING) -> Feedback:
        """Do what :meth:`check` does, but note nothing and do nothing with a right answer."""
        if not _JUDGING.acquire(blocking=False):
            return report.unsuitable(self.task, report.ANOTHER_RUNS)
        try:
            with whole_check():
                observed = self.observer.observe(candidate)
                finding = explain(self.catalogue, observed)
                return report.report(finding)
        except (KeyboardInterrupt, RecordError):
            raise  # the learner pressed stop, or the course's own file is to blame
        except BaseException as error:
            return report.broken_off(self.task, error)
        finally:
            _JUDGING.release()

    def hint(self) -> Feedback:
        """Return the next hint, from mild to strong; after the last one, the last again."""
        self._hints_given = min(self._hints_given + 1, len(self.task.hints))
        return report.hint(self.task, self._hints_given)

    def solution(self) -> Source:
        """Return the source of a model answer, which can take the place of the stub."""
        return Source(self.answer.definition)

    def gaps(self) -> Gaps:
        """Return the model answer with its decision points open, each with fragments to choose."""
        return gaps_of(self.name, self.answer, self.mistakes)

    @property
    def mistakes(self) -> Sequence[Mistake]:
        """The known mistakes, the commonest first."""
        return self.catalogue.mistakes


def exercise(
    *,
    cases: Sequence[Case],
    hints: Sequence[str],
    properties: Sequence[Property] = (),
    reference: Callable | None = None,
    parts: Mapping[str, Exercise] | None = None,
) -> Callable[[Callable], Exercise]:
    """Turn the decorated model answer into an exercise.

    Its known mistakes are in the file beside it, of the same name that ends in ``.toml``.

    Parameters
    ----------
    cases, hints, properties
        See :class:`Task`.
    reference
        The course's own implementation, which says what is right; by default the model answer.
    parts
        Exercises whose answers this one calls, by the names under which it calls them: their text
        can be edited too.
    """

    def decorated(answer: Callable) -> Exercise:
        task = Task(answer, reference or answer, tuple(cases), tuple(hints), tuple(properties))
        beside = Path(inspect.getfile(answer)).with_suffix(".toml")
        return Exercise(task, parts or {}, records(beside))

    return decorated
