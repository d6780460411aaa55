"""The text of a model answer, and the wrong answers that it becomes when some of it is edited."""

import ast
import inspect
import linecache
import re
import sys
import textwrap
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from types import SimpleNamespace
from typing import Any

# The course's own text has files of this name, so that nobody takes a line of it for the learner's.
COURSE_FILE = "<course: "
TOKEN = re.compile(r"\w+|\s+|.")


def make_quotable(text: str, file: str) -> None:
    """Let reports quote, and answers be copied from, code that was compiled from a text."""
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)


@dataclass(frozen=True)
class Edit:
    """The characters of a text from ``start`` up to ``stop`` become ``new``."""

    start: int
    stop: int
    new: str

    def overlaps(self, other: "Edit") -> bool:
        """Whether the two cannot be made together: they share characters, or begin at one place."""
        return self.start == other.start or (self.start < other.stop and other.start < self.stop)


def edited_text(text: str, edits: Iterable[Edit]) -> str:
    """Make edits, which do not overlap, in a text."""
    for edit in sorted(edits, key=lambda edit: edit.start, reverse=True):
        text = text[: edit.start] + edit.new + text[edit.stop :]
    return text


def definition_in(source: str, name: str) -> str:
    """Return the definition of a function or class in a module's text, without its decorators."""
    named = (node for node in ast.parse(source).body if getattr(node, "name", None) == name)
    definition = next(named)
    return "\n".join(source.splitlines()[definition.lineno - 1 : definition.end_lineno])


class AnswerText:
    """The text of a model answer.

    Parameters
    ----------
    answer
        A function or class, with or without decorators.
    parts
        Texts of other answers that this one calls, by the names under which it calls them, such as
        ``{"model.padding_mask": ...}``. They come first and can be edited as well: a mistake in a
        part is a mistake in the whole.
    """

    def __init__(self, answer: Callable, parts: Mapping[str, "AnswerText"]) -> None:
        self.answer = answer
        inner = {path: p for part in parts.values() for path, p in part.parts.items()}
        self.parts = inner | dict(parts)

    @cached_property
    def definition(self) -> str:
        """The answer alone, without its decorators."""
        source = textwrap.dedent(inspect.getsource(self.answer))
        return definition_in(source, self.answer.__name__)

    @cached_property
    def text(self) -> str:
        """What can be edited: the parts, then the answer."""
        texts = [part.definition for part in self.parts.values()]
        return "\n\n\n".join([*texts, self.definition])

    def edit(self, old: str, new: str) -> Edit:
        """Return the replacement of ``old`` by ``new``, less the tokens in which both begin or end.

        So an edit can show enough of a line to be found and read, and touches no more than it
        changes.

        Raises
        ------
        ValueError
            If the text does not contain ``old`` exactly once, or nothing would change.
        """
        times = self.text.count(old)
        if times == 0:
            raise ValueError(f"{old!r} is not in the answer; copy it from there, to the letter.")
        if times > 1:
            raise ValueError(f"{old!r} occurs {times} times in the answer; take more of it along.")
        if old == new:
            raise ValueError(f"{old!r} stays as it is; write what the learner wrote instead.")
        before, after = TOKEN.findall(old), TOKEN.findall(new)
        first = _shared(before, after)
        last = _shared(before[first:][::-1], after[first:][::-1])
        start = self.text.index(old) + len("".join(before[:first]))
        changed = slice(first, -last or None)
        return Edit(start, start + len("".join(before[changed])), "".join(after[changed]))

    def beside(self, name: str) -> Callable:
        """Return a function or class that is defined in the answer's module.

        Raises
        ------
        AttributeError
            If there is none of that name.
        """
        return getattr(sys.modules[self.answer.__module__], name)

    def edited(self, edits: Iterable[Edit]) -> Callable:
        """Execute the edited text and return what it defines.

        Raises
        ------
        SyntaxError
            If it is not Python any more.
        """
        text = edited_text(self.text, edits)
        names = dict(vars(sys.modules[self.answer.__module__]))
        for part in self.parts.values():
            names |= vars(sys.modules[part.answer.__module__])
        exec(compile(text, f"{COURSE_FILE}edited answer>", "exec", dont_inherit=True), names)
        for path in self.parts:
            module, _, name = path.rpartition(".")
            names[module] = SimpleNamespace(**{**vars(names[module]), name: names[name]})
        return names[self.answer.__name__]


def _shared(one: list[Any], other: list[Any]) -> int:
    """Count the items in which two lists begin alike."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((n for n, (a, b) in pairs if a != b), min(len(one), len(other)))
