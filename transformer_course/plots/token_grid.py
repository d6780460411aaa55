"""Heatmaps with tokens on both axes: queries down, keys across, as everywhere in the course."""

from collections.abc import Mapping, Sequence

import altair as alt
import torch
from jaxtyping import Shaped
from torch import Tensor

from transformer_course.plots.theme import CARD, COLOURS, INK, SMALL_SIZE

LARGEST_CELL = 44
GRID_WIDTH = 430
"""Width in pixels that the cells may take; labels and legend need the rest of the column."""
NUMBERED_CELL = 34
"""Narrowest cell in pixels that has room for its number."""
SLANTED_CELL = 16
"""Narrowest cell in pixels over which a slanted label does not touch the next."""
GRADIENT_LENGTH = 150
MOST_TOKENS = 60
"""Longest sentence whose cells can still be told apart."""
MOST_CELLS = 20_000
"""Of all matrices of a chart together; the chart is then about 100 kB in size."""


def check_tokens(
    name: str, shape: Sequence[int], rows: Sequence[str], columns: Sequence[str]
) -> None:
    """Raise ValueError unless a matrix has one row and one column for each token."""
    if tuple(shape) != (len(rows), len(columns)):
        raise ValueError(
            f"{name}: {len(rows)} tokens down and {len(columns)} across do not fit a matrix of "
            f"shape {tuple(shape)}. Give one token for each row and column, start, end and "
            f"padding tokens included."
        )
    if not 1 <= min(shape) <= max(shape) <= MOST_TOKENS:
        raise ValueError(
            f"{name}: a picture needs 1 to {MOST_TOKENS} tokens on each axis, got the shape "
            f"{tuple(shape)}. Draw a shorter sentence or a part of the matrix."
        )


def token_grid(
    matrices: Mapping[str, Shaped[Tensor, "row column"]],
    rows: Sequence[str],
    columns: Sequence[str],
    names: tuple[str, str],
    value: alt.Tooltip,
    width: int = GRID_WIDTH,
) -> alt.Chart:
    """Return a chart, still without a mark, that has one datum for each cell of each matrix.

    A datum's fields are ``matrix`` (its name), ``value``, the numbers ``cell``, ``row`` and
    ``column``, and ``row_token`` and ``column_token``. The axes count cells and only print the
    tokens, so that a token that comes twice keeps two rows.

    Parameters
    ----------
    matrices
        What to draw, by name, all of one shape.
    rows, columns
        The tokens.
    names
        What a row's token is, and a column's, such as ("query", "key").
    value
        What the tooltip says besides the two tokens.
    width
        Most pixels that the cells may take from left to right.

    Raises
    ------
    ValueError
        If a matrix and the tokens do not fit together, or there is too much to draw.
    """
    for name, matrix in matrices.items():
        check_tokens(name, matrix.shape, rows, columns)
    if len(matrices) * len(rows) * len(columns) > MOST_CELLS:
        raise ValueError(
            f"{len(matrices)} matrices of {len(rows)} x {len(columns)} would make a notebook "
            f"slow; it takes {MOST_CELLS} cells at most. Choose one layer, or a shorter sentence."
        )
    # One record for each matrix, unfolded by Vega, takes a tenth of the space of one for each cell.
    records = [
        {"matrix": name, "value": _rounded(matrix.flatten())} for name, matrix in matrices.items()
    ]
    size = min(LARGEST_CELL, width / len(columns))
    row_name, column_name = names
    return (
        alt.Chart(alt.Data(values=records), width=size * len(columns), height=size * len(rows))
        .add_params(
            alt.param(name="row_tokens", value=list(rows)),
            alt.param(name="column_tokens", value=list(columns)),
        )
        .transform_calculate(cell=f"sequence({len(rows) * len(columns)})")
        .transform_flatten(["value", "cell"])
        .transform_calculate(
            row=f"floor(datum.cell / {len(columns)})", column=f"datum.cell % {len(columns)}"
        )
        .transform_calculate(
            row_token="row_tokens[datum.row]", column_token="column_tokens[datum.column]"
        )
        .encode(
            x=alt.X(
                "column:O", title=column_name, axis=_axis("column_tokens", "top", column_name, size)
            ),
            y=alt.Y("row:O", title=row_name, axis=_axis("row_tokens", "left", row_name, size)),
            tooltip=[
                alt.Tooltip("row_token:N", title=row_name),
                alt.Tooltip("column_token:N", title=column_name),
                value,
            ],
        )
    )


def cells(grid: alt.Chart, title: str, scale: alt.Scale) -> alt.Chart:
    """Colour each cell of a token grid by its value."""
    legend = alt.Legend(gradientLength=min(GRADIENT_LENGTH, grid.height), tickCount=3)
    return grid.mark_rect().encode(
        color=alt.Color("value:Q", title=title, scale=scale, legend=legend)
    )


def numbers(grid: alt.Chart, dark: str) -> alt.Chart:
    """Write each value of a token grid into its cell, if the cells are large enough.

    ``dark`` is the Vega expression that is true where the cell is too dark for black figures.
    """
    return (
        grid.transform_filter(f"{grid.width} / length(column_tokens) >= {NUMBERED_CELL}")
        .mark_text(fontSize=SMALL_SIZE)
        .encode(
            text=alt.Text("value:Q", format=".2f"),
            color=alt.condition(dark, alt.value(CARD), alt.value(INK)),
        )
    )


def _rounded(values: Shaped[Tensor, "cells"]) -> list[float]:
    # Two digits are what a reader can use; further ones differ from one computer to the next.
    # Adding zero turns -0.0 into 0.0.
    return [round(value, 2) + 0.0 for value in values.detach().to(torch.float64).tolist()]


def _axis(tokens: str, side: str, name: str, size: float) -> alt.Axis:
    slanted = -45 if size >= SLANTED_CELL else -90
    return alt.Axis(
        orient=side,
        labelExpr=f"{tokens}[datum.value]",
        labelAngle=slanted if side == "top" else 0,
        labelFontSize=min(SMALL_SIZE, max(7, size)),
        labelLimit=110,
        labelPadding=5,
        labelOverlap=False,
        ticks=False,
        # Queries and keys are known by their colour in the whole course.
        domain=name in COLOURS,
        domainColor=COLOURS.get(name, INK),
        domainWidth=4,
        grid=False,
    )
