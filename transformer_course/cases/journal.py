"""What the learner did with the cases, in a file beside their progress."""

from transformer_course.cases.catalogue import Case, cases
from transformer_course.checker import progress

KIND = "cases"
RAN, NAMED, WRONG, SOLVED = "ran", "named", "named wrongly", "solved"
COST = (RAN, WRONG)
"""What counts as an experiment."""


def note(case: Case, did: str, what: str = "") -> None:
    """Add a line; where nothing can be saved, as on a full disk, the case goes on without it."""
    progress.add(KIND, {"case": case.key, "did": did, "what": what, "time": progress.now()})


def spent(case: Case) -> int:
    """Return how many experiments a case took until it was solved; a wrong name counts as one."""
    return sum(did in COST for did, _ in _until_solved(case))


def named(case: Case) -> set[str]:
    """Return the faults of a case that were named rightly."""
    return {what for did, what in _until_solved(case) if did == NAMED}


def is_solved(case: Case) -> bool:
    """Whether a case is named and mended."""
    return any(did == SOLVED for did, _ in _until_solved(case))


def standings() -> list[tuple[Case, int, bool]]:
    """Return each case that counts, the experiments that it took, and whether it is solved."""
    return [(case, spent(case), is_solved(case)) for case in cases().values() if case.level]


def _until_solved(case: Case) -> list[tuple[str, str]]:
    done = []
    for key, did, what in progress.entries(KIND, "case", "did", "what"):
        if key == case.key:
            done.append((did, what))
            if did == SOLVED:
                break
    return done
