"""Measure the rhythm of the lessons: how much there is to read between two things to do.

``python -m tools.rhythm [notebooks/text/NAME.md ...]`` prints a row for each lesson; its words are
those of prose, without code, tables, formulas and folded answers.
"""

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from nbformat import NotebookNode

from tools.sources import lesson_sources, read_source

CODE = {"exercise", "write"}
TASKS = CODE | {"gaps", "predict", "vary"}
QUESTIONS, FURTHER = "## Questions", "## Further"
# What is no prose: folds, tables, formulas, code and comments, the targets of links.
NO_PROSE = re.compile(
    r"<details>.*?</details>|^\|.*?$|\$\$.*?\$\$|```.*?```|<!--.*?-->|(?<=\])\([^)]*\)",
    re.DOTALL | re.MULTILINE,
)
WORD = re.compile(r"\w[\w'-]*")
REFERENCES = re.compile(r"^## References$.*", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True)
class Rhythm:
    """What a lesson asks of its reader, in words of prose.

    Attributes
    ----------
    way, further
        Words up to the heading "Further", and from there on.
    stretch
        Most words before, between and after the tasks, up to the questions.
    code_stretch
        Most words between two tasks that are written in code.
    first_code
        Words before the first of them.
    exercises
        How many exercises the way has.
    tasks
        How many tasks of any kind.
    """

    way: int
    further: int
    stretch: int
    code_stretch: int
    first_code: int
    exercises: int
    tasks: int


def rhythm(source: Path) -> Rhythm:
    """Measure a lesson."""
    lesson = read_source(source).cells
    cells = list(_before(FURTHER, lesson))
    taught = list(_before(QUESTIONS, cells))
    stretches, code_stretches = _stretches(taught, TASKS), _stretches(taught, CODE)
    way = sum(map(words, cells))
    return Rhythm(
        way=way,
        further=sum(map(words, lesson)) - way,
        stretch=max(stretches),
        code_stretch=max(code_stretches[1:-1], default=0),
        first_code=code_stretches[0],
        exercises=sum("exercise" in _tags(cell) for cell in cells),
        tasks=sum(bool(_tags(cell) & TASKS) for cell in cells),
    )


def words(cell: NotebookNode) -> int:
    """Count the words of prose in a cell; code and the links at the top have none."""
    if cell.cell_type != "markdown" or "links" in _tags(cell):
        return 0
    return len(WORD.findall(NO_PROSE.sub(" ", REFERENCES.sub("", cell.source))))


def _before(heading: str, cells: list[NotebookNode]) -> Iterator[NotebookNode]:
    for cell in cells:
        if cell.cell_type == "markdown" and heading in cell.source.splitlines():
            before = cell.source.partition(heading)[0]
            yield NotebookNode(cell | {"source": before})
            return
        yield cell


def _stretches(cells: list[NotebookNode], tasks: set[str]) -> list[int]:
    """Return the words before, between and after the cells with one of these tags."""
    counts = [0]
    for cell in cells:
        counts[-1] += words(cell)
        if _tags(cell) & tasks:
            counts.append(0)
    return counts


def _tags(cell: NotebookNode) -> set[str]:
    return set(cell.metadata.get("tags", []))


def main() -> None:
    """Print a row for each lesson."""
    names = list(Rhythm.__dataclass_fields__)
    print(f"{'lesson':24}", *(f"{name:>12}" for name in names))
    for source in [Path(name) for name in sys.argv[1:]] or lesson_sources():
        row = rhythm(source)
        print(f"{source.stem:24}", *(f"{getattr(row, name):12,}" for name in names))


if __name__ == "__main__":
    main()
