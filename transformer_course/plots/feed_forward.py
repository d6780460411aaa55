"""Pictures of lesson 4: the network that works on each position alone."""

from collections.abc import Callable, Mapping, Sequence

import altair as alt
import pandas as pd
import torch
from torch import Tensor

from transformer_course.plots.diagram import arrow, box, canvas, label
from transformer_course.plots.renderer import Picture
from transformer_course.plots.theme import (
    INK,
    SERIES,
    WIDTH,
    blank_axes,
    check_columns,
    entitle,
    line_styles,
    matplotlib_theme,
    titled,
)

MOST_COLUMNS = 6
"""Positions that fit side by side into a diagram."""


@matplotlib_theme()
def activation_functions(
    functions: Mapping[str, Callable[[Tensor], Tensor]], title: str
) -> Picture:
    """Draw activation functions by their names, and below them their slopes."""
    above, below = blank_axes(height=420, rows=2)
    x = torch.linspace(-4, 4, 401, requires_grad=True)
    for name, style in line_styles(list(functions)).items():
        y = functions[name](x)
        [slope] = torch.autograd.grad(y.sum(), x)
        above.plot(x.detach(), y.detach(), **style)
        below.plot(x.detach(), slope, **style)
    above.set_ylabel("output")
    below.set(xlabel="input", ylabel="slope")
    above.legend()
    entitle(above, title)
    names = ", ".join(functions)
    return Picture(above.figure, f"Curves from -4 to 4, and their slopes: {names}. {title}.")


@matplotlib_theme()
def position_wise_diagram(tokens: Sequence[str], d_model: int, d_ff: int) -> Picture:
    """Draw the feed-forward network at each position of a sentence.

    Parameters
    ----------
    tokens
        One for each position.
    d_model, d_ff
        Width outside and inside.

    Raises
    ------
    ValueError
        If there are too many tokens to draw side by side, or none.
    """
    if not 1 <= len(tokens) <= MOST_COLUMNS:
        raise ValueError(f"the diagram holds 1 to {MOST_COLUMNS} tokens; got {len(tokens)}.")
    axes = canvas(330, "The same two layers at every position, and no arrow from one to another")
    for column, token in enumerate(tokens):
        x = 150 + column * 410 / max(len(tokens) - 1, 1)
        for y, width in ((40, 46), (160, 80), (280, 46)):
            box(axes, (x, y), (width, 34), colour=SERIES[1] if y == 160 else INK)
        label(axes, (x, 40), token)
        arrow(axes, (x, 58), (x, 141))
        arrow(axes, (x, 178), (x, 261))
    for y, words in (
        (40, f"{d_model} numbers"),
        (100, "expand"),
        (160, f"{d_ff} numbers\nReLU"),
        (220, "contract"),
        (280, f"{d_model} numbers"),
    ):
        label(axes, (20, y), words, align="left")
    return Picture(
        axes.figure,
        f"Diagram: at each of the {len(tokens)} positions a vector of {d_model} numbers becomes "
        f"one of {d_ff} numbers and then one of {d_model} again. No arrow joins two positions.",
    )


def unit_words(frame: pd.DataFrame, title: str = "A hidden unit has favourite words") -> alt.Chart:
    """Draw which words activate a hidden unit most; the reader chooses the unit.

    Parameters
    ----------
    frame
        A row for each unit and word, with the columns ``unit``, ``word`` and ``activation``.
    title
        What to see.

    Raises
    ------
    ValueError
        If a column is missing, or there is no row.
    """
    check_columns(frame, ("unit", "word", "activation"))
    if frame.empty:
        raise ValueError("the table has no rows to draw.")
    units = [int(unit) for unit in frame["unit"].unique()]
    menu = alt.binding_select(options=units, name="hidden unit: ")
    rows = frame.assign(activation=frame["activation"].round(3)).to_dict("records")
    chart = (
        alt.Chart(alt.Data(values=rows), width=WIDTH, height=alt.Step(22))
        .mark_bar(color=SERIES[1])
        .encode(
            x=alt.X("activation:Q", title="mean activation"),
            y=alt.Y("word:N", title="word", sort="-x"),
            tooltip=["word:N", "activation:Q"],
        )
        .add_params(alt.param(name="shown", value=units[0], bind=menu))
        .transform_filter("datum.unit == shown")
    )
    best = frame.loc[frame.groupby("unit", sort=False)["activation"].idxmax()]
    strongest = "; ".join(f"unit {row.unit}: {row.word}" for row in best.itertuples())
    return titled(
        chart, title, f"The words that activate a hidden unit most. Strongest: {strongest}."
    )
