"""Boxes, arrows and words: what the course's diagrams are drawn with.

A diagram is a :class:`~transformer_course.plots.renderer.Picture` whose axes are invisible. Its
coordinates are pixels from the upper left corner, so that a function reads like the picture.
"""

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch

from transformer_course.plots.theme import (
    FIGURE_WIDTH,
    INK,
    MUTED,
    PIXELS_PER_INCH,
    SMALL_SIZE,
    TEXT_SIZE,
    entitle,
    points,
    tinted,
)

MARGIN = 12
"""Pixels left and right of a diagram that stay empty."""
HEADROOM = 60
"""Pixels above the diagram for a title of two lines."""

Point = tuple[float, float]


def canvas(height: float, title: str) -> Axes:
    """Return invisible axes of the usual width and a height in pixels, y growing downwards.

    Call it inside :func:`~transformer_course.plots.theme.matplotlib_theme`.
    """
    width, whole = FIGURE_WIDTH, height + HEADROOM
    figure = Figure(figsize=(width / PIXELS_PER_INCH, whole / PIXELS_PER_INCH), layout="none")
    # Within the figure's edges, so that the title has a margin like every other picture's.
    axes = figure.add_axes((MARGIN / width, 0, 1 - 2 * MARGIN / width, height / whole))
    axes.set(xlim=(MARGIN, width - MARGIN), ylim=(height, 0))
    axes.set_axis_off()
    entitle(axes, title)
    return axes


def box(
    axes: Axes,
    centre: Point,
    size: Point,
    text: str = "",
    colour: str = MUTED,
    text_size: float = TEXT_SIZE,
) -> None:
    """Draw a box with rounded corners, its words in the middle."""
    (x, y), (width, height) = centre, size
    patch = FancyBboxPatch(
        (x - width / 2, y - height / 2),
        width,
        height,
        boxstyle="round,pad=0,rounding_size=5",
        facecolor=tinted(colour),
        edgecolor=colour,
        linewidth=1.2,
    )
    axes.add_patch(patch)
    label(axes, centre, text, size=text_size)


def arrow(
    axes: Axes,
    start: Point,
    end: Point,
    colour: str = MUTED,
    width: float = 1.4,
    bend: float = 0.0,
) -> None:
    """Draw an arrow; ``bend`` curves it, as a share of its length."""
    style = {
        "arrowstyle": "-|>",
        "color": colour,
        "linewidth": width,
        "shrinkA": 0,
        "shrinkB": 0,
        "mutation_scale": 11,
        "connectionstyle": f"arc3,rad={bend}",
    }
    axes.annotate("", xy=end, xytext=start, arrowprops=style)


def label(
    axes: Axes,
    at: Point,
    text: str,
    colour: str = INK,
    size: float = SMALL_SIZE,
    align: str = "center",
    bold: bool = False,
) -> None:
    """Write words; ``align`` says which side of them is at the point."""
    axes.text(
        *at,
        text,
        color=colour,
        fontsize=points(size),
        ha=align,
        va="center",
        weight="bold" if bold else "normal",
        linespacing=1.25,
    )
