"""Known mistakes: wrong implementations, recognised by what they compute."""

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from torch import nn

from transformer_course.exercises.comparison import difference
from transformer_course.exercises.sandbox import Outcome

PAIRS_TRIED = 300  # a check should answer within a second, and each pair is run


@dataclass(frozen=True)
class Mistake:
    """A wrong implementation, and what to say to whoever wrote it.

    Attributes
    ----------
    name
        The mistake in a few words.
    observed
        What gives it away, with numbers where there are some.
    change
        One sentence on what to change.
    steps
        The implementation: a class that overrides one step of the right one.
    """

    name: str
    observed: str
    change: str
    steps: type

    @property
    def candidate(self) -> Callable:
        """What can be checked: the class of a module, or an object that is called."""
        return self.steps if issubclass(self.steps, nn.Module) else self.steps()


def pairs(mistakes: Sequence[Mistake]) -> list[tuple[Mistake, Mistake]]:
    """Return the pairs that can be made at once, because they override different steps.

    Of more than ``PAIRS_TRIED`` they are those whose mistakes come first in the catalogue.
    """
    ranked = sorted(itertools.combinations(range(len(mistakes)), 2), key=sum)
    couples = ((mistakes[one], mistakes[other]) for one, other in ranked)
    independent = (pair for pair in couples if _are_independent(*(m.steps for m in pair)))
    return list(itertools.islice(independent, PAIRS_TRIED))


def _are_independent(one: type, other: type) -> bool:
    steps, others = _own_steps(one, other), _own_steps(other, one)
    return bool(steps and others) and steps.isdisjoint(others)


def _own_steps(steps: type, other: type) -> set[str]:
    """Return the names of the methods that ``steps`` does not share with ``other``."""
    own = (each for each in steps.__mro__ if each not in other.__mro__)
    return {name for each in own for name, step in vars(each).items() if callable(step)}


def combined(one: Mistake, other: Mistake) -> Mistake:
    """Return both mistakes as one implementation, which inherits the wrong steps of each."""
    steps = type(f"{one.steps.__name__}{other.steps.__name__}", (one.steps, other.steps), {})
    return Mistake(f"{one.name}; {other.name}", "", f"{one.change} {other.change}", steps)


def same_behaviour(one: Outcome, other: Outcome) -> bool:
    """Whether two implementations did the same: equal parameters, and results or exceptions."""
    if one.parameters != other.parameters:
        return False
    if one.error or other.error:
        return one.error == other.error
    return difference(one.value, other.value) is None


def diagnose(
    seen: Sequence[Outcome],
    wanted: Sequence[Outcome],
    mistakes: Sequence[Mistake],
    run_case: Callable[[Callable, int], Outcome],
) -> tuple[Mistake, ...]:
    """Return the mistake, or the two, that behave as was seen in every case; else nothing."""
    gave_wrong_value = any(
        not outcome.error and not same_behaviour(right, outcome)
        for right, outcome in zip(wanted, seen, strict=True)
    )

    def agree(one: Outcome, other: Outcome) -> bool:
        # Where shapes do not fit, `@`, `einsum` and fused attention raise in different words. Wrong
        # values in other cases tell enough; without any, the words are all there is.
        both_crash = bool(one.error and other.error)
        return (both_crash and gave_wrong_value) or same_behaviour(one, other)

    def explains(mistake: Mistake) -> bool:
        candidate = mistake.candidate
        return all(
            agree(run_case(candidate, number), outcome) for number, outcome in enumerate(seen)
        )

    for mistake in mistakes:
        if explains(mistake):
            return (mistake,)
    both = [pair for pair in pairs(mistakes) if explains(combined(*pair))]
    # Two pairs that compute the same cannot be told apart, and a guess helps nobody.
    return both[0] if len(both) == 1 else ()
