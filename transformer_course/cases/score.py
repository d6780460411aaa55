"""The cases as tables: what they can be named, and how far the reader is."""

import pandas as pd

from transformer_course.cases import catalogue, journal
from transformer_course.cases.desk import runs


def names() -> pd.DataFrame:
    """Return what a case can be named, and what that means."""
    meanings = catalogue.names()
    return pd.DataFrame({"name": list(meanings), "meaning": list(meanings.values())})


def scoreboard() -> pd.DataFrame:
    """Return a row for each case: level, experiments and par, and whether it is solved."""
    return pd.DataFrame(
        {
            "case": case.key,
            "level": case.level,
            "experiments": spent,
            "par": case.par,
            "solved": "yes" if solved else "not yet",
        }
        for case, spent, solved in journal.standings()
    )


def examined() -> pd.DataFrame:
    """Return what `examine` said of each case, as recorded; without the names of its faults."""
    found = {key: runs()[key]["examined"] for key in catalogue.cases()}
    return pd.DataFrame(
        {"level": catalogue.cases()[key].level, "examine says": _verdict(each)}
        for key, each in found.items()
    )


def _verdict(found: dict[str, list[str]]) -> str:
    if found["named"]:
        return "names a fault"
    return "an experiment fails" if found["failing"] else "nothing is wrong"
