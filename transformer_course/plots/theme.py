"""One look for every picture of the course: colours, fonts, sizes, for Altair and matplotlib.

Each main idea owns one colour of the Okabe-Ito palette (Okabe and Ito, 2008, "Color Universal
Design"), which readers with colour-blindness can tell apart.

Pictures bring their own white card. A transparent background would need text that is legible on
white and on a dark page, but no grey reaches a contrast of 4.5 (WCAG AA) on both.
"""

import textwrap
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import ContextDecorator
from types import MappingProxyType
from typing import Any, TypeVar

import altair as alt
import matplotlib as mpl
import pandas as pd
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.colors import to_hex, to_rgb
from matplotlib.figure import Figure
from torch import Tensor

NAME = "transformer_course"

COLOURS = MappingProxyType(
    {
        "query": "#D55E00",
        "key": "#009E73",
        "value": "#CC79A7",
        "position": "#0072B2",
        "mask": "#000000",
        "memory": "#E69F00",
    }
)
"""The colour of each idea, the same in every picture, diagram and formula."""

CARD = "#FFFFFF"
INK = "#1F2328"
MUTED = "#57606A"
GRID = "#E3E7EB"

SERIES = ("#440154", "#2A788E", "#8C510A", "#6E7781")
"""Colours for lines that do not stand for any idea, dark enough for thin lines on the card."""
SHADES = ("#00283F", "#004F7C", "#0072B2", "#4396C8")
"""Shades of the position's colour, for positions in several widths of the model."""
DASHES = ((), (6, 3), (2, 2), (8, 3, 2, 3))
"""Stroke patterns that go with SERIES, so that no line is known by its colour alone."""

TINT = 0.82
"""Share of white in the filling of a box whose edge has the full colour."""

SEQUENTIAL = "viridis"
"""The map for values from 0 upwards, such as attention weights."""
DIVERGING = MappingProxyType({"altair": "redblue", "matplotlib": "RdBu"})
"""The map for signed values, red below zero and blue above; its middle belongs at zero."""

WIDTH = 450
"""Width in pixels of a chart's plotting area, beside which there is room for a legend."""
FIGURE_WIDTH = 620
"""Width in pixels of a whole picture, so that it fits the column of a notebook."""
TITLE_SIZE, TEXT_SIZE, SMALL_SIZE = 15, 12, 11
"""Font sizes in pixels."""
TITLE_CHARACTERS = 60
"""Longest line of a title that fits WIDTH."""
FONT = "Liberation Sans, Arial, Helvetica, sans-serif"
PIXELS_PER_INCH = 100
"""Pixels of a notebook's column per inch of a matplotlib figure."""
NEVER = -1e4
"""A score so low that its softmax is 0; Vega knows no infinity."""

ChartT = TypeVar("ChartT", bound=alt.TopLevelMixin)


def wrapped(text: str) -> list[str]:
    """Cut a title into lines that fit the width of a picture."""
    return textwrap.wrap(text, TITLE_CHARACTERS)


def titled(chart: ChartT, title: str, description: str) -> ChartT:
    """Give a chart the title that says what to see, and the text alternative."""
    return chart.properties(title=alt.TitleParams(wrapped(title)), description=description)


# Every colour is set, because JupyterLab's dark theme supplies its own where a chart has none.
@alt.theme.register(NAME, enable=False)
def altair_theme() -> alt.theme.ThemeConfig:
    """Return the course's look for Altair charts."""
    guide: dict[str, Any] = {
        "labelColor": INK,
        "titleColor": INK,
        "labelFontSize": SMALL_SIZE,
        "titleFontSize": TEXT_SIZE,
        "titleFontWeight": "normal",
    }
    return {
        "config": {
            "background": CARD,
            "font": FONT,
            "padding": 10,
            "view": {"stroke": GRID, "continuousWidth": WIDTH, "continuousHeight": 280},
            "title": {
                "anchor": "start",
                "frame": "group",
                "offset": 12,
                "color": INK,
                "fontSize": TITLE_SIZE,
                "subtitleColor": MUTED,
                "subtitleFontSize": TEXT_SIZE,
            },
            "axis": guide | {"domainColor": MUTED, "tickColor": MUTED, "gridColor": GRID},
            "legend": guide | {"labelLimit": 240},
            "header": guide | {"titleAnchor": "start"},
            "text": {"color": INK, "fontSize": TEXT_SIZE},
            "line": {"strokeWidth": 2},
            "rule": {"color": MUTED},
        }
    }


def points(pixels: float) -> float:
    """Convert a font size from pixels to the points that matplotlib counts in."""
    return pixels * 72 / PIXELS_PER_INCH


MATPLOTLIB_THEME = MappingProxyType(
    {
        "figure.facecolor": CARD,
        "figure.dpi": PIXELS_PER_INCH,
        "figure.constrained_layout.use": True,
        "figure.constrained_layout.w_pad": 0.1,
        "figure.constrained_layout.h_pad": 0.1,
        "axes.facecolor": CARD,
        "axes.edgecolor": MUTED,
        "axes.labelcolor": INK,
        "axes.titlecolor": INK,
        "axes.titlelocation": "left",
        "axes.titleweight": "bold",
        # matplotlib's font is wider than a browser's.
        "axes.titlesize": points(0.9 * TITLE_SIZE),
        "axes.titlepad": 10,
        "axes.labelsize": points(TEXT_SIZE),
        "axes.grid": True,
        "axes.axisbelow": True,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "grid.color": GRID,
        "text.color": INK,
        "xtick.color": MUTED,
        "ytick.color": MUTED,
        "xtick.labelcolor": INK,
        "ytick.labelcolor": INK,
        "xtick.labelsize": points(SMALL_SIZE),
        "ytick.labelsize": points(SMALL_SIZE),
        "legend.fontsize": points(SMALL_SIZE),
        "legend.frameon": False,
        "lines.linewidth": 1.8,
        "font.size": points(TEXT_SIZE),
        # The one family that comes with matplotlib, so that pictures are the same everywhere.
        "font.family": "DejaVu Sans",
    }
)


def matplotlib_theme() -> ContextDecorator:
    """Return a decorator for functions that build figures: they get the course's look.

    The reader's own matplotlib settings stay as they are.
    """
    return mpl.rc_context(dict(MATPLOTLIB_THEME))


def tinted(colour: str) -> str:
    """Return a colour mixed with white, light enough for words on it."""
    return to_hex([TINT + (1 - TINT) * part for part in to_rgb(colour)])


def blank_axes(height: int = 320, rows: int = 1) -> list[Axes]:
    """Return the axes of a new figure, one below the other, ``height`` pixels in all."""
    size = (FIGURE_WIDTH / PIXELS_PER_INCH, height / PIXELS_PER_INCH)
    return list(Figure(figsize=size).subplots(rows, sharex=True, squeeze=False)[:, 0])


def entitle(axes: Axes, title: str) -> None:
    """Write the title that says what to see above the axes."""
    axes.set_title("\n".join(wrapped(title)))


def mark_places(axes: Axes, marks: Mapping[str, float]) -> None:
    """Mark places on the x axis with dotted lines, their names above the plot; the title is there.

    No line of the plot can cross the names there.
    """
    for text, place in marks.items():
        axes.axvline(place, color=MUTED, linestyle=":", linewidth=1.2)
        axes.annotate(
            text, (place, 1), (0, 2), ("data", "axes fraction"), "offset points", ha="center"
        )
    if marks:
        axes.set_title(axes.get_title(loc="left"), pad=22)


def without_frame(axes: Axes) -> None:
    """Take away grid, ticks and edges, where cells or bars say it all."""
    axes.grid(visible=False)
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)


def line_styles(names: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Give each line of a matplotlib figure a colour and a stroke pattern of its own.

    Raises
    ------
    ValueError
        If there are more lines than a reader can tell apart.
    """
    if len(names) > len(SERIES):
        raise ValueError(
            f"a picture holds at most {len(SERIES)} lines; got {len(names)}: {', '.join(names)}."
        )
    styles = zip(SERIES, DASHES, strict=True)
    return {
        name: {
            # A blank in front, because matplotlib leaves out labels that begin with an underscore.
            "label": f" {name}" if name.startswith("_") else name,
            "color": colour,
            "linestyle": (0, dash) if dash else "solid",
        }
        for name, (colour, dash) in zip(names, styles, strict=False)
    }


def distinct(names: Sequence[str]) -> list[str]:
    """Return names of which equal ones are numbered: a chart would draw them as one."""
    counts, seen = Counter(names), Counter()
    found = []
    for name in names:
        seen[name] += 1
        found.append(f"{name} ({seen[name]})" if counts[name] > 1 else name)
    return found


def finite(scores: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    """Return scores that charts can compute with: they take minus infinity for 0.

    Raises
    ------
    ValueError
        If a score is NaN or plus infinity, with which no softmax is defined.
    """
    if scores.isnan().any() or scores.isposinf().any():
        raise ValueError("a score is NaN or infinite: it has no softmax to draw.")
    return scores.detach().clamp(min=NEVER)


def check_columns(frame: pd.DataFrame, wanted: Sequence[str]) -> None:
    """Raise ValueError if a column that a picture draws is missing."""
    missing = [name for name in wanted if name not in frame]
    if missing:
        raise ValueError(
            f"the table lacks the column {', '.join(missing)}; it has: {', '.join(frame)}."
        )
