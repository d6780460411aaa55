"""The words of a check: one structure, rendered as HTML in a notebook and as text elsewhere."""

import enum
import html
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol


class Verdict(enum.Enum):
    """How a check went; the value is the word that says so."""

    RIGHT = "Right"
    WRONG = "Not yet"
    NOT_ATTEMPTED = "Not attempted"
    HINT = "Hint"


# Okabe-Ito green and vermilion, visible on white and on black; the words say the same.
COLOURS = {Verdict.RIGHT: "#009E73", Verdict.WRONG: "#D55E00"}
NEUTRAL = "#888888"


class Part(Protocol):
    """A piece of feedback, which says the same in both forms."""

    def text(self) -> str:
        """Return plain text, without a final newline."""

    def html(self) -> str:
        """Return HTML that needs nothing from outside."""


@dataclass(frozen=True)
class Sentence:
    """Words with an optional label; code is between backticks."""

    words: str
    label: str = ""

    def text(self) -> str:
        """Return ``label: words``."""
        return f"{self.label}: {self.words}" if self.label else self.words

    def html(self) -> str:
        """Return a paragraph, the label in bold."""
        return f'<p style="margin:.3em 0">{_label(self.label)} {inline(self.words)}</p>'


@dataclass(frozen=True)
class Listing:
    """A labelled list of short statements."""

    label: str
    items: tuple[str, ...]

    def text(self) -> str:
        """Return one line per item."""
        return "\n".join([f"{self.label}:", *(f"  - {item}" for item in self.items)])

    def html(self) -> str:
        """Return an unordered list."""
        items = "".join(f"<li>{inline(item)}</li>" for item in self.items)
        return f'{_label(self.label)}<ul style="margin:.2em 0">{items}</ul>'


@dataclass(frozen=True)
class Code:
    """The learner's own code or output, as it is."""

    label: str
    code: str

    def text(self) -> str:
        """Return the lines, indented."""
        return "\n".join([f"{self.label}:", *(f"    {line}" for line in self.code.splitlines())])

    def html(self) -> str:
        """Return a preformatted block."""
        style = "margin:.2em 0 .4em 1.5em;padding:0;background:transparent;color:inherit"
        return f'{_label(self.label)}<pre style="{style}">{html.escape(self.code)}</pre>'


@dataclass(frozen=True)
class Fold:
    """Parts that are closed until somebody opens them.

    ``in_text`` says whether they are worth showing where nothing can be closed.
    """

    label: str
    parts: tuple[Part, ...]
    in_text: bool = False

    def text(self) -> str:
        """Return the parts one below the other, or nothing."""
        if not self.in_text:
            return ""
        parts = [part.text() for part in self.parts]
        return f"{self.label}: {parts[0]}" if len(parts) == 1 else "\n".join(parts)

    def html(self) -> str:
        """Return a fold that a keyboard opens too."""
        parts = "".join(part.html() for part in self.parts)
        return fold(inline(self.label), parts)


@dataclass(frozen=True)
class Table:
    """A small table with a heading for each column; the first column names the rows."""

    label: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def text(self) -> str:
        """Return aligned columns."""
        lines = [self.columns, *self.rows]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        padded = (
            "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True))
            for line in lines
        )
        return "\n".join([f"{self.label}:", *(f"    {line.rstrip()}" for line in padded)])

    def html(self) -> str:
        """Return a table whose headings are marked as such."""
        head = "".join(_cell("th", cell, "col") for cell in self.columns)
        body = "".join(
            f"<tr>{_cell('th', first, 'row')}{''.join(_cell('td', each) for each in rest)}</tr>"
            for first, *rest in self.rows
        )
        style = "border-collapse:collapse;margin:.2em 0 .4em;color:inherit;font-size:inherit"
        return (
            f'{_label(self.label)}<div style="overflow-x:auto" tabindex="0" role="region" '
            f'aria-label="{html.escape(self.label)}"><table style="{style}">'
            f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
        )


def _cell(tag: str, words: str, scope: str = "") -> str:
    style = "text-align:left;padding:.1em .8em .1em 0;background:transparent;color:inherit"
    weight = ";font-weight:normal" if scope == "row" else ""
    of = f' scope="{scope}"' if scope else ""
    return f'<{tag}{of} style="{style}{weight}">{inline(words)}</{tag}>'


def fold(summary: str, content: str) -> str:
    """Return HTML that shows its content once somebody opens it."""
    return (
        f'<details style="margin:.3em 0"><summary style="cursor:pointer">{summary}</summary>'
        f"{content}</details>"
    )


def _label(words: str) -> str:
    return f"<b>{html.escape(words)}:</b>" if words else ""


def inline(words: str) -> str:
    """Return words as HTML, what is between backticks as code."""
    style = "background:transparent;color:inherit"
    return re.sub(r"`([^`]+)`", rf'<code style="{style}">\1</code>', html.escape(words))


def card(verdict: str, subject: str, colour: str, parts: Sequence[Part]) -> str:
    """Return HTML for a notebook: a verdict on something, and what there is to say."""
    content = "".join(part.html() for part in parts)
    return (
        f'<div style="border-left:4px solid {colour};padding:.1em .8em">'
        f'<div style="font-size:1.1em"><b>{verdict}:</b> {html.escape(subject)}</div>'
        f"{content}</div>"
    )


@dataclass(frozen=True)
class Shown:
    """A case in which an answer is seen to be wrong.

    Attributes
    ----------
    call
        The case as code.
    place
        Which part of the result is shown, such as ``Result [0, 0:8]``; empty for all of it.
    wanted, got
        What is wanted there and what came: numbers row by row, or words.
    """

    call: str
    place: str
    wanted: str
    got: str


@dataclass(frozen=True)
class Feedback:
    """What a check or a hint says; a notebook displays it, ``print`` writes it elsewhere.

    Attributes
    ----------
    verdict
        How it went.
    exercise
        The exercise's name.
    parts
        What to say, in reading order.
    mistakes
        Names of the catalogue's mistakes that were recognised.
    computed
        For a wrong answer that no mistake explains, what tells answers that compute the same.
    shown
        The case that a wrong answer is shown by, if there is one.
    answer
        What tells this answer from others, in its text or in what it computes.
    """

    verdict: Verdict
    exercise: str
    parts: tuple[Part, ...]
    mistakes: tuple[str, ...] = ()
    computed: str = ""
    shown: Shown | None = None
    answer: str = ""

    def with_sentences(self, sentences: Sequence[str]) -> "Feedback":
        """Return the same feedback with more to say after its first part."""
        first, *details = self.parts
        return replace(self, parts=(first, *map(Sentence, sentences), *details))

    @property
    def finding(self) -> str:
        """What was found, in a sentence."""
        return " and ".join(self.mistakes) or self.parts[0].text()

    @property
    def unfolded(self) -> str:
        """All words but those that somebody has to open: hints, and what to change."""
        open_ = (part.text() for part in self.parts if not isinstance(part, Fold))
        return "\n".join(filter(None, open_))

    @property
    def passed(self) -> bool:
        """Whether the exercise is solved."""
        return self.verdict is Verdict.RIGHT

    def __repr__(self) -> str:
        heading = f"{self.verdict.value}: {self.exercise}"
        return "\n".join([heading, *filter(None, (part.text() for part in self.parts))])

    def _repr_html_(self) -> str:
        return card(
            self.verdict.value, self.exercise, COLOURS.get(self.verdict, NEUTRAL), self.parts
        )


@dataclass(frozen=True)
class Source:
    """Python source, which a notebook displays folded and with highlighting."""

    code: str

    def __repr__(self) -> str:
        return self.code

    def _repr_markdown_(self) -> str:
        # Folded, because a notebook is opened with its outputs: nobody should see it by accident.
        return f"<details><summary>Solution</summary>\n\n```python\n{self.code}\n```\n\n</details>"
