"""The words of a check: one structure, rendered as HTML in a notebook and as text elsewhere."""

import enum
import html
import itertools
import re
from dataclasses import dataclass
from typing import Protocol

from torch import Tensor

from transformer_course.exercises.comparison import matrix, wrong_elements

ROWS, COLUMNS = 6, 8  # of a matrix that are shown


class Verdict(enum.Enum):
    """How a check went; the value is the word that says so."""

    RIGHT = "Right"
    WRONG = "Not yet"
    NEUTRAL = "Note"


BORDERS = {Verdict.RIGHT: "#009E73", Verdict.WRONG: "#D55E00", Verdict.NEUTRAL: "#888888"}


class Part(Protocol):
    """A piece of feedback, which says the same in both forms."""

    def text(self) -> str:
        """Plain text, without a final newline."""

    def html(self) -> str:
        """HTML that needs nothing from outside."""


@dataclass(frozen=True)
class Sentence:
    """A sentence, with an optional label; code stands between backticks."""

    words: str
    label: str = ""

    def text(self) -> str:
        """Return ``label: words``."""
        return f"{self.label}: {self.words}" if self.label else self.words

    def html(self) -> str:
        """Return a paragraph with the label in bold."""
        label = f"<b>{_inline(self.label)}:</b> " if self.label else ""
        return f'<p style="margin:.4em 0">{label}{_inline(self.words)}</p>'


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
        items = "".join(f"<li>{_inline(item)}</li>" for item in self.items)
        return f'<b>{_inline(self.label)}:</b><ul style="margin:.2em 0">{items}</ul>'


@dataclass(frozen=True)
class Code:
    """Lines of the learner's code or output, as they are."""

    label: str
    code: str

    def text(self) -> str:
        """Return the lines, indented."""
        return "\n".join([f"{self.label}:", *(f"    {line}" for line in self.code.splitlines())])

    def html(self) -> str:
        """Return a preformatted block."""
        style = "margin:.2em 0 .4em 1em;padding:0;background:transparent;color:inherit"
        return f'<b>{_inline(self.label)}:</b><pre style="{style}">{html.escape(self.code)}</pre>'


@dataclass(frozen=True)
class SideBySide:
    """Two tensors of equal shape next to each other, around the first element that is wrong.

    In HTML a cell's shade follows its number, blue for positive and orange for negative; a wrong
    element bears an exclamation mark in both forms.
    """

    expected: Tensor
    received: Tensor

    def _tables(self) -> tuple[str, list[list[str]], list[list[str]], Tensor, Tensor]:
        wrong = wrong_elements(self.expected, self.received)
        index = tuple(wrong.nonzero()[0].tolist())
        expected, received = (
            matrix(t.detach().double(), index) for t in (self.expected, self.received)
        )
        wrong = matrix(wrong, index)
        row, column = wrong.nonzero()[0].tolist()
        top, left = max(0, row - ROWS + 2), max(0, column - COLUMNS + 2)
        window = (slice(top, top + ROWS), slice(left, left + COLUMNS))
        expected, received, wrong = expected[window], received[window], wrong[window]
        cells = [
            [_number(e, r) for e, r in zip(e_row, r_row, strict=True)]
            for e_row, r_row in zip(expected.tolist(), received.tolist(), strict=True)
        ]
        marks = [["!" if w else "" for w in w_row] for w_row in wrong.tolist()]
        place = _place(self.expected, index, window)
        wanted = [[e for e, _ in c_row] for c_row in cells]
        yours = [
            [r + mark for (_, r), mark in zip(c_row, m_row, strict=True)]
            for c_row, m_row in zip(cells, marks, strict=True)
        ]
        return place, wanted, yours, expected, received

    def text(self) -> str:
        """Return two aligned tables."""
        place, wanted, yours, _, _ = self._tables()
        left = _aligned("wanted", wanted)
        right = _aligned("yours", yours)
        lines = (f"  {a}    {b}".rstrip() for a, b in zip(left, right, strict=True))
        return "\n".join([f"{place}, ! marks what differs:", *lines])

    def html(self) -> str:
        """Return two shaded tables."""
        place, wanted, yours, expected, received = self._tables()
        scale = max(expected.abs().nan_to_num(0, 0).max().item(), 1e-12)
        tables = _table("wanted", wanted, expected / scale) + _table(
            "yours", yours, received / scale
        )
        return (
            f"<div>{_inline(place)}, ! marks what differs:</div>"
            f'<div style="display:flex;flex-wrap:wrap;gap:1.5em;margin:.3em 0">{tables}</div>'
        )


def _number(expected: float, received: float) -> tuple[str, str]:
    """Write both with as few digits as show that they differ."""
    for digits in (4, 7, 12):
        written = f"{expected:.{digits}g}", f"{received:.{digits}g}"
        if written[0] != written[1]:
            break
    return written if expected != received else (f"{expected:.4g}",) * 2


def _place(tensor: Tensor, index: tuple[int, ...], window: tuple[slice, slice]) -> str:
    slices = list(window)[-max(tensor.dim(), 1) :] if tensor.dim() < 2 else list(window)
    sizes = tensor.shape[-2:]
    ranges = [f"{s.start}:{min(s.stop, n)}" for s, n in zip(slices, sizes, strict=False)]
    where = ", ".join([*map(str, index[:-2]), *ranges])
    return f"Elements `[{where}]`" if where else "The number"


def _aligned(title: str, rows: list[list[str]]) -> list[str]:
    width = max(len(cell) for row in rows for cell in row)
    lines = [" ".join(cell.rjust(width) for cell in row) for row in rows]
    across = max(len(title), *map(len, lines))
    return [line.ljust(across) for line in [title, *lines]]


def _table(title: str, rows: list[list[str]], shades: Tensor) -> str:
    body = "".join(
        f"<tr>{''.join(itertools.starmap(_cell, zip(row, shade, strict=True)))}</tr>"
        for row, shade in zip(rows, shades.tolist(), strict=True)
    )
    style = "border-collapse:collapse;margin:0;font-family:monospace"
    return (
        f'<table style="{style}"><caption style="text-align:left">{title}</caption>{body}</table>'
    )


def _cell(words: str, shade: float) -> str:
    colour = "86,180,233" if shade >= 0 else "230,159,0"
    strength = 0.0 if shade != shade else min(abs(shade), 1.0) * 0.5
    weight = "font-weight:bold;border:2px solid currentColor" if words.endswith("!") else ""
    style = f"background:rgba({colour},{strength:.2f});padding:.1em .4em;text-align:right;{weight}"
    return f'<td style="{style}">{html.escape(words)}</td>'


def _inline(words: str) -> str:
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", html.escape(words))


@dataclass(frozen=True)
class Feedback:
    """What a check or a hint says; displayed by a notebook, printed elsewhere.

    Attributes
    ----------
    verdict
        Right, wrong or neutral.
    title
        The exercise and, in a few words, what was found.
    parts
        The details, in reading order.
    mistakes
        Names of the catalogue's mistakes that were recognised.
    """

    verdict: Verdict
    title: str
    parts: tuple[Part, ...] = ()
    mistakes: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        """Whether the exercise is solved."""
        return self.verdict is Verdict.RIGHT

    def __repr__(self) -> str:
        return "\n".join([f"{self.verdict.value}: {self.title}", *(p.text() for p in self.parts)])

    def _repr_html_(self) -> str:
        parts = "".join(part.html() for part in self.parts)
        border = f"border-left:4px solid {BORDERS[self.verdict]};padding:.2em .8em"
        return (
            f'<div style="{border}"><div style="font-weight:bold">{self.verdict.value}: '
            f"{_inline(self.title)}</div>{parts}</div>"
        )


@dataclass(frozen=True)
class Source:
    """Python source that a notebook shows with highlighting."""

    code: str

    def __repr__(self) -> str:
        return self.code

    def _repr_markdown_(self) -> str:
        return f"```python\n{self.code}\n```"
