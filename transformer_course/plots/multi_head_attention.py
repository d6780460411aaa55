"""Pictures of multi-head attention: what a split does to the numbers, what a head is worth."""

from collections.abc import Sequence

import pandas as pd
import torch
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Polygon, Rectangle
from torch import Tensor

from transformer_course.model.multi_head_attention import split_heads
from transformer_course.plots.diagram import Point, arrow, canvas, label
from transformer_course.plots.renderer import Picture
from transformer_course.plots.theme import (
    CARD,
    COLOURS,
    FIGURE_WIDTH,
    INK,
    MUTED,
    PIXELS_PER_INCH,
    SEQUENTIAL,
    SERIES,
    SHADES,
    check_columns,
    entitle,
    matplotlib_theme,
    tinted,
    without_frame,
)

CELL = 20
"""Pixels from one cell of a drawn matrix to the next."""
NUMBERED_CELL = 27
"""The same for cells with a number in them."""
DEPTH = 6
"""Pixels by which the back of a slab is drawn higher and further right than its front."""


@matplotlib_theme()
def split_and_merge() -> Picture:
    """Draw how the vectors of one sentence are cut into heads, and joined again."""
    title = "Cut each vector, then put the heads one behind another"
    length, heads, d_k = 4, 3, 2
    top = 68
    bottom = top + length * CELL
    axes = canvas(bottom + 92, title)
    for position in range(length):
        at = (74, top + (position + 0.5) * CELL)
        label(axes, at, f"position {position}", COLOURS["position"], align="right")
    for head in range(heads):
        apart = 286 + head * (d_k * CELL + 12)
        _slab(axes, (80 + head * d_k * CELL, top), (length, d_k), SERIES[head])
        _slab(axes, (apart, top), (length, d_k), SERIES[head])
        label(axes, (apart + CELL, bottom + 14), f"head {head}", SERIES[head], size=10)
    # The hindmost slab comes first, so that the others cover it.
    for head in reversed(range(heads)):
        behind = (510 + head * CELL, top + (1 - head) * 1.2 * CELL)
        _slab(axes, behind, (length, d_k), SERIES[head])
    shapes = {140: "length, d_model", 358: "length, heads, d_k", 552: "heads, length, d_k"}
    for x, names in shapes.items():
        label(axes, (x, bottom + 42), f"({names})")
    _both_ways(axes, (247, (top + bottom) / 2), "cut", "join")
    _both_ways(axes, (473, (top + bottom) / 2), "transpose", "transpose")
    label(axes, (300, 14), "split_heads goes to the right", MUTED)
    label(axes, (300, bottom + 74), "merge_heads goes back to the left", MUTED)
    description = (
        f"{title}. A matrix of {length} positions and {heads * d_k} numbers is cut into {heads} "
        f"pieces of {d_k} columns, one for each head; a transpose makes of them {heads} matrices "
        f"of {length} rows. Merging goes the same way back."
    )
    return Picture(axes.figure, description)


@matplotlib_theme()
def split_without_transpose() -> Picture:
    """Draw where each number goes when the split has its transpose, and when it has not."""
    title = "Without a transpose, head 0 gets half of the sentence"
    length, heads, d_k = 4, 2, 2
    top = 52
    axes = canvas(top + length * NUMBERED_CELL + 42, title)
    x = torch.arange(16.0).view(1, length, heads * d_k)  # split_heads takes real numbers
    for position in range(length):
        at = (74, top + (position + 0.5) * NUMBERED_CELL)
        label(axes, at, f"position {position}", COLOURS["position"], align="right")
    _numbered(axes, (80, top), x[0])
    label(axes, (80 + 2 * NUMBERED_CELL, 14), "the vectors", bold=True)
    for left, name, parts in (
        (236, "split_heads", split_heads(x, heads)[0]),
        (436, "view alone", x.view(1, heads, length, d_k)[0]),
    ):
        label(axes, (left + 2.5 * NUMBERED_CELL, 14), name, bold=True)
        for head, part in enumerate(parts):
            corner = left + head * 3 * NUMBERED_CELL
            _numbered(axes, (corner, top), part)
            label(axes, (corner + NUMBERED_CELL, top - 14), f"head {head}")
    label(axes, (310, top + length * NUMBERED_CELL + 22), "colour: the position it came from")
    description = (
        f"{title}. Four vectors of four numbers, coloured by position. After split_heads, each of "
        f"two heads holds half of every vector; after view alone, head 0 holds all of positions 0 "
        f"and 1, and head 1 all of positions 2 and 3."
    )
    return Picture(axes.figure, description)


@matplotlib_theme()
def head_ablation(frame: pd.DataFrame, measures: Sequence[str], title: str) -> Picture:
    """Draw what is left of a model's scores when each of its heads is silenced.

    Parameters
    ----------
    frame
        One row for each silenced head, with the columns ``layer`` (its name), ``head`` (its
        number) and one for each measure, shares from 0 to 1.
    measures
        The columns to draw, one or two, side by side.
    title
        What to see.

    Raises
    ------
    ValueError
        If a column is missing, or a measure is not a share.
    """
    check_columns(frame, ("layer", "head", *measures))
    layers = list(frame["layer"].unique())
    size = (FIGURE_WIDTH / PIXELS_PER_INCH, (130 + 30 * len(layers)) / PIXELS_PER_INCH)
    panels = Figure(figsize=size).subplots(1, len(measures), sharey=True, squeeze=False)[0]
    for axes, measure in zip(panels, measures, strict=True):
        table = frame.pivot(index="layer", columns="head", values=measure).loc[layers]
        _check_shares(measure, table)
        _shares(axes, table)
        axes.set(xlabel=f"silenced head\n{measure}", ylabel="layer")
    entitle(panels[0], title)
    worst = frame.loc[frame[measures[0]].idxmin()]
    return Picture(
        panels[0].figure,
        f"{title}. For each layer and head the share of {', '.join(measures)} without it; the "
        f"fewest {measures[0]}, {worst[measures[0]]:.0%}, without head {worst['head']} of "
        f"{worst['layer']}.",
    )


def _check_shares(measure: str, table: pd.DataFrame) -> None:
    # Comparisons with NaN are false, so a head without a row is refused too.
    if not ((table >= 0) & (table <= 1)).all(axis=None):
        raise ValueError(
            f"{measure!r} needs a share from 0 to 1 for each head of each layer; got "
            f"{table.to_numpy().tolist()}."
        )


def _shares(axes: Axes, table: pd.DataFrame) -> None:
    """Draw a table of shares as coloured cells with their percentages."""
    axes.imshow(table, cmap=SEQUENTIAL, vmin=0, vmax=1, aspect="auto")
    without_frame(axes)
    axes.set_xticks(range(table.shape[1]), table.columns)
    axes.set_yticks(range(table.shape[0]), table.index)
    for row, shares in enumerate(table.to_numpy()):
        for column, share in enumerate(shares):
            label(axes, (column, row), f"{share:.0%}", INK if share > 0.5 else CARD)


def _both_ways(axes: Axes, centre: Point, there: str, back: str) -> None:
    """Draw an arrow to the right and one back, each with its word."""
    x, y = centre
    for side, word in ((-1, there), (1, back)):
        arrow(axes, (x + side * 30, y + side * 14), (x - side * 30, y + side * 14))
        label(axes, (x, y + side * 26), word, size=10)


def _numbered(axes: Axes, corner: Point, matrix: Float[Tensor, "row column"]) -> None:
    """Draw a matrix of the numbers 0 to 15, each in the colour of the vector that it is from."""
    left, top = corner
    for row, numbers in enumerate(matrix.int().tolist()):
        for column, number in enumerate(numbers):
            at = (left + column * NUMBERED_CELL, top + row * NUMBERED_CELL)
            shade = SHADES[number // 4]
            axes.add_patch(
                Rectangle(at, NUMBERED_CELL, NUMBERED_CELL, facecolor=shade, edgecolor=CARD)
            )
            centre = (at[0] + NUMBERED_CELL / 2, at[1] + NUMBERED_CELL / 2)
            label(axes, centre, str(number), INK if shade == SHADES[-1] else CARD)


def _slab(axes: Axes, corner: Point, shape: tuple[int, int], colour: str) -> None:
    """Draw a matrix as a thin block of cells, its upper left front corner at the point."""
    (left, top), (rows, columns) = corner, shape
    right, bottom = left + columns * CELL, top + rows * CELL
    roof = [(left, top), (left + DEPTH, top - DEPTH), (right + DEPTH, top - DEPTH), (right, top)]
    side = [
        (right, top),
        (right + DEPTH, top - DEPTH),
        (right + DEPTH, bottom - DEPTH),
        (right, bottom),
    ]
    for face in (roof, side):
        axes.add_patch(Polygon(face, facecolor=colour, edgecolor=CARD, linewidth=0.8))
    for row in range(rows):
        for column in range(columns):
            at = (left + column * CELL, top + row * CELL)
            axes.add_patch(
                Rectangle(at, CELL, CELL, facecolor=tinted(colour), edgecolor=colour, linewidth=1)
            )
