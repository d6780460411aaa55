"""Run an answer in the cases of its task, beside the course's own implementation."""

from collections.abc import Callable
from functools import cached_property
from typing import Any

import torch
from torch import Tensor, nn

from transformer_course.checker.candidates import complaint, is_stub
from transformer_course.checker.cases import Case
from transformer_course.checker.formats import matched
from transformer_course.checker.observation import Observation
from transformer_course.checker.outcomes import Outcome
from transformer_course.checker.sandbox import run
from transformer_course.checker.task import Task


class Observer:
    """Runs implementations in the cases of a task."""

    def __init__(self, task: Task) -> None:
        self.task = task
        self._weights: dict[tuple, dict[str, Tensor]] = {}

    @cached_property
    def wanted(self) -> list[Outcome]:
        """What the course's own implementation does in each case."""
        return [self.run_case(self.task.reference, n) for n in range(len(self.task.cases))]

    def observe(self, candidate: Any) -> Observation:
        """Run an answer in all cases, but in none after one that never ends."""
        if words := complaint(self.task, candidate):
            return Observation(self.task, candidate, words)
        if is_stub(candidate.forward if self.task.wants_module else candidate):
            return Observation(self.task, candidate)
        # The reference goes first: what torch loads on first use is not on the learner's clock.
        wanted = self.wanted
        seen: list[Outcome] = []
        for case in self.task.cases:
            seen.append(self.run(candidate, case, trusted=False))
            if seen[-1].timed_out:
                break

        def beside(case: Case) -> tuple[Outcome, Outcome]:
            trusted = self.run(self.task.reference, case, trusted=True)
            return trusted, self.run(candidate, case, trusted=False)

        return Observation(self.task, candidate, "", seen, wanted, beside)

    def run_case(self, candidate: Callable, number: int) -> Outcome:
        """Run an implementation of the course's own in one case, within untouched_globals()."""
        return self.run(candidate, self.task.cases[number], trusted=True)

    def run(self, candidate: Callable, case: Case, *, trusted: bool) -> Outcome:
        """Run an implementation in any case; ``trusted`` says whether it is the course's own."""

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


def _copy_parameters(weights: dict[str, Tensor], module: nn.Module) -> None:
    """Copy the weights whose names fit, or whose shapes do; the others are reported by names."""
    given = dict(module.named_parameters())
    shapes = [{name: tuple(p.shape) for name, p in each.items()} for each in (given, weights)]
    with torch.no_grad():
        for name, wanted in matched(*shapes).items():
            given[name].copy_(weights[wanted])
