"""Which known faults explain the outcomes of the experiments. Nothing is guessed.

What a fault does to right subjects of several makers is in ``faults/signatures.json``. Where it has
the same wrong outcome in all of them, that outcome decides; where outcomes differ, they follow from
the model, and tell nothing.
"""

import itertools
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property

from transformer_course.checker.agreement import in_common
from transformer_course.examine.experiment import EXPERIMENTS
from transformer_course.examine.faults import FAULTS, Fault
from transformer_course.examine.faults.fault import FOLDER

LEFT_OUT = "-"
Words = Mapping[str, str]
"""The outcome of each experiment that was made."""


@dataclass(frozen=True)
class Signature:
    """What a fault does to right subjects.

    Attributes
    ----------
    outcomes
        For each experiment all outcomes that were seen; ``-`` where it could not be made.
    """

    fault: Fault
    outcomes: Mapping[str, frozenset[str]]

    @cached_property
    def decisive(self) -> dict[str, frozenset[str]]:
        """The experiments that always come out as in no right subject, with their outcomes."""
        return {
            name: words
            for name, words in self.outcomes.items()
            if LEFT_OUT not in words and words.isdisjoint(usual_outcomes()[name])
        }

    def agrees(self, words: Words) -> bool:
        """Whether all that decides, and was made, came out as this fault has it."""
        made = {name: seen for name, seen in self.decisive.items() if name in words}
        is_seen = any(name in failing(words) for name in made)
        told = {n: seen for n, seen in self.outcomes.items() if EXPERIMENTS[n].tells and n in words}
        return is_seen and all(words[name] in seen for name, seen in (made | told).items())

    def explains(self, name: str, word: str) -> bool:
        """Whether the fault can bring a wrong outcome about."""
        seen = self.outcomes[name]
        if word in seen:
            return True
        # How far a model has learned, and what it says then, differs from model to model.
        return EXPERIMENTS[name].follows and not seen <= usual_outcomes()[name]


@dataclass(frozen=True)
class Diagnosis:
    """What is recognised.

    Attributes
    ----------
    faults
        The known faults.
    candidates
        Known faults of which one is there, and nothing tells which.
    telling
        Experiments that were not made, and would tell the candidates apart.
    unexplained
        Wrong outcomes that no named fault explains.
    """

    faults: tuple[Fault, ...] = ()
    candidates: tuple[Fault, ...] = ()
    telling: tuple[str, ...] = ()
    unexplained: Words = field(default_factory=dict)


@cache
def _data() -> dict[str, dict[str, list[str]]]:
    return json.loads((FOLDER / "signatures.json").read_text(encoding="utf-8"))["outcomes"]


@cache
def usual_outcomes() -> dict[str, frozenset[str]]:
    """Return for each experiment the outcomes that right subjects have, or may have.

    An outcome that is fine in itself, but that none of many right subjects had, can still decide.
    """
    return {name: frozenset(_data()[""].get(name, ())) | {LEFT_OUT} for name in EXPERIMENTS}


@cache
def signatures() -> tuple[Signature, ...]:
    """Return what is known of each fault."""
    return tuple(
        Signature(
            fault, {name: frozenset(_data()[key].get(name, [LEFT_OUT])) for name in EXPERIMENTS}
        )
        for key, fault in FAULTS.items()
        if key in _data()
    )


def failing(words: Words) -> dict[str, str]:
    """Return the outcomes that no right subject may have."""
    return {name: word for name, word in words.items() if not EXPERIMENTS[name].outcomes[word]}


def diagnose(words: Words) -> Diagnosis:
    """Return the first of these that there is.

    One fault that explains all that fails; several that could, none of which says more; two that do
    together, or what all such pairs have in common.
    """
    wrong = failing(words)
    if not wrong:
        return Diagnosis()
    possible = [each for each in signatures() if each.agrees(words)]
    deciding = {name: word for name, word in wrong.items() if not EXPERIMENTS[name].follows}
    for must in (wrong, deciding):
        for size in (1, 2):
            fitting = _fitting(itertools.combinations(possible, size), must or wrong)
            if found := _named(fitting, words, wrong):
                return found
    return Diagnosis(unexplained=wrong)


Team = tuple[Signature, ...]


def _fitting(teams: Iterable[Team], must: Words) -> list[Team]:
    """Return the teams that explain all that they must, of which no other says more."""
    found = [
        team
        for team in teams
        if all(any(s.explains(name, word) for s in team) for name, word in must.items())
    ]
    said = {team: frozenset(name for s in team for name in s.decisive) for team in found}
    return [team for team in found if not any(said[team] < said[other] for other in found)]


def _named(teams: Sequence[Team], words: Words, wrong: Words) -> Diagnosis | None:
    if not teams:
        return None
    shared = in_common(teams)
    if shared:
        left = {n: w for n, w in wrong.items() if not any(s.explains(n, w) for s in shared)}
        return Diagnosis(tuple(s.fault for s in shared), unexplained=left)
    if any(len(team) > 1 for team in teams):
        return None
    candidates = [team[0] for team in teams]
    telling = {name for s in candidates for name in s.decisive if name not in words}
    return Diagnosis(candidates=tuple(s.fault for s in candidates), telling=tuple(sorted(telling)))
