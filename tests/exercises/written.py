"""Answers that readers of the lessons wrote without having seen the catalogue of mistakes.

They stand in ``answers/<round>/<lesson>.md``: below the name of each exercise a heading for each
answer, "right" or "wrong" with what a good teacher would say, and the answer's cell. Both were
written before the checker saw them. Two kinds of lines were added afterwards, where what the
checker says is what the teacher says: "Named:" with mistakes of the catalogue, "Said:" with words
of a message that needs no catalogue. "Wrongly named:" lists mistakes that are not what the teacher
says. An answer without such a line is not named.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from tools.sources import ROOT
from transformer_course.checker.answers import make_quotable
from transformer_course.checker.exercise import Exercise
from transformer_course.checker.feedback import Feedback
from transformer_course.checker.global_state import untouched_globals
from transformer_course.exercises import catalogues
from transformer_course.own import whole

FOLDER = Path(__file__).parent / "answers"
SECTION = re.compile(r"^## (\w+)\n(.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)
NAMES = re.compile("«(.+?)»")
ANSWER = re.compile(
    r"^### (right|wrong): ([^\n]+)\n+"
    r"(?:Named: ([^\n]+)\n+)?(?:Said: ([^\n]+)\n+)?(?:Wrongly named: ([^\n]+)\n+)?"
    r"```python\n(.*?)^```$",
    re.MULTILINE | re.DOTALL,
)


@dataclass(frozen=True)
class Written:
    """An answer.

    Attributes
    ----------
    lesson, exercise
        What it answers.
    number
        Its place among the answers to this exercise.
    right
        Whether a good teacher would accept it.
    words
        What the teacher would say.
    named, wrongly_named
        The names of known mistakes that are what the teacher says, and of those that are not.
    said
        Words of the checker's that are what the teacher says.
    cell
        The text.
    """

    lesson: str
    exercise: Exercise
    number: int
    right: bool
    words: str
    named: tuple[str, ...]
    wrongly_named: tuple[str, ...]
    said: str
    cell: str

    def __str__(self) -> str:
        return f"{self.exercise.name} {self.number}: {self.words}"

    def judge(self) -> Feedback:
        """Run the cell below the first cells of its lesson, and judge what it defines."""
        file = f"{self.exercise.name} {self.number}"
        make_quotable(self.cell, file)
        names = dict(_first_cells(self.lesson))
        with untouched_globals():
            exec(compile(self.cell, file, "exec", dont_inherit=True), names)
        return self.exercise.judge(names[self.exercise.name])


def written(rounds: str) -> Iterator[Written]:
    """Yield all answers of a round."""
    for path in sorted((FOLDER / rounds).glob("*.md")):
        exercises = catalogues()[path.stem.partition("_")[2]]
        for name, section in SECTION.findall(path.read_text(encoding="utf-8")):
            for number, found in enumerate(ANSWER.findall(section), start=1):
                verdict, words, named, said, wrongly, cell = found
                yield Written(
                    path.stem,
                    exercises[name],
                    number,
                    verdict == "right",
                    words,
                    tuple(NAMES.findall(named)),
                    tuple(NAMES.findall(wrongly)),
                    said,
                    cell,
                )


@cache
def _first_cells(lesson: str) -> dict[str, Any]:
    """Return the names that the first cells of a lesson define."""
    notebook = json.loads((ROOT / "notebooks" / f"{lesson}.ipynb").read_text(encoding="utf-8"))
    module = ModuleType("__main__")
    names = vars(module) | {"own": whole.course()}
    for cell in notebook["cells"]:
        if "setup" in cell["metadata"].get("tags", ()):
            exec("".join(cell["source"]), names)
    return names
