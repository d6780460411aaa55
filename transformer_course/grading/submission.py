"""The answers in a learner's notebook, judged as its checks would judge them in a kernel.

A lesson trains models and draws pictures, and a class hands in two hundred of them. So what a
learner has left as it was is run only where an answer needs it, by the names which cells use and
define; all that the learner wrote or changed is run, in order. A ``my_transformer.py`` holds
nothing but answers, of all lessons. A folder with a card is a capstone, of which nothing is run.
"""

import re
import symtable
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any
from unittest import mock

import nbformat
from IPython.core.inputtransformer2 import TransformerManager

from transformer_course.checker.candidates import NOTHING
from transformer_course.checker.exceptions import kind_of, words_of
from transformer_course.checker.exercise import Exercise
from transformer_course.checker.feedback import Feedback
from transformer_course.checker.report import broken_off, missing
from transformer_course.exercises import catalogues
from transformer_course.grading import kernel
from transformer_course.grading.capstone import CARD, Capstone, is_capstone
from transformer_course.own import check, sections
from transformer_course.own.answer import bound_names, global_names
from transformer_course.own.file import FileError
from transformer_course.own.location import NAME
from transformer_course.predictions import written_in
from transformer_course.syllabus import lessons_folder

CHECK = re.compile(r"(\w+)\.check\(")

Report = Callable[[str, Feedback], None]
"""Takes the name of an exercise, and what its check says."""


class SubmissionError(ValueError):
    """A file that cannot be graded: neither a lesson of the course nor a ``my_transformer.py``."""


@dataclass(frozen=True)
class Cell:
    """A code cell: where it is, counted from 1 among all cells, and its source."""

    number: int
    source: str

    @property
    def checks(self) -> list[str]:
        """The names of what is checked here."""
        return CHECK.findall(self.source)

    @cached_property
    def _table(self) -> symtable.SymbolTable | None:
        """The names in the cell; None where it is not Python, as running it will show."""
        first, _, rest = self.source.lstrip().partition("\n")
        try:
            code = TransformerManager().transform_cell(
                rest if first.startswith("%%") else self.source
            )
            return symtable.symtable(code, "cell", "exec")
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return None

    @cached_property
    def defined(self) -> frozenset[str]:
        """Names that exist once the cell has run."""
        return frozenset(bound_names(self._table) if self._table else ())

    @cached_property
    def needed(self) -> frozenset[str]:
        """Global names that the cell uses, its functions and classes included."""
        return frozenset(global_names(self._table) if self._table else ())


class _OfExercises:
    """What was handed in of exercises, which are there by their names."""

    exercises: Mapping[str, Exercise]

    def lesson_of(self, name: str) -> str:
        """Return the lesson of an exercise."""
        return self.exercises[name].task.lesson


class Submission(_OfExercises):
    """A lesson's notebook that somebody handed in.

    Attributes
    ----------
    lesson
        The lesson's name, such as ``attention``.
    exercises
        The lesson's exercises by name.
    failures
        What went wrong in the cells that answers need, a sentence each, once they were run.
    predictions
        What the learner expected, by question.
    """

    def __init__(self, cells: Sequence[Cell]) -> None:
        self._cells = list(cells)
        self.lesson = _lesson(self._cells)
        self.exercises = catalogues()[self.lesson]
        self.failures: list[str] = []
        self.predictions = dict(made for cell in self._cells for made in written_in(cell.source))

    @classmethod
    def read(cls, path: Path) -> "Submission":
        """Read a notebook.

        Raises
        ------
        SubmissionError
            If the file is empty, not a notebook, or not one of the course's lessons.
        """
        if path.is_dir():
            raise SubmissionError(f"this folder holds no notebook, no {NAME} and no {CARD}")
        try:
            text = path.read_text(encoding="utf-8-sig")
        except UnicodeDecodeError:
            raise SubmissionError("this is not a notebook: it is not UTF-8 text") from None
        if not text.strip():
            raise SubmissionError("the file is empty")
        try:
            with warnings.catch_warnings():
                # Cells without an id, or with one id twice, are the concern of nobody here.
                warnings.simplefilter("ignore", FutureWarning)
                cells = nbformat.reads(text, as_version=4).cells
            # A source may be anything but a text, too: adding one to a text says so.
            code = [Cell(n, "" + c.source) for n, c in enumerate(cells, 1) if c.cell_type == "code"]
        except Exception:  # whatever a strange file makes nbformat stumble over
            raise SubmissionError("this is not a notebook, or a damaged one") from None
        return cls(code)

    def check(self, report: Report, seconds: float) -> None:
        """Run the notebook in order, and report what each check says as soon as it is known.

        Where several checks of an exercise ran, the best one is reported last. An exercise without
        a check is judged by what has its name in the end.

        Parameters
        ----------
        report
            Called with the name of an exercise and its feedback, perhaps more than once.
        seconds
            How long each cell may run.
        """
        heard: dict[str, Feedback] = {}

        def hear(name: str, feedback: Feedback) -> None:
            if name not in heard or not heard[name].passed:
                heard[name] = feedback
                report(name, feedback)

        def checked(exercise: Exercise, candidate: Any = NOTHING) -> Feedback:
            feedback = _judged(exercise, candidate)
            # A lesson shows what the check says of a text; that is nobody's answer.
            if self.exercises.get(exercise.name) is exercise and not isinstance(candidate, str):
                hear(exercise.name, feedback)
            return feedback

        shell = kernel.start()
        needed = self._needed()
        # Not its own `check`: that would put the answer into a my_transformer.py.
        with mock.patch.object(Exercise, "check", checked):
            for place, cell in enumerate(self._cells):
                if place in needed or cell.source.strip() not in _shipped():
                    errors = kernel.run(shell, cell.source, seconds)
                    self._note(cell, errors, place in needed)
        for name, exercise in self.exercises.items():
            if name in heard:
                continue
            if name in shell.user_ns:
                hear(name, _judged(exercise, shell.user_ns[name]))
            else:
                hear(name, missing(exercise.task, NameError(f"name '{name}' is not defined")))

    def _note(self, cell: Cell, errors: Sequence[BaseException], needed: bool) -> None:
        for error in errors:
            # A cell that is not Python may hold an answer.
            if needed or isinstance(error, ModuleNotFoundError | SyntaxError):
                self.failures.append(f"cell {cell.number}: {_in_words(error)}")

    def _needed(self) -> set[int]:
        """Return the places of all checks, and of cells that define what they use, and so on."""
        end = len(self._cells)
        found = {place for place, cell in enumerate(self._cells) if cell.checks}
        waiting = [(name, place) for place in found for name in self._cells[place].needed]
        waiting += [(name, end) for name in self.exercises]
        while waiting:
            name, before = waiting.pop()
            places = (n for n in range(before - 1, -1, -1) if name in self._cells[n].defined)
            place = next(places, None)
            if place is not None and place not in found:
                found.add(place)
                waiting += [(other, place) for other in self._cells[place].needed]
        return found


class OwnFile(_OfExercises):
    """A ``my_transformer.py`` that somebody handed in.

    Attributes
    ----------
    lesson
        ``my_transformer``.
    exercises
        The exercise of each part by its name.
    failures, predictions
        Always empty: a file that does not run is refused, and predicts nothing.
    """

    lesson = "my_transformer"
    failures: Sequence[str] = ()
    predictions: Mapping[str, str] = MappingProxyType({})

    def __init__(self, path: Path) -> None:
        self._path = path
        self.exercises = {name: catalogues()[of][name] for name, of in sections.parts().items()}

    def check(self, report: Report, seconds: float) -> None:
        """Run the file, and report what the check says of each part that the learner wrote.

        Raises
        ------
        SubmissionError
            If it is not such a file, or does not run.
        """
        try:
            module = check.load(self._path)
        except FileError as error:
            raise SubmissionError(str(error).replace(str(self._path), self._path.name)) from None
        for row in check.rows(self._path, module):
            if row.feedback is not None:
                report(row.name, row.feedback)


def read(path: Path) -> Submission | OwnFile | Capstone:
    """Read what a learner handed in.

    Raises
    ------
    SubmissionError
        As for :meth:`Submission.read`; what is wrong with a ``my_transformer.py`` comes to light
        when it is run.
    """
    if path.is_dir() and is_capstone(path):
        return Capstone(path)
    is_own = path.suffix.lower() == ".py" and path.is_file()
    return OwnFile(path) if is_own else Submission.read(path)


def _in_words(error: BaseException) -> str:
    """Return the kind and the words of an error; of one in the syntax the line in its cell."""
    in_syntax = isinstance(error, SyntaxError) and error.lineno
    words = f"{error.msg}, line {error.lineno}" if in_syntax else words_of(error)
    return f"{kind_of(error).__name__}: {words}"


def _judged(exercise: Exercise, candidate: Any) -> Feedback:
    """Judge an answer; nobody presses stop here, so a KeyboardInterrupt is the answer's own."""
    try:
        return exercise.judge(candidate)
    except KeyboardInterrupt as error:
        return broken_off(exercise.task, error)


def _lesson(cells: Sequence[Cell]) -> str:
    """Return the lesson whose exercises are imported; of several, the one that is checked most."""
    known = catalogues()
    text = "\n".join(cell.source for cell in cells)
    lessons = [name for name in dict.fromkeys(_imported(text)) if name in known]
    if not lessons:
        raise SubmissionError("this is not a lesson of the course: no cell imports its exercises")
    checked = set(CHECK.findall(text))
    return max(lessons, key=lambda lesson: len(checked & known[lesson].keys()))


def _imported(text: str) -> Iterator[str]:
    for line in text.splitlines():
        if "transformer_course.exercises" in line:
            yield from re.findall(r"\w+", line.partition("transformer_course.exercises")[2])


@cache
def _shipped() -> frozenset[str]:
    """Return the code cells of all lessons as they were given out."""
    lessons = (nbformat.read(path, as_version=4) for path in lessons_folder().glob("*.ipynb"))
    cells = (cell for lesson in lessons for cell in lesson.cells)
    return frozenset(cell.source.strip() for cell in cells if cell.cell_type == "code")
