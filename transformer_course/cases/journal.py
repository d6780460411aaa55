"""What the learner did with the cases, in a file beside their progress."""

from collections import defaultdict

from transformer_course.cases.catalogue import Case, cases
from transformer_course.checker import progress
from transformer_course.files import now

KIND = "cases"
RAN, NAMED, WRONG, SOLVED = "ran", "named", "named wrongly", "solved"
COST = (RAN, WRONG)
"""What counts as an experiment."""

Done = list[tuple[str, str]]
"""What was done with a case until it was solved for the first time, and with what."""


def note(case: Case, did: str, what: str = "") -> None:
    """Add a line; where nothing can be saved, as on a full disk, the case goes on without it."""
    progress.add(KIND, {"case": case.key, "did": did, "what": what, "time": now()})


def spent(case: Case) -> int:
    """Return how many experiments a case took until it was solved; a wrong name counts as one."""
    return _cost(_done()[case.key])


def named(case: Case) -> set[str]:
    """Return the faults of a case that were named rightly."""
    return {what for did, what in _done()[case.key] if did == NAMED}


def is_solved(case: Case) -> bool:
    """Whether a case is named and mended."""
    return _is_solved(_done()[case.key])


def standings() -> list[tuple[Case, int, bool]]:
    """Return each case that counts, the experiments that it took, and whether it is solved."""
    done = _done()
    return [
        (case, _cost(done[key]), _is_solved(done[key]))
        for key, case in cases().items()
        if case.level
    ]


def _done() -> dict[str, Done]:
    """Return what was done with each case, from one reading of the file."""
    done = defaultdict[str, Done](list)
    for key, did, what in progress.entries(KIND, "case", "did", "what"):
        if not _is_solved(done[key]):
            done[key].append((did, what))
    return done


def _cost(done: Done) -> int:
    return sum(did in COST for did, _ in done)


def _is_solved(done: Done) -> bool:
    return any(did == SOLVED for did, _ in done)
