"""What an experiment is: a question, and one of a few words as the answer, with its numbers."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from transformer_course.examine.bench import Bench

Numbers = dict[str, Any]


@dataclass(frozen=True)
class Outcome:
    """What came out of an experiment.

    Attributes
    ----------
    word
        One of the experiment's outcomes.
    numbers
        What shows it, under names that are printed.
    """

    word: str
    numbers: Numbers = field(default_factory=dict)


@dataclass(frozen=True)
class Experiment:
    """A way to ask a model something without looking at its code.

    Attributes
    ----------
    name
        A word or a few; what an outcome is known by.
    question
        What is asked, in a sentence.
    outcomes
        All the words that there are, each with whether a right model may have it.
    needs
        What of a subject has to be given.
    follows
        Whether its outcome follows from much else, such as how fast a model learns.
    loose
        Whether only that an outcome is wrong counts, where it is wrong in several ways.
    """

    name: str
    question: str
    outcomes: dict[str, bool]
    run: Callable[[Bench], Outcome]
    needs: tuple[str, ...] = ()
    follows: bool = False
    loose: bool = False

    @property
    def healthy(self) -> tuple[str, ...]:
        """The outcomes that a right model may have, the usual one first."""
        return tuple(word for word, fine in self.outcomes.items() if fine)


EXPERIMENTS: dict[str, Experiment] = {}
"""All experiments, in the order in which they are made."""


def experiment(
    name: str, question: str, *, fine: str, wrong: str, needs: str = "", **more: bool
) -> Callable[[Callable[[Bench], Outcome]], Callable[[Bench], Outcome]]:
    """Make an experiment of a function; ``fine`` and ``wrong`` list outcomes between bars.

    ``more`` are ``follows`` and ``loose``.
    """

    def add(run: Callable[[Bench], Outcome]) -> Callable[[Bench], Outcome]:
        outcomes = {word.strip(): True for word in fine.split("|")}
        outcomes |= {word.strip(): False for word in wrong.split("|") if word.strip()}
        EXPERIMENTS[name] = Experiment(name, question, outcomes, run, tuple(needs.split()), **more)
        return run

    return add


def failing(words: Mapping[str, str]) -> dict[str, str]:
    """Return the outcomes, by their experiments, that no right model may have."""
    return {name: word for name, word in words.items() if not EXPERIMENTS[name].outcomes[word]}
