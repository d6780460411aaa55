"""Known mistakes: wrong answers, recognised by what they compute."""

import itertools
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from transformer_course.checker.answers import AnswerText, Edit
from transformer_course.checker.outcomes import Outcome
from transformer_course.checker.records import Record


@dataclass(frozen=True, eq=False)
class Mistake:
    """A known mistake, made in the answer of an exercise."""

    record: Record
    answer: AnswerText

    @property
    def name(self) -> str:
        """The mistake in a few words."""
        return self.record.name

    def is_refuted_by(self, source: str) -> bool:
        """Whether the learner's code has followed the advice already."""
        return bool(self.record.unless and re.search(self.record.unless, source))

    @cached_property
    def edits(self) -> tuple[Edit, ...]:
        """What changes in the right answer, each edit at its place."""
        try:
            return tuple(itertools.starmap(self.answer.edit, self.record.edits))
        except ValueError as error:
            raise self.record.error(f"has an edit that cannot be made: {error}") from None

    @cached_property
    def candidate(self) -> Callable:
        """What can be checked."""
        if not self.record.body:
            return self.answer.edited(self.edits)
        try:
            return self.answer.beside(self.record.body)
        except AttributeError as error:
            raise self.record.error(f"has a body that is not there: {error}.") from None


@dataclass(frozen=True)
class Several:
    """Two or three mistakes made at once; it is the same as another of the same ones."""

    mistakes: tuple[Mistake, ...]

    @cached_property
    def candidate(self) -> Callable:
        """What can be checked."""
        edits = sum((mistake.edits for mistake in self.mistakes), start=())
        return self.mistakes[0].answer.edited(edits)

    def and_one_more(self, mistakes: Iterable[Mistake]) -> "Iterator[Several]":
        """Yield these mistakes with each of the others that can be made beside them."""
        for mistake in mistakes:
            if all(_are_independent(mistake, mine) for mine in self.mistakes):
                yield Several((*self.mistakes, mistake))


def pairs(mistakes: Sequence[Mistake]) -> list[Several]:
    """Return the pairs that can be made at once, because their edits do not overlap.

    Those whose mistakes come first in the catalogue come first.
    """
    ranked = sorted(itertools.combinations(range(len(mistakes)), 2), key=sum)
    couples = ((mistakes[one], mistakes[other]) for one, other in ranked)
    return [Several(couple) for couple in couples if _are_independent(*couple)]


def _are_independent(one: Mistake, other: Mistake) -> bool:
    if not (one.edits and other.edits):
        return False
    return not any(a.overlaps(b) for a, b in itertools.product(one.edits, other.edits))


class Catalogue:
    """The known mistakes of an exercise.

    Parameters
    ----------
    mistakes
        The commonest first.
    run_case
        Runs an implementation of the course's own in one of the cases.
    """

    def __init__(
        self, mistakes: Sequence[Mistake], run_case: Callable[[Callable, int], Outcome]
    ) -> None:
        self.mistakes = mistakes
        self._run_case = run_case
        # Every check runs the same mistakes, and they do the same each time.
        self._outcomes: dict[tuple[Mistake | Several, int], Outcome] = {}

    @cached_property
    def pairs(self) -> list[Several]:
        """The pairs of mistakes that can be made at once."""
        return pairs(self.mistakes)

    def outcome(self, wrong: Mistake | Several, case: int) -> Outcome:
        """Return what a mistake, or several at once, do in a case."""
        if (wrong, case) not in self._outcomes:
            try:
                self._outcomes[wrong, case] = self._run_case(wrong.candidate, case)
            except SyntaxError as error:  # edits together need not make sense
                self._outcomes[wrong, case] = Outcome(error=(SyntaxError, str(error)))
        return self._outcomes[wrong, case]
