"""Find out what was seen: which known mistake explains it, or what else can be said of it."""

from collections.abc import Sequence
from dataclasses import replace

from transformer_course.checker.calls import as_code
from transformer_course.checker.candidates import other_order
from transformer_course.checker.cases import Case
from transformer_course.checker.clues.departure import departure
from transformer_course.checker.clues.dependence import independence
from transformer_course.checker.clues.relations import relation
from transformer_course.checker.clues.separation import separation
from transformer_course.checker.comparison import Difference, difference, size
from transformer_course.checker.diagnosis import Diagnosis, Evidence, diagnose
from transformer_course.checker.faults import changes_arguments, faults, tried_properties, unsteady
from transformer_course.checker.findings import Finding, Kind, Shapes
from transformer_course.checker.fingerprint import fingerprint
from transformer_course.checker.formats import conformed, other_dtype
from transformer_course.checker.mistakes import Catalogue
from transformer_course.checker.observe import Observation
from transformer_course.checker.outcomes import Outcome, same_behaviour


def explain(catalogue: Catalogue, observed: Observation) -> Finding:
    """Return what an answer is: not attempted, right, or wrong for a reason that is found."""
    if observed.complaint:
        return Finding(Kind.FAULTY, faults=[observed.complaint])
    if not observed.is_attempt:
        return Finding(Kind.NOT_ATTEMPTED)
    if observed.is_endless:
        finding = Finding(Kind.CRASHED, crash=_crash(observed))
    elif all(map(same_behaviour, observed.wanted, observed.seen)):
        finding = _right_values(observed)
    else:
        finding = _wrong_values(catalogue, observed)
    printed = next((outcome.printed for outcome in observed.seen if outcome.printed.strip()), "")
    return replace(finding, printed=printed)


def _right_values(observed: Observation) -> Finding:
    found = faults(observed.task, observed.seen, observed.wanted)
    return Finding(Kind.FAULTY if found else Kind.RIGHT, faults=found)


def _wrong_values(catalogue: Catalogue, observed: Observation) -> Finding:
    """Look for known mistakes, then again with the results brought into the right format."""
    every = list(range(len(observed.seen)))
    evidence = Evidence(observed.seen, observed.wanted, observed.source, every)
    if known := diagnose(catalogue, evidence):
        return _known(observed, known, other_dtype(observed.seen, observed.wanted))
    evidence, remarks = _in_right_format(evidence, observed)
    if remarks and evidence.right == evidence.cases:
        return Finding(Kind.FAULTY, faults=remarks)
    if remarks and (known := diagnose(catalogue, evidence)):
        return _known(observed, known, remarks)
    return _unknown(observed, [*remarks, *_clues(observed, evidence)])


def _in_right_format(evidence: Evidence, observed: Observation) -> tuple[Evidence, list[str]]:
    seen, remarks = conformed(evidence.seen, evidence.wanted)
    renamed = any(a.parameters != b.parameters for a, b in zip(evidence.seen, seen, strict=True))
    # Who looks at something in a module asks for it by its name.
    cases = [n for n in evidence.cases if not (renamed and observed.task.cases[n].looks_at)]
    return replace(evidence, seen=seen, cases=cases), remarks


def _known(observed: Observation, known: Diagnosis, remarks: Sequence[str]) -> Finding:
    return Finding(
        Kind.KNOWN,
        known=known,
        remarks=remarks,
        parameters=_other_parameters(observed),
        example=_example(observed),
        crash=_crash(observed) if known.crashes else None,
        changes_arguments=changes_arguments(observed.seen),
    )


def _unknown(observed: Observation, clues: Sequence[str]) -> Finding:
    """Tell, without guessing why, what differs: parameters, an exception, or results."""
    task, seen, wanted = observed.task, observed.seen, observed.wanted
    found = Finding(Kind.UNKNOWN, clues=clues, computed=fingerprint(seen))
    if parameters := _other_parameters(observed):
        return replace(found, parameters=parameters)
    if any(outcome.line for outcome in seen):
        changes = changes_arguments(seen)
        return replace(found, kind=Kind.CRASHED, crash=_crash(observed), changes_arguments=changes)
    if words := unsteady(task, seen):
        return replace(found, kind=Kind.FAULTY, faults=[words], example=_example(observed))
    wrong = [o for w, o in zip(wanted, seen, strict=True) if not same_behaviour(w, o)]
    if all(outcome.error for outcome in wrong):
        return replace(found, kind=Kind.CRASHED, crash=_crash(observed))
    properties = tried_properties(task, seen, wanted)
    return replace(found, wrong=len(wrong), example=_example(observed), properties=properties)


def _clues(observed: Observation, evidence: Evidence) -> list[str]:
    """Return what can be said of a mistake that is not known."""
    task = observed.task
    pairs = [(n, evidence.wanted[n], evidence.seen[n]) for n in evidence.wrong]
    found = [other_order(task, observed.candidate)]
    found += [relation(task, pairs)] if pairs else []
    known = {n: (evidence.wanted[n], observed.seen[n]) for n in evidence.running}
    found.append(independence(task, observed.beside, known))
    cases = [task.cases[n] for n in evidence.wrong]
    injected = [case for case in cases if case.inject and not case.looks_at]
    found += [departure(observed.beside, injected[0])] if injected else []
    found.append(separation(task, evidence.right, evidence.wrong or evidence.crashed))
    return [clue for clue in found if clue]


def _crash(observed: Observation) -> tuple[Case, Outcome]:
    """Return the first case that stopped in a line of the learner's, or else the first."""
    rows = zip(observed.task.cases, observed.seen, strict=False)
    crashes = [(case, outcome) for case, outcome in rows if outcome.error]
    return next(((case, outcome) for case, outcome in crashes if outcome.line), crashes[0])


def _other_parameters(observed: Observation) -> tuple[Shapes, Shapes] | None:
    """Return the parameters of the first case in which they differ."""
    for wanted, seen in zip(observed.wanted, observed.seen, strict=True):
        made = seen.parameters or not seen.error
        if made and wanted.parameters != seen.parameters:
            return wanted.parameters, seen.parameters
    return None


def _example(observed: Observation) -> tuple[Case, Difference] | None:
    """Return the wrong result that is read fastest; what only looks at something comes last."""
    task = observed.task
    wrong: list[tuple[bool, int, Case, Difference]] = []
    for case, right, mine in zip(task.cases, observed.wanted, observed.seen, strict=True):
        if not mine.error and (found := difference(right.value, mine.value)):
            length = len(as_code(task, case)) + 8 * size(right.value)
            wrong.append((bool(case.looks_at), length, case, found))
    return min(wrong, key=lambda row: row[:2])[2:] if wrong else None
