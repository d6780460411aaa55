"""The cases as tables: what they can be named, and how far the reader is."""

from dataclasses import dataclass

import pandas as pd

from transformer_course.cases import catalogue, journal
from transformer_course.cases.desk import runs
from transformer_course.checker.feedback import Table


@dataclass(frozen=True)
class Board:
    """A table that a notebook displays; ``print`` writes it elsewhere."""

    table: Table

    def __repr__(self) -> str:
        return self.table.text()

    def _repr_html_(self) -> str:
        return self.table.html()


def names() -> Board:
    """Return what a case can be named, and what that means."""
    return Board(Table("What may be wrong", ("name", "meaning"), tuple(catalogue.names().items())))


def scoreboard() -> Board:
    """Return a row for each case: level, experiments and par, and whether it is solved."""
    rows = (
        (case.key, str(case.level), str(spent), str(case.par), "yes" if solved else "not yet")
        for case, spent, solved in journal.standings()
    )
    return Board(Table("Cases", ("case", "level", "experiments", "par", "solved"), tuple(rows)))


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
