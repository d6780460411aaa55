"""Find out what an answer is: right, or wrong for which reason. Nothing is guessed."""

from collections.abc import Sequence
from dataclasses import replace

from transformer_course.checker.clues import clues
from transformer_course.checker.diagnosis import Evidence, diagnose
from transformer_course.checker.findings import Finding, Kind
from transformer_course.checker.formats import conformed, other_dtype
from transformer_course.checker.mistakes import Catalogue
from transformer_course.checker.observation import Observation
from transformer_course.checker.outcomes import Outcome


def explain(catalogue: Catalogue, observed: Observation) -> Finding:
    """Return what was found."""
    if observed.complaint:
        return Finding(Kind.FAULTY, observed, faults=[observed.complaint])
    if not observed.is_attempt:
        return Finding(Kind.NOT_ATTEMPTED, observed)
    if observed.is_endless:
        return Finding(Kind.CRASHED, observed)
    if not observed.wrong:
        kind = Kind.FAULTY if observed.faults else Kind.RIGHT
        return Finding(kind, observed, faults=observed.faults)
    return _wrong_values(catalogue, observed)


def _wrong_values(catalogue: Catalogue, observed: Observation) -> Finding:
    """Look for known mistakes, then once more with the results in the format that is wanted."""
    every = list(range(len(observed.seen)))
    evidence = Evidence(observed.seen, observed.wanted, observed.source, every)
    if known := diagnose(catalogue, evidence):
        faults = other_dtype(observed.seen, observed.wanted)
        return Finding(Kind.KNOWN, observed, faults, known)
    seen, faults = conformed(observed.seen, observed.wanted)
    evidence = replace(evidence, seen=seen, cases=_comparable(observed, seen))
    if faults and evidence.right == evidence.cases:
        return Finding(Kind.FAULTY, observed, faults)
    if faults and (known := diagnose(catalogue, evidence)):
        return Finding(Kind.KNOWN, observed, faults, known)
    return _unknown(observed, [*faults, *clues(observed, evidence)])


def _comparable(observed: Observation, seen: Sequence[Outcome]) -> list[int]:
    """Return the cases that count once parameters have the names that are wanted."""
    pairs = zip(observed.seen, seen, strict=True)
    renamed = any(before.parameters != after.parameters for before, after in pairs)
    # Who looks at something in a module asks for it by its name.
    cases = enumerate(observed.task.cases)
    return [number for number, case in cases if not (renamed and case.looks_at)]


def _unknown(observed: Observation, clues: Sequence[str]) -> Finding:
    """Say where it shows: in the parameters, as an exception, from call to call, in results."""
    kind = Kind.UNKNOWN
    if observed.other_parameters:
        kind = Kind.OTHER_PARAMETERS
    elif any(outcome.line for outcome in observed.seen):
        kind = Kind.CRASHED
    elif observed.unsteady:
        kind = Kind.UNSTEADY
    elif all(outcome.error for outcome in observed.wrong):
        kind = Kind.CRASHED
    return Finding(kind, observed, clues=clues, computed=observed.fingerprint)
