"""The text of an answer in a notebook, and of what it needs from there.

Only definitions, imports and literals are taken: what depends on the state of a notebook works
there and nowhere else.
"""

import ast
import builtins
import inspect
import linecache
import re
import symtable
import sys
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from functools import cached_property
from types import FunctionType, ModuleType
from typing import Any

from transformer_course.own.sections import BEGINS

# In the learner's file all of these mean the file itself.
THE_FILE = ("own", "model", "translation")
COURSE = "transformer_course"
LINE_END = re.compile(r"\r\n?|\n")


class NotAPart(Exception):  # noqa: N818 - no error, but a reason
    """Why an answer cannot join the file, in a sentence for the learner."""


@dataclass(frozen=True)
class Statement:
    """A statement of a cell that binds a name."""

    text: str
    tree: ast.stmt

    @property
    def can_be_copied(self) -> bool:
        """Whether it is a definition, an import or a literal."""
        definitions = (ast.FunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom)
        if isinstance(self.tree, definitions):
            return True
        value = getattr(self.tree, "value", None)
        return isinstance(value, ast.Lambda) or _is_literal(value)

    @property
    def bound(self) -> list[str]:
        """The names that it gives a meaning."""
        return _bound(self.tree)

    @cached_property
    def needed(self) -> set[str]:
        """The global names that it uses."""
        return set(global_names(symtable.symtable(self.text, "cell", "exec")))

    def attributes_of_the_file(self) -> Iterator[tuple[str, str]]:
        """Yield module and name of each ``own.NAME``, ``model.NAME`` or ``translation.NAME``."""
        for node in ast.walk(self.tree):
            match node:
                case ast.Attribute(ast.Name(module), name) if module in THE_FILE:
                    yield module, name


def _is_literal(value: ast.expr | None) -> bool:
    if value is None:
        return False
    try:
        ast.literal_eval(value)
    except ValueError:
        return False
    return True


def global_names(table: symtable.SymbolTable) -> Iterator[str]:
    """Yield the global names that a text uses, its functions and classes included."""
    at_top = table.get_type() == "module"
    for symbol in table.get_symbols():
        if symbol.is_referenced() and (at_top or symbol.is_global()):
            yield symbol.get_name()
    for inner in table.get_children():
        yield from global_names(inner)


def bound_names(table: symtable.SymbolTable) -> set[str]:
    """Return the names that exist once a text has run."""
    symbols = table.get_symbols()
    return {each.get_name() for each in symbols if each.is_assigned() or each.is_imported()}


def statements(cell: str) -> dict[str, Statement]:
    """Return the statement that binds each name of a cell; the last one, if there are several."""
    found: dict[str, Statement] = {}
    try:
        tree = ast.parse(cell)
    except SyntaxError:
        return found
    lines = LINE_END.split(cell)  # Python counts no other ends, such as form feeds
    for node in tree.body:
        statement = Statement(_text(node, lines), node)
        found |= dict.fromkeys(statement.bound, statement)
    return found


def _text(node: ast.stmt, lines: list[str]) -> str:
    first = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", []))]) - 1
    # A comment above belongs to it; one that begins a section in the learner's file does not.
    while first and lines[first - 1].startswith("#") and not lines[first - 1].startswith(BEGINS):
        first -= 1
    return "\n".join(lines[first : node.end_lineno])


def _bound(node: ast.stmt) -> list[str]:
    match node:
        case ast.FunctionDef(name) | ast.ClassDef(name):
            return [name]
        case ast.Import(names) | ast.ImportFrom(names=names):
            return [(alias.asname or alias.name).partition(".")[0] for alias in names]
        case ast.Assign([ast.Name(name)]) | ast.AnnAssign(ast.Name(name)):
            return [name]
        case ast.Assign([ast.Tuple(targets)]) if all(isinstance(t, ast.Name) for t in targets):
            return [target.id for target in targets]
    return []


def answer_text(
    candidate: Callable, name: str, whole: ModuleType, template: ModuleType
) -> list[Statement]:
    """Return what can go into the section of a part: what it needs, then the answer.

    Parameters
    ----------
    candidate
        The learner's function or class.
    name
        The part.
    whole
        The learner's file so far.
    template
        The file as it was at the start; its definitions are meant wherever their names are used.

    Raises
    ------
    NotAPart
        If the answer needs something that the file cannot have.
    """
    function = _function(candidate)
    if function is None:
        raise NotAPart("its text cannot be found: define it in a cell, with `def` or `class`")
    kept = {each: value for each, value in vars(whole).items() if each in vars(template)}
    copy = _Copy(name, kept, vars(whole).keys(), function.__globals__)
    cell = _cell(function)
    wanted = candidate.__name__ if candidate.__name__ in cell else name
    if wanted not in cell:
        raise NotAPart("its text cannot be found: define it in a cell, with `def` or `class`")
    copy.take(wanted, cell[wanted], cell)
    if wanted != name:
        copy.append(f"{name} = {wanted}")
    return copy.statements


def _function(thing: Any) -> FunctionType | None:
    """Return a function written in Python that tells where ``thing`` was written."""
    thing = inspect.unwrap(thing) if callable(thing) else thing
    if isinstance(thing, FunctionType):
        return thing
    if isinstance(thing, type):
        methods = (inspect.unwrap(value) for value in vars(thing).values() if callable(value))
        own = (
            m for m in methods if isinstance(m, FunctionType) and m.__module__ == thing.__module__
        )
        return next(own, None)
    return None


def _cell(function: FunctionType) -> dict[str, Statement]:
    return statements("".join(linecache.getlines(function.__code__.co_filename)))


class _Copy:
    """The statements that an answer consists of, what they need before them.

    Parameters
    ----------
    part
        What is answered.
    kept
        The names of the file that every answer may use, and what they mean.
    in_file
        All names of the file.
    notebook
        The names of the notebook.
    """

    def __init__(
        self, part: str, kept: dict[str, Any], in_file: Collection[str], notebook: dict[str, Any]
    ) -> None:
        self.part = part
        self.kept = kept
        self.in_file = in_file
        self.notebook = notebook
        self.statements: list[Statement] = []
        self.taken: set[str] = set()

    def append(self, text: str) -> None:
        """Add a statement."""
        (tree,) = ast.parse(text).body
        self.statements.append(Statement(text, tree))

    def take(self, name: str, statement: Statement, cell: dict[str, Statement]) -> None:
        """Copy a statement and all that it needs."""
        self.taken.update([name, *statement.bound])
        for module, attribute in statement.attributes_of_the_file():
            if module not in statement.needed:
                continue
            if attribute == self.part:
                raise NotAPart(f"it uses `{module}.{attribute}`, whose place it should take")
            if attribute not in self.in_file:
                raise NotAPart(f"it uses `{module}.{attribute}`, which your file does not have")
        for needed in sorted(statement.needed - self.taken - {self.part}):
            self._provide(needed, cell)
        self.statements.append(statement)

    def _provide(self, name: str, cell: dict[str, Statement]) -> None:
        """Make sure that a name means in the file what it means in the notebook."""
        if name in THE_FILE or self._means_the_same(name):
            return
        if name not in self.notebook:
            raise NotAPart(f"it uses `{name}`, which is not defined")
        if name in self.kept:
            raise NotAPart(f"`{name}` means something else in your file: give yours another name")
        value = self.notebook[name]
        if name in cell and cell[name].can_be_copied:
            self.take(name, cell[name], cell)
        elif text := _import_of(name, value):
            self.taken.add(name)
            self.append(text)
        elif (function := _function(value)) and name in (home := _cell(function)):
            self.take(name, home[name], home)
        elif name in cell:
            raise NotAPart(f"it uses `{name}`, which the cell computes: do that in the function")
        else:
            raise NotAPart(f"it uses `{name}` from your notebook: move it into the cell")

    def _means_the_same(self, name: str) -> bool:
        if name not in self.kept:
            return name not in self.notebook and hasattr(builtins, name)
        mine = self.kept[name]
        # What is made in the file, a part or what is around it, is meant; the notebook's is not.
        if getattr(mine, "__module__", None) == self.kept["__name__"]:
            return True
        theirs = self.notebook.get(name)
        return mine is theirs or (isinstance(mine, int) and mine == theirs)


def _import_of(name: str, value: Any) -> str | None:
    """Return an import statement that gives the value, if there is one."""
    if isinstance(value, ModuleType):
        _refuse_course(name, value.__name__)
        return f"import {value.__name__} as {name}"
    module, original = getattr(value, "__module__", None), getattr(value, "__name__", None)
    if not isinstance(module, str) or not isinstance(original, str) or module == "__main__":
        return None
    if getattr(sys.modules.get(module), original, None) is not value:
        return None
    _refuse_course(name, module)
    return f"from {module} import {original} as {name}"


def _refuse_course(name: str, module: str) -> None:
    if module.partition(".")[0] == COURSE:
        raise NotAPart(f"it uses `{name}` of the course, but your file must do without the course")
