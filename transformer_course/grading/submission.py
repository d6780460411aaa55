"""The answers in a learner's notebook, found and run without running the rest of it.

A lesson trains models and draws pictures, and a class hands in two hundred of them. What counts are
the answers, so only those cells run that define an answer, and the cells that those need: by the
names which they use and which earlier cells define. A ``my_transformer.py`` holds nothing but
answers, of all lessons.
"""

import ast
import builtins
import contextlib
import symtable
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import nbformat
from IPython.core.inputtransformer2 import TransformerManager

from transformer_course.checker import reports
from transformer_course.checker.exercise import Exercise
from transformer_course.checker.feedback import Feedback
from transformer_course.checker.sandbox import make_quotable
from transformer_course.exercises import catalogues
from transformer_course.own import examine, sections
from transformer_course.own.answer import global_names
from transformer_course.own.file import FileError
from transformer_course.own.location import NAME

CATALOGUES = "transformer_course.exercises"


class SubmissionError(ValueError):
    """A file that cannot be graded: no lesson of the course, and no ``my_transformer.py``."""


@dataclass(frozen=True)
class Cell:
    """A code cell: where it stands, counted from 1 among all cells, and its code."""

    number: int
    source: str

    @cached_property
    def code(self) -> str:
        """The cell as Python, its magic commands turned into calls."""
        return TransformerManager().transform_cell(self.source)

    @cached_property
    def tree(self) -> ast.Module | None:
        """The parsed code, or None where it is no Python."""
        try:
            return ast.parse(self.code)
        except (SyntaxError, ValueError):  # ValueError: null bytes
            return None

    def nodes(self) -> Iterator[ast.AST]:
        """Yield every node of the parsed code."""
        return ast.walk(self.tree) if self.tree else iter(())

    def checks(self) -> Iterator[tuple[str, str]]:
        """Yield exercise and expression of each ``exercise.NAME.check(EXPRESSION)``.

        A lesson shows what the check says of a text; that is nobody's answer.
        """
        for node in self.nodes():
            match node:
                case ast.Call(_, [ast.Constant()]):
                    continue
                case ast.Call(ast.Attribute(ast.Attribute(attr=name), "check"), [expression]):
                    yield name, ast.unparse(expression)

    @cached_property
    def _table(self) -> symtable.SymbolTable | None:
        return symtable.symtable(self.code, "cell", "exec") if self.tree else None

    @cached_property
    def defined(self) -> frozenset[str]:
        """Names that exist once the cell has run."""
        symbols = self._table.get_symbols() if self._table else []
        return frozenset(s.get_name() for s in symbols if s.is_assigned() or s.is_imported())

    @cached_property
    def needed(self) -> frozenset[str]:
        """Global names that the cell uses, its functions and classes included."""
        return (
            frozenset(global_names(self._table)) - vars(builtins).keys()
            if self._table
            else frozenset()
        )


@dataclass(frozen=True)
class Answer:
    """What a check was last asked about: an expression, at a place among the code cells."""

    exercise: Exercise
    expression: Cell
    place: int


class Submission:
    """A lesson's notebook that somebody handed in.

    Attributes
    ----------
    lesson
        The lesson's name, such as ``attention``.
    exercises
        The lesson's exercises by name.
    """

    def __init__(self, cells: Sequence[Cell]) -> None:
        self._cells = list(cells)
        self.lesson = _lesson(self._cells)
        self.exercises = catalogues()[self.lesson]

    @classmethod
    def read(cls, path: Path) -> "Submission":
        """Read a notebook.

        Raises
        ------
        SubmissionError
            If the file is empty, no notebook, or none of the course's lessons.
        """
        if path.is_dir():
            raise SubmissionError(f"this folder holds no notebook and no {NAME}")
        try:
            text = path.read_text(encoding="utf-8-sig")
        except UnicodeDecodeError:
            raise SubmissionError("this is not a notebook: it is not UTF-8 text") from None
        if not text.strip():
            raise SubmissionError("the file is empty")
        try:
            cells = nbformat.reads(text, as_version=4).cells
            code = [Cell(n, c.source) for n, c in enumerate(cells, 1) if c.cell_type == "code"]
        except Exception:  # whatever a strange file makes nbformat stumble over
            raise SubmissionError("this is not a notebook, or a damaged one") from None
        return cls(code)

    def check(self) -> Iterator[tuple[str, Feedback]]:
        """Run what the answers need, in its order; yield what each exercise's check says.

        Raises
        ------
        KeyboardInterrupt
            If the run is stopped. Nothing else that a cell does is raised.
        """
        answers = sorted(map(self._answer, self.exercises.values()), key=lambda a: a.place)
        wanted = set().union(*(self._needs(a.expression, a.place) for a in answers))
        namespace: dict[str, Any] = {"__name__": "__main__"}
        done = 0
        for answer in answers:
            for number in range(done, answer.place):
                if number in wanted:
                    _run(self._cells[number], namespace)
            done = answer.place
            yield answer.exercise.name, _judge(answer, namespace)

    def _answer(self, exercise: Exercise) -> Answer:
        """Return what the notebook last has checked; without a check, what bears the name."""
        answer = Answer(exercise, Cell(0, exercise.name), len(self._cells))
        for place, cell in enumerate(self._cells, start=1):
            for name, expression in cell.checks():
                if name == exercise.name:
                    answer = Answer(exercise, Cell(cell.number, expression), place)
        return answer

    def _needs(self, user: Cell, place: int) -> set[int]:
        """Return which of the cells before ``place`` define what a cell uses, and so on."""
        found: set[int] = set()
        waiting = [(name, place) for name in user.needed]
        while waiting:
            name, end = waiting.pop()
            cells = (n for n in range(end - 1, -1, -1) if name in self._cells[n].defined)
            number = next(cells, None)
            if number is not None and number not in found:
                found.add(number)
                waiting += [(other, number) for other in self._cells[number].needed]
        return found


class OwnFile:
    """A ``my_transformer.py`` that somebody handed in.

    Attributes
    ----------
    lesson
        ``my_transformer``.
    exercises
        The exercise of each part by its name.
    """

    lesson = "my_transformer"

    def __init__(self, path: Path) -> None:
        self._path = path
        self.exercises = {name: catalogues()[of][name] for name, of in sections.parts().items()}

    def check(self) -> Iterator[tuple[str, Feedback]]:
        """Run the file; yield what each check says of a part that the learner wrote.

        Raises
        ------
        SubmissionError
            If it is no such file, or does not run.
        KeyboardInterrupt
            If the run is stopped.
        """
        try:
            module = examine.load(self._path)
        except FileError as error:
            raise SubmissionError(str(error)) from None
        for row in examine.rows(self._path, module):
            if row.feedback is not None:
                yield row.name, row.feedback


def read(path: Path) -> Submission | OwnFile:
    """Read what a learner handed in.

    Raises
    ------
    SubmissionError
        As for :meth:`Submission.read`; what is wrong with a ``my_transformer.py`` comes to light
        when it is run.
    """
    return OwnFile(path) if path.suffix == ".py" and path.is_file() else Submission.read(path)


def _lesson(cells: Sequence[Cell]) -> str:
    known = catalogues()
    imports = (
        alias.name
        for cell in cells
        for node in cell.nodes()
        if isinstance(node, ast.ImportFrom) and node.module == CATALOGUES
        for alias in node.names
    )
    lesson = next((name for name in imports if name in known), None)
    if lesson is None:
        raise SubmissionError("this is no lesson of the course: no cell imports its exercises")
    return lesson


def _run(cell: Cell, namespace: dict[str, Any]) -> None:
    """Run a cell as far as it goes: what it defined before an error can still be checked."""
    file = f"cell {cell.number}"
    make_quotable(cell.code, file)
    with contextlib.suppress(Exception, SystemExit):
        exec(compile(cell.code, file, "exec", dont_inherit=True), namespace)


def _judge(answer: Answer, namespace: dict[str, Any]) -> Feedback:
    try:
        candidate = eval(answer.expression.code, namespace)
    except Exception as error:
        return reports.missing(answer.exercise.task, error)
    # Not `check`: that would put the answer into a my_transformer.py, and say so.
    return answer.exercise.judge(candidate)
