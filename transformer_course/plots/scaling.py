"""How a quantity grows: with the length of the sentence, the number of heads, the depth."""

import math
from collections.abc import Mapping
from operator import itemgetter

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogFormatter, NullLocator

from transformer_course.plots.renderer import Picture
from transformer_course.plots.theme import (
    SMALL_SIZE,
    blank_axes,
    check_columns,
    entitle,
    line_styles,
    mark_places,
    matplotlib_theme,
    points,
)

MOST_TICKS = 9
"""Up to this many different values across, each one gets its number."""
NAME_HEIGHT = 1.3 * SMALL_SIZE
"""Pixels from one line's name to the next, so that they do not touch."""
NAME_GAP = 6
"""Pixels between a line's end and its name."""


@matplotlib_theme()
def scaling_curves(
    frame: pd.DataFrame,
    x: str,
    y: str,
    series: str,
    title: str,
    log: str = "xy",
    marks: Mapping[str, float] | None = None,
) -> Picture:
    """Draw how quantities grow, each line with its name at its end.

    On logarithmic axes a power of ``x`` is a straight line, and its slope is the exponent.

    Parameters
    ----------
    frame
        One row for each point. Times belong in it as ratios, to the first point or to another
        line: seconds differ from one computer to the next.
    x, y
        Columns of numbers. Their names are written on the axes, so give them their unit:
        ``"length (tokens)"``, ``"time (times that of 64 tokens)"``.
    series
        Column with the name of a point's line; at most four lines.
    title
        What to see.
    log
        The logarithmic axes: ``"xy"``, ``"x"``, ``"y"`` or ``""``.
    marks
        Places on the x axis to mark with a dotted line, by what is written on it.

    Raises
    ------
    ValueError
        If a column is missing, there are too many lines to tell apart, or a logarithmic axis
        would have to show a number that is not positive.
    """
    check_columns(frame, (x, y, series))
    _check_positive(frame, x if "x" in log else "", y if "y" in log else "")
    [axes] = blank_axes()
    # A column of numbers names lines too, such as the number of heads.
    groups = {str(name): rows for name, rows in frame.groupby(series, sort=False)}
    for name, style in line_styles(list(groups)).items():
        axes.plot(groups[name][x], groups[name][y], marker="o", markersize=4, **style)
    _scale(axes, frame[x], log)
    axes.set(xlabel=x, ylabel=y)
    lines = list(axes.lines)
    entitle(axes, title)
    mark_places(axes, marks or {})
    _name_lines(axes, lines)
    return Picture(
        axes.figure,
        f"{title}. Lines of {y} against {x} for {', '.join(groups)}"
        f"{'; marked: ' + ', '.join(marks) if marks else ''}.",
    )


def _check_positive(frame: pd.DataFrame, *columns: str) -> None:
    for column in filter(None, columns):
        if not (frame[column] > 0).all():
            raise ValueError(
                f"a logarithmic axis shows positive numbers only; the column {column!r} has "
                f"{frame[column].min()}. Leave out that point, or choose another `log`."
            )


def _scale(axes: Axes, across: pd.Series, log: str) -> None:
    if "x" in log:
        axes.set_xscale("log")
    if "y" in log:
        axes.set_yscale("log")
        _plain_numbers(axes.yaxis)
    if across.nunique() <= MOST_TICKS:
        axes.set_xticks(sorted(across.unique()))
        axes.xaxis.set_minor_locator(NullLocator())
    _plain_numbers(axes.xaxis)


def _plain_numbers(axis: Axis) -> None:
    """Write 1000 and 0.01 instead of powers of ten."""
    axis.set_major_formatter(FuncFormatter(_plain))
    axis.set_minor_formatter(_PlainMinorNumbers())


def _plain(value: float, _: int = 0) -> str:
    return np.format_float_positional(value, precision=12, trim="-")


class _PlainMinorNumbers(LogFormatter):
    """On a short logarithmic axis, where minor ticks get numbers too, write these out as well."""

    def __call__(self, value: float, position: int | None = None) -> str:
        return _plain(value) if super().__call__(value, position) else ""


def _name_lines(axes: Axes, lines: list[Line2D]) -> None:
    """Write each line's name after its end, moved up where two would touch."""
    axes.figure.canvas.draw()  # settles where the lines end, in pixels
    ends = [line.get_xydata()[-1] for line in lines]
    heights = axes.transData.transform(ends)[:, 1]
    free = -math.inf
    for height, end, line in sorted(zip(heights, ends, lines, strict=True), key=itemgetter(0)):
        free = max(height, free + NAME_HEIGHT)
        axes.annotate(
            line.get_label(),
            end,
            (points(NAME_GAP), points(free - height)),
            textcoords="offset points",
            color=line.get_color(),
            va="center",
        )
