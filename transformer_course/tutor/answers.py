"""An answer as an object: of a file's code, what the answer needs is run, and nothing else.

So neither a training elsewhere in the notebook nor a cell that fails stands in the way. A name
means what it would mean in the notebook run from above; ``own`` is the learner's file.
"""

import ast
import builtins
import re
import symtable
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from types import ModuleType
from typing import Any

from transformer_course.checker.answers import make_quotable
from transformer_course.own.answer import Statement, bound_names, global_names, statements

MAGIC = re.compile(r"^(\s*)(?:(?:[\w, ]+=\s*)?[%!].*|[\w.]+\?{1,2}\s*)$", re.MULTILINE)
"""Lines that a notebook understands and Python does not."""
NOWHERE = -1
"""The place of a name that no cell defines."""


@dataclass(frozen=True)
class Cell:
    """A cell: its text, and under which file name it is compiled."""

    text: str
    file: str

    @cached_property
    def code(self) -> str:
        """The text as Python; a line that only a notebook understands does nothing."""
        try:
            ast.parse(self.text)
        except SyntaxError:
            return MAGIC.sub(r"\1pass", self.text)
        return self.text

    @cached_property
    def fault(self) -> SyntaxError | None:
        """Why it cannot be read, if so."""
        try:
            compile(self.code, self.file, "exec", dont_inherit=True)
        except SyntaxError as error:
            return error
        except ValueError as error:  # such as a zero byte
            return SyntaxError(str(error))
        return None

    @cached_property
    def alone(self) -> dict[str, Statement]:
        """The statements that can be run without the rest, by the name that they bind."""
        found = {} if self.fault else statements(self.code)
        changed = set() if self.fault else _changed_later(ast.parse(self.code))
        return {
            name: each
            for name, each in found.items()
            if name not in changed and _can_stand_alone(each)
        }

    @cached_property
    def starred(self) -> dict[str, Any]:
        """What imports of ``*`` bind, which is not known before they run."""
        tree = ast.parse("" if self.fault else self.code)
        imports = [each for each in ast.walk(tree) if isinstance(each, ast.ImportFrom)]
        names: dict[str, Any] = {"__name__": "__main__"}
        for each in imports:
            if each.names[0].name == "*":
                with suppress(Exception):  # what cannot be imported binds nothing
                    exec(compile(ast.Module([each], []), self.file, "exec"), names)
        return {name: value for name, value in names.items() if not name.startswith("__")}

    @cached_property
    def _table(self) -> symtable.SymbolTable:
        return symtable.symtable("" if self.fault else self.code, self.file, "exec")

    @cached_property
    def defined(self) -> set[str]:
        """The names that exist once it has run."""
        return bound_names(self._table)

    @cached_property
    def needed(self) -> set[str]:
        """The names that all of it uses."""
        return set(global_names(self._table))

    def defines_but_cannot_be_read(self, name: str) -> bool:
        """Whether the answer is here, behind a mistake in the syntax."""
        pattern = rf"^(?:async )?(?:def|class)\s+{name}\b"
        return bool(self.fault and re.search(pattern, self.text, re.MULTILINE))


def _changed_later(tree: ast.Module) -> set[str]:
    """Return the names of what gets a new attribute or item, such as ``Layer.forward = ...``."""
    targets = (
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute | ast.Subscript) and isinstance(node.ctx, ast.Store)
    )
    return {target.value.id for target in targets if isinstance(target.value, ast.Name)}


def _can_stand_alone(statement: Statement) -> bool:
    """Whether it makes the same without the lines around it."""
    definitions = (ast.FunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom)
    value = getattr(statement.tree, "value", None)
    return isinstance(statement.tree, definitions) or isinstance(value, ast.Lambda | ast.Constant)


@dataclass
class Program:
    """The cells of a file, of which as much is run as is needed.

    Attributes
    ----------
    cells
        In their order; those that set up the lesson come first.
    own
        Makes the learner's file a module.
    names
        What was run has put here.
    """

    cells: Sequence[Cell]
    own: Callable[[], ModuleType]
    names: dict[str, Any]
    _defined_at: dict[str, int] = field(default_factory=dict)

    def provide(self, name: str, before: int | None = None) -> None:
        """Run what gives a name its meaning, unless that or a later definition of it was run.

        The last cell counts that comes before the one that needs it; else the first one after.

        Raises
        ------
        BaseException
            Whatever the code raises. A name that nothing defines stays undefined.
        """
        places = self._places(name)
        earlier = [place for place in places if before is None or place <= before]
        later = [] if hasattr(builtins, name) else places[:1]
        place = (earlier or later or [NOWHERE])[-1]
        if place <= self._defined_at.get(name, NOWHERE - 1):
            return
        self._defined_at[name] = place
        if name == "own":  # in a lesson its set-up makes it, and writes into the folder
            self.names["own"] = self.own()
        elif place != NOWHERE and name in self.cells[place].defined:
            self._run(name, place)
        elif place != NOWHERE:
            self.names[name] = self.cells[place].starred[name]

    def _places(self, name: str) -> list[int]:
        """Return which cells define a name; if none does, which bind it by an import of ``*``."""
        cells = [*enumerate(self.cells)]
        defining = [place for place, cell in cells if name in cell.defined]
        return defining or [place for place, cell in cells if name in cell.starred]

    def _run(self, name: str, place: int) -> None:
        cell = self.cells[place]
        statement = cell.alone.get(name)
        needed = statement.needed if statement else cell.needed - cell.defined
        for each in sorted(needed - {name}):
            self.provide(each, place)
        tree = ast.parse(cell.code)
        if statement:
            tree = ast.Module([_binding_only(name, statement.tree)], [])
        else:
            self._defined_at |= dict.fromkeys(cell.defined, place)
        make_quotable(cell.code, cell.file)
        exec(compile(tree, cell.file, "exec", dont_inherit=True), self.names)


def _binding_only(name: str, tree: ast.stmt) -> ast.stmt:
    """Return an import of one name alone: the others may take seconds."""
    if not isinstance(tree, ast.Import | ast.ImportFrom):
        return tree
    names = [each for each in tree.names if (each.asname or each.name).partition(".")[0] == name]
    if isinstance(tree, ast.Import):
        return ast.copy_location(ast.Import(names), tree)
    return ast.copy_location(ast.ImportFrom(tree.module, names, tree.level), tree)
