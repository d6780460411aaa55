"""Two tensors side by side, as far as a learner needs to see them."""

import html
from dataclasses import dataclass

import torch
from torch import Tensor

from transformer_course.checker.comparison import wrong_elements

ROWS, COLUMNS = 6, 8  # of a matrix that are shown
PICTURE = 36  # numbers of a matrix that is shown whole
BLUE, ORANGE = "86,180,233", "230,159,0"  # Okabe-Ito, for positive and negative numbers


@dataclass(frozen=True)
class Cell:
    """A number in words, and its share of the largest number, from -1 to 1."""

    words: str
    share: float


@dataclass(frozen=True)
class SideBySide:
    """The wanted and the received elements around the first wrong one.

    An exclamation mark follows each wrong element. In HTML the shade of a cell shows its number
    as well: blue is positive, orange negative.
    """

    place: str
    wanted: list[list[Cell]]
    yours: list[list[Cell]]

    def text(self) -> str:
        """Return two aligned tables."""
        lines = zip(aligned("wanted", self.wanted), aligned("yours", self.yours), strict=True)
        return "\n".join([self._caption(), *(f"  {a}    {b}".rstrip() for a, b in lines)])

    def html(self) -> str:
        """Return two shaded tables."""
        layout = "display:flex;flex-wrap:wrap;gap:.5em 2em;margin:.3em 0"
        tables = shaded_table("wanted", self.wanted) + shaded_table("yours", self.yours)
        return f'<div>{html.escape(self._caption())}</div><div style="{layout}">{tables}</div>'

    def _caption(self) -> str:
        return f"{self.place} (! marks what differs):"


def side_by_side(expected: Tensor, received: Tensor, of: str = "") -> SideBySide:
    """Cut a window around the first element in which two tensors of equal shape differ.

    A matrix that is not too large is shown whole, for the sake of the picture; of anything larger
    the row with that element tells enough. ``of`` says which part of a result the tensors are.
    """
    axes = expected.dim()
    numbers = [torch.atleast_2d(t.detach().cpu().double()) for t in (expected, received)]
    wrong = torch.atleast_2d(wrong_elements(expected, received))
    *leading, row, column = wrong.nonzero()[0].tolist()
    whole = wrong.shape[-2] * wrong.shape[-1] <= PICTURE
    rows = _around(row, ROWS, wrong.shape[-2]) if whole else slice(row, row + 1)
    columns = _around(column, COLUMNS, wrong.shape[-1])
    window = (*leading, rows, columns)
    largest = max(numbers[0][window].abs().nan_to_num(0, 0, 0).max().item(), 1e-12)
    cells = [
        [_cells(*element, largest) for element in zip(*lines, strict=True)]
        for lines in zip(*(t[window].tolist() for t in (*numbers, wrong)), strict=True)
    ]
    where = [*map(str, leading), *(f"{cut.start}:{cut.stop}" for cut in (rows, columns))]
    part = f" [{', '.join(where[-axes:])}]" if len(cells) * len(cells[0]) < wrong.numel() else ""
    return SideBySide(
        place=f"{of or 'Result'}{part}",
        wanted=[[wanted for wanted, _ in line] for line in cells],
        yours=[[yours for _, yours in line] for line in cells],
    )


def _around(index: int, shown: int, length: int) -> slice:
    """Return a window of at most ``shown`` places that holds ``index`` and, if any, the next."""
    start = max(0, min(index + 2, length) - shown)
    return slice(start, min(start + shown, length))


def _cells(expected: float, received: float, wrong: bool, largest: float) -> tuple[Cell, Cell]:
    """Write both numbers, wrong ones with as many digits as it takes to see the difference."""
    for digits in (4, 7, 12):
        written = f"{expected:.{digits}g}", f"{received:.{digits}g}"
        if not wrong or written[0] != written[1]:
            break
    mark = "!" if wrong else ""
    return Cell(written[0], expected / largest), Cell(written[1] + mark, received / largest)


def in_rows(table: list[list[Cell]]) -> str:
    """Return the numbers of a table, a line for each row."""
    return "\n".join(" ".join(cell.words for cell in row) for row in table)


def aligned(title: str, table: list[list[Cell]]) -> list[str]:
    """Return the lines of a table of numbers in plain text."""
    width = max(len(cell.words) for row in table for cell in row)
    lines = [title, *(" ".join(cell.words.rjust(width) for cell in row) for row in table)]
    return [line.ljust(max(map(len, lines))) for line in lines]


def shaded_table(title: str, table: list[list[Cell]]) -> str:
    """Return a table of numbers in HTML, each on a shade that shows it as well."""
    rows = "".join(f"<tr>{''.join(map(_html_cell, row))}</tr>" for row in table)
    caption = f'<caption style="text-align:left;color:inherit;padding:0">{title}</caption>'
    style = "border-collapse:collapse;margin:0;font-family:monospace;color:inherit"
    return f'<table style="{style}">{caption}{rows}</table>'


def _html_cell(cell: Cell) -> str:
    strength = min(abs(cell.share), 1.0) * 0.5 if cell.share == cell.share else 0.0
    shade = f"rgba({BLUE if cell.share >= 0 else ORANGE},{strength:.2f})"
    wrong = cell.words.endswith("!")
    border = "border:2px solid currentColor;font-weight:bold" if wrong else "border:none"
    style = f"background:{shade};padding:.1em .4em;text-align:right;{border}"
    return f'<td style="{style}">{cell.words}</td>'
