"""What a machine can read of a capstone: a card, a report, and the notes of six runs or more.

Everything is read as text: no weights are loaded, and nothing that was handed in is run.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from types import MappingProxyType

from transformer_course.checker.feedback import Feedback, Sentence, Verdict
from transformer_course.publish.card import BLANKS, Told, check_sides, figures, unfilled
from transformer_course.translation.training.looks import LOOKS_FILE
from transformer_course.translation.training.runs import RUN_FILE

CARD, REPORT = "card.md", "report.html"
LESSON = "your_own_text"
SEEDS = 3
LARGEST = 2**24
"""Bytes of a file that is read."""
MOST_RUNS = 40
GOOD = "How good it is"
"""A heading of every report."""

Report = Callable[[str, Feedback], None]


def is_capstone(folder: Path) -> bool:
    """Say whether a folder holds a card."""
    return _named(folder, CARD) is not None


def _named(folder: Path, name: str) -> Path | None:
    """Return the file whose name ends so: a learner's name is often put before it."""
    # glob passes over what nobody may read.
    found = (path for path in sorted(folder.glob("*")) if path.name.lower().endswith(name))
    # macOS adds a hidden file of the same ending beside each.
    return next((p for p in found if not p.name.startswith(".") and _is_plain(p)), None)


def _is_plain(path: Path) -> bool:
    """Whether it is a file, no link to one, and of a size that somebody may have written."""
    return path.is_file() and not path.is_symlink() and path.stat().st_size <= LARGEST


class Capstone:
    """A folder with a card that somebody handed in.

    Attributes
    ----------
    lesson
        Lesson 13's name.
    exercises
        What is looked at, with a function that says what is wrong with it, in a sentence; ``""`` if
        nothing is.
    failures, predictions
        Always empty: nothing is run.
    """

    lesson = LESSON
    failures: Sequence[str] = ()
    predictions: Mapping[str, str] = MappingProxyType({})

    def __init__(self, folder: Path) -> None:
        self._folder = folder.absolute()  # whoever grades works in another folder
        self.exercises: dict[str, Callable[[], str]] = {
            "card": self._card_fault,
            "report": self._report_fault,
            "three_seeds": self._seeds_fault,
            "test_once": self._test_fault,
            "paired_test": self._figures_fault,
        }

    def lesson_of(self, name: str) -> str:
        """Return the lesson of what is looked at."""
        return self.lesson

    def check(self, report: Report, seconds: float) -> None:
        """Report on each thing that is looked at; each is a matter of moments."""
        for name, fault in self.exercises.items():
            try:
                wrong = fault()
            except Exception as error:  # whatever a strange file makes our readers stumble over
                wrong = str(error) or type(error).__name__
            verdict = Verdict.WRONG if wrong else Verdict.RIGHT
            report(name, Feedback(verdict, name, (Sentence(wrong or "It is there."),)))

    def _text(self, name: str) -> str:
        path = _named(self._folder, name)
        if path is None:
            raise ValueError(f"there is no {name} of {LARGEST // 2**20} MB at most.")
        return path.read_text(encoding="utf-8")

    @cached_property
    def _runs(self) -> list[Told]:
        """The runs below the folder; raise ValueError if one cannot be read."""
        folders = [path.parent for path in self._folder.rglob(RUN_FILE) if _is_plain(path)]
        if len(folders) > MOST_RUNS:
            raise ValueError(f"there are more than {MOST_RUNS} runs: hand in those of the card.")
        for folder in folders:
            notes = folder / LOOKS_FILE
            if notes.exists() and not _is_plain(notes):
                raise ValueError(f"{notes.name} in {folder.name} is too large, or a link.")
        return sorted(map(Told.read, folders), key=lambda told: (told.seed, told.name))

    @cached_property
    def _sides(self) -> list[list[Told]]:
        sides: list[list[Told]] = []
        for told in self._runs:
            alike = next((side for side in sides if told.is_like(side[0])), None)
            if alike is None:
                sides.append(alike := [])
            alike.append(told)
        return sides

    def _card_fault(self) -> str:
        blank = unfilled(self._text(CARD))
        if blank:
            return f"{len(blank)} of {len(BLANKS)} blanks are not filled: {', '.join(blank)}."
        return ""

    def _report_fault(self) -> str:
        page = self._text(REPORT)
        if GOOD not in page or not any(told.name in page for told in self._runs):
            return "report.html is no report on one of the runs: make it again with `report`."
        return ""

    def _seeds_fault(self) -> str:
        sizes = [len({told.seed for told in side}) for side in self._sides]
        if len(sizes) != 2 or min(sizes) < SEEDS:
            found = ", ".join(map(str, sizes)) or "none"
            return f"two sides with {SEEDS} seeds each are wanted; seeds of each side: {found}."
        return ""

    def _test_fault(self) -> str:
        looks = [look.at for told in self._runs for look in told.looks]
        if not looks:
            return "nobody has looked at the test split: `card` and `report` note it."
        first = min(looks)
        late = [told.name for told in self._runs if told.ended > first]
        if late:
            return (
                f"the test split was looked at before the last training ended: {', '.join(late)} "
                f"came after it, and may have been chosen by it."
            )
        return ""

    def _figures_fault(self) -> str:
        if fault := self._seeds_fault():
            return fault
        written = set(map(str.strip, self._text(CARD).splitlines()))
        missing = [[line for line in lines if line not in written] for lines in self._figures()]
        fewest = min(missing, key=len)
        return f"the runs say, and the card does not: {fewest[0]}" if fewest else ""

    def _figures(self) -> Iterator[list[str]]:
        """Yield the lines of the figures, with either side as the first."""
        one, other = self._sides
        check_sides(one, other)
        for sides in ((one, other), (other, one)):
            yield [line for line in figures(*sides) if line]
