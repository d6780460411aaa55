"""An exercise and its four verbs: check, hint, gaps and solution."""

import inspect
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from transformer_course.checker import judge, progress, reports
from transformer_course.checker.answers import AnswerText
from transformer_course.checker.candidates import NOTHING, complaint, other_order, source_of
from transformer_course.checker.cases import Case, Property
from transformer_course.checker.clues.departure import departure
from transformer_course.checker.clues.dependence import independence
from transformer_course.checker.clues.relations import relation
from transformer_course.checker.clues.separation import separation
from transformer_course.checker.diagnosis import Evidence, diagnose
from transformer_course.checker.feedback import Feedback, Source
from transformer_course.checker.fingerprint import fingerprint
from transformer_course.checker.formats import conformed, matched, other_dtype
from transformer_course.checker.gaps import Gaps, gaps_of
from transformer_course.checker.mistakes import Catalogue, Mistake, same_behaviour
from transformer_course.checker.records import Record, RecordError, records
from transformer_course.checker.sandbox import Outcome, is_stub, run, whole_check
from transformer_course.checker.task import Task

WHEN_RIGHT: dict[str, Callable[["Exercise", Callable], str | None]] = {}
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
        self.catalogue = Catalogue(mistakes, self.run_case)
        self._hints_given = 0
        self._weights: dict[tuple, dict[str, Tensor]] = {}

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
        feedback = self.judge(candidate)
        if not feedback.passed:
            return feedback
        saved = progress.record(f"{self.task.lesson}.{self.name}")
        remarks = [] if saved else [reports.NOT_SAVED]
        remarks += filter(None, (self._done(act, candidate) for act in WHEN_RIGHT.values()))
        return feedback.with_sentences(remarks)

    def _done(self, act: Callable, candidate: Callable) -> str | None:
        """Do something with a right answer, which may run the learner's code again."""
        try:
            with whole_check():
                return act(self, candidate)
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            return reports.left_undone(error)

    def judge(self, candidate: Any = NOTHING) -> Feedback:
        """Do what :meth:`check` does, but note nothing and do nothing with a right answer."""
        if not _JUDGING.acquire(blocking=False):
            return reports.unsuitable(self.task, reports.ANOTHER_RUNS)
        try:
            with whole_check():
                return self._examine(candidate)
        except (KeyboardInterrupt, RecordError):
            raise  # the learner pressed stop, or the course's own file is to blame
        except BaseException as error:
            return reports.broken_off(self.task, error)
        finally:
            _JUDGING.release()

    def _examine(self, candidate: Any) -> Feedback:
        if words := complaint(self.task, candidate):
            return reports.unsuitable(self.task, words)
        if is_stub(candidate.forward if self.task.wants_module else candidate):
            return reports.not_attempted(self.task)
        # The reference goes first: what torch loads on first use is not on the learner's clock.
        wanted = self._wanted
        seen = self._outcomes(candidate)
        if not all(outcome.attempted for outcome in seen):
            return reports.not_attempted(self.task)
        return self._judge(candidate, seen, wanted)

    @cached_property
    def _wanted(self) -> list[Outcome]:
        return [self.run_case(self.task.reference, n) for n in range(len(self.task.cases))]

    def _outcomes(self, candidate: Callable) -> list[Outcome]:
        """Run the cases, but none after one that never ended."""
        outcomes: list[Outcome] = []
        for case in self.task.cases:
            outcomes.append(self._observed(candidate, case))
            if outcomes[-1].timed_out:
                break
        return outcomes

    def _judge(self, candidate: Callable, seen: list[Outcome], wanted: list[Outcome]) -> Feedback:
        if seen[-1].timed_out:
            return reports.crashed(self.task, seen)
        if all(map(same_behaviour, wanted, seen)):
            if faults := judge.faults(self.task, seen, wanted):
                return reports.faulty(self.task, faults, seen)
            return reports.right(self.task, seen)
        source = source_of(candidate)
        every = list(range(len(seen)))
        if known := diagnose(self.catalogue, Evidence(seen, wanted, source, every)):
            remarks = other_dtype(seen, wanted)
            return reports.known_mistake(self.task, known, seen, wanted, remarks)
        seen_so, remarks = conformed(seen, wanted)
        renamed = any(a.parameters != b.parameters for a, b in zip(seen, seen_so, strict=True))
        # Who looks at something in a module asks for it by its name.
        cases = [n for n in every if not (renamed and self.task.cases[n].looks_at)]
        evidence = Evidence(seen_so, wanted, source, cases)
        if remarks and evidence.right == cases:
            return reports.faulty(self.task, remarks, seen)
        if remarks and (known := diagnose(self.catalogue, evidence)):
            return reports.known_mistake(self.task, known, seen, wanted, remarks)
        clues = [*remarks, *self._clues(candidate, seen, evidence)]
        unknown = reports.unknown_mistake(self.task, seen, wanted, clues)
        return replace(unknown, computed=fingerprint(seen))

    def _clues(self, candidate: Callable, seen: Sequence[Outcome], evidence: Evidence) -> list[str]:
        """Return what can be said of a mistake that is not known."""
        pairs = [(n, evidence.wanted[n], evidence.seen[n]) for n in evidence.wrong]

        def both(case: Case) -> tuple[Outcome, Outcome]:
            trusted = self._run(self.task.reference, case, trusted=True)
            return trusted, self._observed(candidate, case)

        found = [other_order(self.task, candidate)]
        found += [relation(self.task, pairs)] if pairs else []
        known = {n: (evidence.wanted[n], seen[n]) for n in evidence.running}
        found.append(independence(self.task, both, known))
        cases = self.task.cases
        injected = [n for n in evidence.wrong if cases[n].inject and not cases[n].looks_at]
        if injected:
            found.append(departure(both, self.task.cases[injected[0]]))
        found.append(separation(self.task, evidence.right, evidence.wrong or evidence.crashed))
        return [clue for clue in found if clue]

    def _observed(self, candidate: Callable, case: Case) -> Outcome:
        return self._run(candidate, case, trusted=False)

    def run_case(self, candidate: Callable, number: int) -> Outcome:
        """Run an implementation of the course's own in one case, within untouched_globals()."""
        return self._run(candidate, self.task.cases[number], trusted=True)

    def _run(self, candidate: Callable, case: Case, *, trusted: bool) -> Outcome:
        def prepare() -> Callable:
            if case.construct is None:
                return candidate
            weights = self._reference_weights(case.construct)
            torch.default_generator.manual_seed(1)  # equal weights for every candidate
            module = candidate(*case.construct)
            if case.inject:
                _copy_parameters(weights, module)
            return module.train(case.training)

        return run(prepare, case.observe, case.inputs, trusted=trusted)

    def _reference_weights(self, construct: tuple) -> dict[str, Tensor]:
        """Make the reference once: a check constructs hundreds of modules to compare with it."""
        if construct not in self._weights:
            self._weights[construct] = dict(self.task.reference(*construct).named_parameters())
        return self._weights[construct]

    def hint(self) -> Feedback:
        """Return the next hint, from mild to strong; after the last one, the last again."""
        self._hints_given = min(self._hints_given + 1, len(self.task.hints))
        return reports.hint(self.task, self._hints_given)

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


def _copy_parameters(weights: dict[str, Tensor], module: nn.Module) -> None:
    """Copy the weights whose names fit, or whose shapes do; the others are reported by names."""
    given = dict(module.named_parameters())
    shapes = [{name: tuple(p.shape) for name, p in each.items()} for each in (given, weights)]
    with torch.no_grad():
        for name, wanted in matched(*shapes).items():
            given[name].copy_(weights[wanted])
