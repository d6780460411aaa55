"""Which known mistake explains what was seen: in every case, or in as many as can be trusted."""

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from torch import Tensor

from transformer_course.checker.agreement import in_common
from transformer_course.checker.comparison import parts_of
from transformer_course.checker.mistakes import Catalogue, Mistake, Several
from transformer_course.checker.outcomes import Outcome, same_behaviour

MOST, FEWEST = 3 / 4, 3
"""The share of the wrong results in which a mistake must agree to be named at all, and how many."""
PAIRS_TRIED = 300  # a check should answer within a second, and each pair is run
TRIPLES_TRIED = 300
FITTING = 6  # more pairs or triples that explain everything tell nothing new


@dataclass(frozen=True)
class Diagnosis:
    """What is recognised.

    Attributes
    ----------
    mistakes
        The known mistakes that were made.
    remark
        What they do not explain; empty if they explain everything.
    crashes
        Whether exceptions are among what they do not explain.
    """

    mistakes: tuple[Mistake, ...]
    remark: str = ""
    crashes: bool = False


@dataclass(frozen=True)
class Evidence:
    """What was seen in all cases, beside what was wanted, and the code that did it.

    Attributes
    ----------
    cases
        The numbers of the cases that count.
    """

    seen: Sequence[Outcome]
    wanted: Sequence[Outcome]
    source: str
    cases: Sequence[int]

    @cached_property
    def right(self) -> list[int]:
        """The numbers of the cases that are right."""
        return [n for n in self.cases if same_behaviour(self.wanted[n], self.seen[n])]

    @cached_property
    def crashed(self) -> list[int]:
        """The numbers of the cases that ended with an exception."""
        return [n for n in self.cases if self.seen[n].error]

    @cached_property
    def running(self) -> list[int]:
        """The numbers of the cases that ended with a result."""
        return [n for n in self.cases if not self.seen[n].error]

    @cached_property
    def wrong(self) -> list[int]:
        """The numbers of the cases that ended with a wrong result."""
        right = set(self.right)
        return [n for n in self.running if n not in right]


def diagnose(catalogue: Catalogue, evidence: Evidence) -> Diagnosis | None:
    """Return the first of these that there is; nothing is guessed.

    A mistake, then a pair, then three that explain every case; one that explains every case that
    did not crash; one that explains most wrong cases, with nothing against it.
    """
    possible = [m for m in catalogue.mistakes if not m.is_refuted_by(evidence.source)]

    def fits(wrong: Mistake | Several, cases: Iterable[int]) -> bool:
        return all(same_behaviour(catalogue.outcome(wrong, n), evidence.seen[n]) for n in cases)

    return (
        _everywhere(possible, catalogue, evidence)
        or _wherever_it_runs(possible, fits, evidence)
        or _in_most(possible, catalogue, fits, evidence)
    )


def _everywhere(
    possible: Sequence[Mistake], catalogue: Catalogue, evidence: Evidence
) -> Diagnosis | None:
    telling = _tells_enough(evidence, evidence.wrong)

    def explains(wrong: Mistake | Several) -> bool:
        for number in evidence.cases:
            outcome, theirs = evidence.seen[number], catalogue.outcome(wrong, number)
            # Where shapes do not fit, `@`, `einsum` and fused attention raise in different words.
            # Wrong values in other cases tell enough; without any, the words are all there is.
            if theirs.error and outcome.error and telling:
                continue
            if not same_behaviour(theirs, outcome):
                return False
        return bool(evidence.wrong) or _crashes_tell(wrong, evidence)

    for mistake in possible:
        if explains(mistake):
            return Diagnosis((mistake,))
    for several in _likely_pairs(possible, catalogue, evidence):
        fitting = list(itertools.islice(filter(explains, several), FITTING))
        if fitting:
            return _in_common(fitting)
    # So many triples can be made that one always fits where there is little to compare.
    if not any(_real_numbers(evidence.seen[n].value) >= 4 for n in evidence.wrong):
        return None
    tried = itertools.islice(_likely_triples(possible, catalogue, evidence), TRIPLES_TRIED)
    return _in_common(list(itertools.islice(filter(explains, tried), FITTING)))


def _in_common(fitting: Sequence[Several]) -> Diagnosis | None:
    """Return the only one, or what all share."""
    if not fitting or len(fitting) == FITTING:
        return None
    if shared := in_common([several.mistakes for several in fitting]):
        remark = "" if len(fitting) == 1 else "It is not the only mistake."
        return Diagnosis(tuple(shared), remark)
    return None


def _possible_pairs(possible: Sequence[Mistake], catalogue: Catalogue) -> Iterator[Several]:
    left = set(possible)
    return (pair for pair in catalogue.pairs if left.issuperset(pair.mistakes))


def _likely_pairs(
    possible: Sequence[Mistake], catalogue: Catalogue, evidence: Evidence
) -> Iterator[Iterator[Several]]:
    """Yield the commonest pairs; then, among the rest, those of a mistake that shows alone.

    That is a mistake that explains a wrong case without the other.
    """
    pairs = _possible_pairs(possible, catalogue)
    yield itertools.islice(pairs, PAIRS_TRIED)
    seen = {m for m in possible if _shows(m, evidence.wrong, catalogue, evidence)}
    yield itertools.islice((p for p in pairs if seen & set(p.mistakes)), PAIRS_TRIED)


def _likely_triples(
    possible: Sequence[Mistake], catalogue: Catalogue, evidence: Evidence
) -> Iterator[Several]:
    """Yield each of the commonest pairs that alone explains the first wrong case, with a third.

    Where one of the two explains it without the other, the pair tells nothing new.
    """
    first = evidence.wrong[:1]
    alone = {m for m in possible if _shows(m, first, catalogue, evidence)}
    for pair in itertools.islice(_possible_pairs(possible, catalogue), PAIRS_TRIED):
        if alone.isdisjoint(pair.mistakes) and _shows(pair, first, catalogue, evidence):
            yield from pair.and_one_more(possible)


def _shows(
    wrong: Mistake | Several, cases: Iterable[int], catalogue: Catalogue, evidence: Evidence
) -> bool:
    """Whether something explains one of the cases, of those whose results tell enough."""
    return any(
        same_behaviour(catalogue.outcome(wrong, n), evidence.seen[n])
        for n in cases
        if not isinstance(evidence.seen[n].value, bool)
    )


def _crashes_tell(wrong: Mistake | Several, evidence: Evidence) -> bool:
    """Whether nothing but equal exceptions is enough to name a mistake.

    It is where they hold other numbers in each case, or where the code holds what the mistake
    writes; for several mistakes all. Else equal words, such as those about a type, tell little.
    """
    messages = {evidence.seen[n].error for n in evidence.crashed}
    numbers_differ = len({error[1] for error in messages}) > 1
    if isinstance(wrong, Several):
        return numbers_differ and all(_stands_in(m, evidence.source) for m in wrong.mistakes)
    return numbers_differ or _stands_in(wrong, evidence.source)


def _stands_in(mistake: Mistake, source: str) -> bool:
    if not source or mistake.record.body:
        return True
    code = "".join(source.split())
    return all(
        "".join(new.split()) in code and (new or "".join(old.split()) not in code)
        for old, new in mistake.record.edits
    )


def _wherever_it_runs(
    possible: Sequence[Mistake], fits: Callable, evidence: Evidence
) -> Diagnosis | None:
    if not evidence.crashed or not _tells_enough(evidence, evidence.wrong):
        return None
    found = [mistake for mistake in possible if fits(mistake, evidence.running)]
    return Diagnosis((found[0],), crashes=True) if len(found) == 1 else None


def _in_most(
    possible: Sequence[Mistake], catalogue: Catalogue, fits: Callable, evidence: Evidence
) -> Diagnosis | None:
    """Find the one mistake that agrees in most wrong cases and is right wherever the code is."""
    agreeing = {}
    telling = [n for n in evidence.wrong if not isinstance(evidence.seen[n].value, bool)]
    for mistake in possible:
        cases = [n for n in telling if fits(mistake, [n])]
        most = len(cases) >= max(FEWEST, MOST * len(evidence.wrong))
        if most and fits(mistake, evidence.right):
            agreeing[mistake] = len(cases)
    if len(agreeing) != 1:
        return None
    ((mistake, count),) = agreeing.items()
    remark = (
        f"In {count} of {len(evidence.wrong)} wrong results your code computes what this mistake "
        "computes; there is something else as well."
    )
    return Diagnosis((mistake,), remark, crashes=bool(evidence.crashed))


def _tells_enough(evidence: Evidence, cases: Sequence[int]) -> bool:
    """Whether agreement in these cases can hardly be chance: real numbers, or two results."""
    return len(cases) >= 2 or any(_real_numbers(evidence.seen[n].value) >= 4 for n in cases)


def _real_numbers(value: Any) -> int:
    if isinstance(value, list | tuple | dict):
        return sum(map(_real_numbers, parts_of(value)))
    if isinstance(value, Tensor):
        return value.numel() if value.is_floating_point() else 0
    return int(isinstance(value, float))
