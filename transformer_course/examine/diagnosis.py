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
from transformer_course.examine.experiment import EXPERIMENTS, failing
from transformer_course.examine.faults import FAULTS, Fault
from transformer_course.examine.faults.fault import FOLDER

LEFT_OUT = "-"
"""In the place of an outcome: the experiment could not be made."""
SEARCHES = {"translate", "beam"}
"""What of a subject searches: a fault there changes nothing that is learned."""
RIGHT = ""
"""In the place of a fault's name: nothing is broken."""
Words = Mapping[str, str]
"""The outcome of each experiment that was made."""
Seen = Mapping[str, Mapping[str, Sequence[str]]]
"""For each fault, and for right subjects, the outcomes that each experiment had."""


@dataclass(frozen=True, eq=False)
class Signature:
    """What a fault does to right subjects.

    Attributes
    ----------
    outcomes
        For each experiment all outcomes that were seen.
    usual
        Those of right subjects.
    """

    fault: Fault
    outcomes: Mapping[str, frozenset[str]]
    usual: Mapping[str, frozenset[str]]

    @cached_property
    def decisive(self) -> dict[str, frozenset[str]]:
        """The experiments that always come out as in no right subject, with their outcomes.

        An outcome that is fine in itself, but that none of many right subjects had, decides too.
        Where something wrong decides that follows from nothing else, what follows does not.
        """
        always = {
            name: words
            for name, words in self.outcomes.items()
            if LEFT_OUT not in words and words.isdisjoint(self.usual[name])
        }
        roots = {name: words for name, words in always.items() if not EXPERIMENTS[name].follows}
        wrong = any(not EXPERIMENTS[n].outcomes[w] for n, words in roots.items() for w in words)
        return roots if wrong else always

    @property
    def is_root(self) -> bool:
        """Whether something decides that follows from nothing else."""
        return any(not EXPERIMENTS[name].follows for name in self.decisive)

    @cached_property
    def touches_learning(self) -> bool:
        """Whether it changes how far some model learns, or what a right search finds then."""
        return any(
            not self._is_usual(name)
            for name, each in EXPERIMENTS.items()
            if each.follows and not SEARCHES & {*each.needs}
        )

    def _is_usual(self, name: str) -> bool:
        return self.outcomes[name] <= self.usual[name] | {LEFT_OUT}

    def agrees(self, words: Words) -> bool:
        """Whether all that decides, and was made, came out as this fault has it."""
        made = {name: seen for name, seen in self.decisive.items() if name in words}
        if self.is_root and all(EXPERIMENTS[name].follows for name in made):
            return False
        if any(words.get(name, fits[0]) not in fits for name, fits in self.fault.only.items()):
            return False
        return any(name in failing(words) for name in made) and all(
            words[name] in seen or (_varies(name, seen) and name in failing(words))
            for name, seen in made.items()
        )

    def explains(self, name: str, word: str) -> bool:
        """Whether the fault can bring a wrong outcome about."""
        # How far a model has learned, and what it says then, differs from model to model.
        if EXPERIMENTS[name].follows and self.touches_learning:
            return True
        return word in self.outcomes[name]


def _varies(name: str, seen: frozenset[str]) -> bool:
    """Whether only that an outcome is wrong tells something, and not in which way."""
    return EXPERIMENTS[name].loose and len(seen) > 1


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


def signatures_of(seen: Seen) -> tuple[Signature, ...]:
    """Return what is known of each fault that was tried."""

    def sets(key: str) -> dict[str, frozenset[str]]:
        return {name: frozenset(seen[key].get(name, [LEFT_OUT])) for name in EXPERIMENTS}

    usual = sets(RIGHT)
    return tuple(Signature(fault, sets(key), usual) for key, fault in FAULTS.items() if key in seen)


@cache
def signatures() -> tuple[Signature, ...]:
    """Return what is known of each fault."""
    content = json.loads((FOLDER / "signatures.json").read_text(encoding="utf-8"))
    return signatures_of(content["outcomes"])


def diagnose(words: Words, known: Sequence[Signature] | None = None) -> Diagnosis:
    """Return the first of these that there is.

    One fault that explains all that fails; several that could, none of which says more; two that do
    together, or what all such pairs have in common.
    """
    wrong = failing(words)
    if not wrong:
        return Diagnosis()
    possible = [each for each in known or signatures() if each.agrees(words)]
    deciding = {name: word for name, word in wrong.items() if not EXPERIMENTS[name].follows}
    for must in (wrong, deciding):
        for size in (1, 2):
            fitting = _fitting(itertools.combinations(possible, size), must or wrong, words)
            if found := _named(fitting, words, wrong):
                return found
    return Diagnosis(unexplained=wrong)


Team = tuple[Signature, ...]


def _fitting(teams: Iterable[Team], must: Words, words: Words) -> list[Team]:
    """Return the teams that explain all that they must.

    A fault beside which another says more is left out. Of two faults each may say what only follows
    from the other, so no team of two is better than another.
    """
    found = [
        team
        for team in teams
        if not _follow_from_one(team)
        and all(any(s.explains(name, word) for s in team) for name, word in must.items())
    ]
    if any(len(team) > 1 for team in found):
        return found
    said = {team: {name for s in team for name in s.decisive if name in words} for team in found}
    return [team for team in found if not any(said[team] < said[other] for other in found)]


def _follow_from_one(team: Team) -> bool:
    """Whether two are seen only by what follows: one unknown fault of a search looks like two."""
    return len(team) > 1 and not any(each.is_root for each in team)


def _named(teams: Sequence[Team], words: Words, wrong: Words) -> Diagnosis | None:
    if not teams:
        return None
    shared = in_common(teams)
    # Beside a fault of the model or its training, what it learns and says proves no second one.
    shared = [each for each in shared if each.is_root] or shared
    if shared:
        left = {n: w for n, w in wrong.items() if not any(s.explains(n, w) for s in shared)}
        return Diagnosis(tuple(s.fault for s in shared), unexplained=left)
    if any(len(team) > 1 for team in teams):
        return None
    candidates = [team[0] for team in teams]
    telling = {name for s in candidates for name in s.decisive if name not in words}
    return Diagnosis(candidates=tuple(s.fault for s in candidates), telling=tuple(sorted(telling)))
