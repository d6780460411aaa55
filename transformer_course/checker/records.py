"""The known mistakes of an exercise as records, in a file beside its Python.

Nothing here runs an answer or imports torch: records can be read, counted and translated alone.
"""

import re
import tomllib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

WORDS = ("name", "observed", "change")
"""Keys whose values are prose; a line break in them is a space."""
TEXTS = (*WORDS, "body", "unless", "like")


class RecordError(ValueError):
    """A file of known mistakes cannot be used; the words say where, why and what to do."""


@dataclass(frozen=True)
class Record:
    """A wrong answer, and what to say to whoever wrote it.

    Attributes
    ----------
    file
        Where it is written.
    name
        The mistake in a few words.
    observed
        What gives it away, with numbers where there are some.
    change
        One sentence on what to change.
    edits
        Pairs (old, new): what in the right answer is replaced by what.
    body
        The name of a whole wrong answer in the exercise's Python file, where another algorithm is
        used.
    unless
        A regular expression: code in which it is found already does what ``change`` says, so
        something else is wrong with it.
    seen
        How many people made it who had not seen the catalogue; ``tools.seen`` counts them.
    """

    file: Path
    name: str
    observed: str
    change: str
    edits: tuple[tuple[str, str], ...] = ()
    body: str = ""
    unless: str = ""
    seen: int = 0

    def error(self, words: str) -> RecordError:
        """Return an error that says where the record is."""
        return _error(self.file, self.name, words)


def records(path: Path) -> list[Record]:
    """Read the known mistakes of an exercise, the commonest first.

    Raises
    ------
    RecordError
        If the file is missing, is not TOML, or holds something that is no mistake.
    """
    found = [_record(path, table) for table in _tables(path)]
    for name, times in Counter(record.name for record in found).items():
        if times > 1:
            raise _error(path, name, "has this name, as another one has: give it one of its own.")
    return found


@cache
def _tables(path: Path) -> list[dict[str, Any]]:
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise RecordError(f"{path} cannot be read ({error}); each exercise has one.") from None
    except ValueError as error:  # what is not UTF-8, and what is not TOML
        raise RecordError(f"{path} is not TOML: {error}. Mend that place.") from None
    tables = content.pop("mistake", [])
    if content:
        raise RecordError(f"{path}: {_listed(content)} is outside of any [[mistake]]; move it.")
    if not isinstance(tables, list):
        raise RecordError(f"{path}: a mistake begins with [[mistake]], in two pairs of brackets.")
    return tables


def _record(path: Path, table: dict[str, Any]) -> Record:
    name = str(table.get("like") or table.get("name") or "without a name")
    if unknown := table.keys() - {*TEXTS, "edits", "seen"}:
        raise _error(path, name, f"has the unknown key {_listed(unknown)}; {_what_there_is()}")
    if wrong := [key for key in TEXTS if not isinstance(table.get(key, ""), str)]:
        raise _error(path, name, f"wants a text in quotes for {_listed(wrong)}.")
    if not isinstance(table.get("seen", 0), int):
        raise _error(path, name, "wants a whole number for `seen`.")
    edits = tuple(_edits(path, name, table.get("edits", [])))
    if "like" in table:
        return _like(path, table, edits)
    if missing := [key for key in WORDS if not table.get(key, "").strip()]:
        raise _error(path, name, f"lacks {_listed(missing)}; {_what_there_is()}")
    if bool(edits) == ("body" in table):
        raise _error(path, name, "needs either `edits` or a `body`.")
    try:
        re.compile(table.get("unless", ""))
    except re.error as error:
        raise _error(path, name, f"has an `unless` that is no pattern: {error}.") from None
    words = {key: " ".join(table[key].split()) for key in WORDS}
    return Record(path, **{**table, **words, "edits": edits})


def _edits(path: Path, name: str, pairs: Any) -> Iterator[tuple[str, str]]:
    for pair in pairs if isinstance(pairs, list) else [pairs]:
        match pair:
            case [str(old), str(new)]:
                yield old, new
            case _:
                words = f"has an edit {pair!r}; write pairs, [['what is right', 'what is wrong']]."
                raise _error(path, name, words)


def _like(path: Path, table: dict[str, Any], edits: tuple[tuple[str, str], ...]) -> Record:
    """Take a mistake of another exercise: its words and, where none are given, its edits."""
    reference = table["like"]
    if more := table.keys() - {"like", "edits", "seen"}:
        raise _error(path, reference, f"has {_listed(more)} beside `like`, which brings all words.")
    file, _, name = reference.partition(": ")
    folder = path.parent.parent if "/" in file else path.parent
    other = folder / f"{file}.toml"
    tables = _tables(other) if other.is_file() else []
    original = next((each for each in tables if each.get("name") == name), None)
    if original is None:
        words = f"is not found: {other} has no mistake of this name. Write the file, a colon and "
        words += 'the name; a file of another lesson as "lesson/file".'
        raise _error(path, reference, words)
    record = _record(other, original)
    if record.body and not edits:
        raise _error(path, reference, "is another algorithm there: it needs `edits` here.")
    own = {"edits": edits, "body": ""} if edits else {}
    return replace(record, file=path, seen=table.get("seen", 0), **own)


def _what_there_is() -> str:
    return "a mistake has `name`, `edits`, `observed` and `change`, and may have `unless`."


def _listed(keys: Any) -> str:
    return ", ".join(f"`{key}`" for key in sorted(keys))


def _error(path: Path, name: str, words: str) -> RecordError:
    return RecordError(f"{path}: the mistake «{name}» {words}")
