"""Pictures of lesson 1: where in the sentence a token stands."""

import math
from typing import Any

import altair as alt
import pandas as pd
from jaxtyping import Float
from matplotlib.ticker import PercentFormatter
from torch import Tensor

from transformer_course.model.positional_encoding import (
    angular_frequencies,
    sinusoidal_encoding,
    wavelengths,
)
from transformer_course.plots.renderer import Picture
from transformer_course.plots.theme import (
    COLOURS,
    DIVERGING,
    MUTED,
    blank_axes,
    check_columns,
    entitle,
    line_styles,
    matplotlib_theme,
    titled,
)

MOST_CLOCKS = 16
DIAL = 1.25
CALM = 0.9
"""Above this cosine a column is of almost one colour."""
"""Where a dial's axes end; hands have length 1."""


@matplotlib_theme()
def encoding_heatmap(length: int = 100, d_model: int = 128) -> Picture:
    """Draw the whole encoding, positions down and dimensions across.

    Raises
    ------
    ValueError
        If ``d_model`` is odd.
    """
    [axes] = blank_axes(height=360)
    encoding = sinusoidal_encoding(length, d_model).numpy()
    # Neighbouring columns differ, so that any blending would show colours that are not there.
    image = axes.imshow(
        encoding,
        cmap=DIVERGING["matplotlib"],
        vmin=-1,
        vmax=1,
        aspect="auto",
        interpolation="nearest",
    )
    axes.grid(visible=False)
    axes.figure.colorbar(image, label="value", ticks=[-1, 0, 1])
    axes.set(xlabel="dimension", ylabel="position (tokens)")
    entitle(axes, "Low dimensions flicker, high dimensions hardly move")
    description = (
        f"Heatmap of the sinusoidal encoding, {length} positions down, {d_model} dimensions "
        f"across. On the left the values change from one position to the next"
    )
    if (encoding[:, -1] > CALM).all():
        description += (
            "; on the right each column is of almost one colour, sine columns near 0, cosine "
            "columns near 1"
        )
    return Picture(axes.figure, f"{description}.")


@matplotlib_theme()
def dot_product_by_offset(d_model: int = 512, max_offset: int = 100) -> Picture:
    """Draw the dot product of two positions' encodings against the distance between them.

    Raises
    ------
    ValueError
        If ``d_model`` is odd.
    """
    [axes] = blank_axes()
    frequencies = angular_frequencies(d_model)
    offsets = range(max_offset + 1)
    products = [float((offset * frequencies).cos().sum()) for offset in offsets]
    axes.plot(offsets, products, color=COLOURS["position"])
    axes.set(xlabel="offset between the two positions (tokens)", ylabel="dot product")
    rise = next((k for k in offsets[1:] if products[k] > products[k - 1]), None)
    if rise is None:
        finding = "The further apart two positions, the smaller their dot product"
    else:
        finding = f"The dot product falls, but rises again at an offset of {rise}"
        axes.plot(rise - 1, products[rise - 1], "o", color=COLOURS["position"])
        axes.annotate(
            f"from {rise - 1} to {rise} it rises",
            (rise - 1, products[rise - 1]),
            xytext=(12, 32),
            textcoords="offset points",
            arrowprops={"arrowstyle": "-", "color": MUTED},
        )
    entitle(axes, finding)
    return Picture(
        axes.figure,
        f"Dot product of two encodings (d_model = {d_model}) against the offset between their "
        f"positions, from {products[0]:.0f} at offset 0. {finding}.",
    )


def clock_hands(d_model: int = 16, length: int = 100, position: int = 10) -> alt.FacetChart:
    """Draw one position as clocks, one for each pair; the reader moves the position.

    The sine is how far to the right a hand's tip is and the cosine how far up, so that hands turn
    clockwise from twelve.

    Parameters
    ----------
    d_model
        Width, even, at most 32, because each pair is a clock.
    length
        Number of positions.
    position
        The position shown first.

    Raises
    ------
    ValueError
        If ``d_model`` is odd or above 32, or there is no such position.
    """
    if d_model > 2 * MOST_CLOCKS:
        raise ValueError(
            f"there is room for {MOST_CLOCKS} clocks; use d_model <= {2 * MOST_CLOCKS}."
        )
    turns = [f"pair {i}: {turn:,.1f}" for i, turn in enumerate(wavelengths(d_model))]
    hands = [
        {"clock": turn, "frequency": frequency, "start": 0}
        for turn, frequency in zip(turns, _digits(angular_frequencies(d_model)), strict=True)
    ]
    clocks = _clock(hands, pixels=112).add_params(_position_slider(position, length))
    heading = alt.Facet("clock:N", title="pair: positions it takes for a full turn", sort=turns)
    return titled(
        clocks.facet(heading, columns=4),
        "Each position sets the clocks in its own way",
        f"One position as {len(turns)} clocks, one for each pair; a hand's tip is at (sine, "
        f"cosine). A slider moves the position from 0 to {length - 1}: the first hand spins, the "
        f"last hardly moves.",
    )


def rotation_of_one_pair(offset: int = 4, pair: int = 2, d_model: int = 16) -> alt.LayerChart:
    """Draw one pair at a position and some positions further; the reader moves the position.

    Parameters
    ----------
    offset
        How much further, in positions.
    pair, d_model
        Which pair, and how wide its encoding is.

    Raises
    ------
    ValueError
        If ``d_model`` is odd or has no such pair.
    """
    _check_pair(pair, d_model)
    [frequency] = _digits(angular_frequencies(d_model)[pair : pair + 1])
    turn = offset * frequency
    names = ["position p", f"position p + {offset}"]
    hands = [
        {"hand": name, "frequency": frequency, "start": start}
        for name, start in zip(names, (0, turn), strict=True)
    ]
    wedge = alt.Chart(alt.Data(values=[{}])).mark_arc(
        radius=50,
        theta=alt.ExprRef(f"position * {frequency}"),
        theta2=alt.ExprRef(f"position * {frequency} + {math.fmod(turn, math.tau)}"),
        color=COLOURS["position"],
        opacity=0.25,
    )
    caption = _caption(
        f"'from position ' + position + ' to ' + (position + {offset}) + "
        f"': turned by {turn:.2f} radians, {math.degrees(turn):.0f}\u00b0'"
    )
    clock = _clock(hands, pixels=280, strokeDash=_strokes("hand:N", *names)).add_params(
        _position_slider(3, 100)
    )
    return titled(
        wedge + clock + caption,
        f"{offset} positions further is the same turn, wherever you start",
        f"Pair {pair} of d_model = {d_model} as two clock hands, at position p and at "
        f"p + {offset}. A slider moves p; the angle between the hands stays {turn:.2f} radians.",
    )


@matplotlib_theme()
def accuracy_by_length(
    frame: pd.DataFrame, trained_length: int, chance: float, title: str
) -> Picture:
    """Draw how accuracy changes on sentences longer than any seen in training.

    Parameters
    ----------
    frame
        Columns ``length`` (tokens), ``accuracy`` (0 to 1) and ``encoding`` (a line's name).
    trained_length
        Longest training sentence, in tokens.
    chance
        Accuracy of a guess, 0 to 1.
    title
        What to see.

    Raises
    ------
    ValueError
        If a column is missing or there are too many encodings to tell apart.
    """
    check_columns(frame, ("length", "accuracy", "encoding"))
    [axes] = blank_axes()
    encodings = list(frame["encoding"].unique())
    for name, style in line_styles(encodings).items():
        rows = frame[frame["encoding"] == name]
        axes.plot(rows["length"], rows["accuracy"], marker="o", **style)
    axes.axvline(trained_length, color=MUTED, linestyle=":", label="longest in training")
    axes.axhline(chance, color=MUTED, linewidth=1, label="chance")
    axes.yaxis.set_major_formatter(PercentFormatter(1))
    axes.set(xlabel="length (tokens)", ylabel="tokens right", ylim=(0, 1.04))
    axes.legend()
    entitle(axes, title)
    return Picture(
        axes.figure,
        f"{title}. Lines of accuracy against length for {', '.join(encodings)}; training ended at "
        f"{trained_length} tokens.",
    )


def _check_pair(pair: int, d_model: int) -> None:
    if pair not in range(d_model // 2):
        raise ValueError(f"d_model={d_model} has pairs 0 to {d_model // 2 - 1}; got pair {pair}.")


def _digits(values: Float[Tensor, "values"]) -> list[float]:
    """Round to what a curve needs, so that the stored chart stays small."""
    return [float(f"{value:.6g}") for value in values]


def _position_slider(position: int, length: int) -> alt.Parameter:
    if position not in range(length):
        raise ValueError(f"there are positions 0 to {length - 1}; got {position}.")
    slider = alt.binding_range(min=0, max=length - 1, step=1, name="position: ")
    return alt.param(name="position", value=position, bind=slider)


def _strokes(field: str, solid: str, dashed: str, title: str | None = None) -> alt.StrokeDash:
    scale = alt.Scale(domain=[solid, dashed], range=[[1, 0], [6, 3]])
    return alt.StrokeDash(field, title=title, scale=scale)


def _caption(expression: str) -> alt.Chart:
    """Write a line above the plot that follows the reader's choice."""
    text = alt.Chart(alt.Data(values=[{}]))
    return text.mark_text(text=alt.ExprRef(expression), align="left", x=0, y=-12)


def _clock(
    hands: list[dict[str, Any]],
    pixels: int,
    **encodings: alt.StrokeDash,
) -> alt.LayerChart:
    """Draw hands (with a ``frequency`` and a ``start`` angle) where ``position`` puts them."""
    angle = "(position * datum.frequency + datum.start)"
    axis = alt.Axis(values=[-1, 0, 1], format="~f", grid=False)
    scale = alt.Scale(domain=[-DIAL, DIAL])
    angles = alt.Chart(alt.Data(values=hands), width=pixels, height=pixels).transform_calculate(
        sine=f"sin{angle}", cosine=f"cos{angle}"
    )
    face = angles.mark_arc(
        radius=pixels / 2 / DIAL, theta=0, theta2=math.tau, filled=False, stroke=MUTED
    )
    tips = angles.encode(
        x=alt.X("sine:Q", title="sine", axis=axis, scale=scale),
        y=alt.Y("cosine:Q", title="cosine", axis=axis, scale=scale),
    )
    rules = tips.mark_rule(color=COLOURS["position"], strokeWidth=3).encode(
        x2=alt.datum(0), y2=alt.datum(0), **encodings
    )
    points = tips.mark_point(filled=True, size=60, color=COLOURS["position"], opacity=1).encode(
        tooltip=[alt.Tooltip("sine:Q", format=".3f"), alt.Tooltip("cosine:Q", format=".3f")]
    )
    return face + rules + points
