"""The picture of lesson 2 to play with: a query that the reader moves, and what it finds."""

from collections.abc import Sequence

import altair as alt
from jaxtyping import Float
from torch import Tensor

from transformer_course.plots.theme import COLOURS, INK, SMALL_SIZE, distinct, titled

EDGE, STEP = 3.0, 0.25
"""How far a query can go in each direction, and how finely."""
PLANE, SIDE = 260, 200
"""Width in pixels of the plane, and of what follows from it."""
MOST_KEYS = 6
QUERY = ("query.across[0]", "query.up[0]")
"""The two numbers of the query, as Vega expressions."""


def soft_look_up(
    keys: Float[Tensor, "key 2"],
    values: Float[Tensor, "key"],
    names: Sequence[str],
    axes: tuple[str, str] = ("first number", "second number"),
    query: tuple[float, float] = (1.0, 0.0),
    value: str = "value",
    title: str = "Move the query: the keys that fit it get the weight",
) -> alt.HConcatChart:
    """Draw a query among keys in a plane, and the weights and the output that follow.

    The reader drags the query, or sets its two numbers with sliders. Its scores are not divided by
    anything, and no key is masked.

    Parameters
    ----------
    keys, values
        Where each key lies, and the number that it gives; at most six.
    names
        What keys and values belong to.
    axes
        What the two numbers of a key, and of the query, mean.
    query
        Where the query begins.
    value
        What the values are.
    title
        What to see.

    Raises
    ------
    ValueError
        If there is not one value and one name for each key, there are too many keys, or a key or
        the query lies outside the plane.
    """
    if not len(keys) == len(values) == len(names):
        raise ValueError(
            f"each key has one value and one name; got {len(keys)} keys, {len(values)} values and "
            f"{len(names)} names."
        )
    if not 1 <= len(keys) <= MOST_KEYS:
        raise ValueError(f"there is room for 1 to {MOST_KEYS} keys; got {len(keys)}.")
    if not all(abs(place) <= EDGE for place in (*keys.flatten().tolist(), *query)):
        raise ValueError(f"keys and query lie between {-EDGE:g} and {EDGE:g} in each direction.")
    names = distinct(names)
    rows = [
        {"name": name, "across": round(across, 2), "up": round(up, 2), "value": round(number, 2)}
        for name, (across, up), number in zip(names, keys.tolist(), values.tolist(), strict=True)
    ]
    side = alt.vconcat(_weights(rows, names), _output(rows, value), spacing=24)
    chart = alt.hconcat(_plane(rows, axes, query), side, spacing=28)
    places = "; ".join(
        f"{row['name']} at ({row['across']:g}, {row['up']:g}) with {row['value']:g}" for row in rows
    )
    return titled(
        chart,
        title,
        f"Left, a plane with {axes[0]} across and {axes[1]} up, where a query can be moved among "
        f"{len(rows)} keys: {places}. Right, bars: the softmax of the query's dot product with "
        f"each key; below them, the mean of the values with these weights. At the origin all "
        f"weights are equal; the further the query goes towards a key, the larger its weight.",
    )


def _plane(
    rows: list[dict[str, str | float]], axes: tuple[str, str], query: tuple[float, float]
) -> alt.LayerChart:
    scale = alt.Scale(domain=[-EDGE, EDGE], nice=False)
    places = {
        "x": alt.X("across:Q", title=axes[0], scale=scale),
        "y": alt.Y("up:Q", title=axes[1], scale=scale),
    }
    keys = alt.Chart(alt.Data(values=rows), width=PLANE, height=PLANE).encode(**places)
    asking = (
        alt.Chart(alt.Data(values=[{"name": "query"}]))
        .transform_calculate(across=QUERY[0], up=QUERY[1])
        .encode(**places)
    )
    origin = {"x2": alt.datum(0), "y2": alt.datum(0)}
    arrows = []
    # Names above the keys and below the query, which may come to lie on a key.
    for chart, idea, width, below in ((keys, "key", 1.5, -12), (asking, "query", 3, 16)):
        colour = COLOURS[idea]
        arrows += [
            chart.mark_rule(color=colour, strokeWidth=width).encode(**origin),
            chart.mark_point(color=colour, filled=True, size=60 * width, opacity=1),
            chart.mark_text(color=colour, dy=below, fontWeight="bold").encode(text="name:N"),
        ]
    return alt.layer(*arrows, _handle(axes, query).encode(**places))


def _handle(axes: tuple[str, str], query: tuple[float, float]) -> alt.Chart:
    """Return a plane of invisible places, over which the reader drags the query."""
    steps = f"sequence({-EDGE}, {EDGE + STEP}, {STEP})"
    sliders = {
        field: alt.binding_range(min=-EDGE, max=EDGE, step=STEP, name=f"query, {axis}: ")
        for field, axis in zip(("across", "up"), axes, strict=True)
    }
    moved = alt.selection_point(
        name="query",
        fields=["up", "across"],  # their sliders come in reverse order
        value=[{"across": query[0], "up": query[1]}],
        on="pointerdown, [pointerdown, window:pointerup] > pointermove",
        bind=sliders,
        toggle=False,
        clear=False,
    )
    return (
        alt.Chart(alt.Data(values=[{}]), name="plane")
        .transform_calculate(across=steps, up=steps)
        .transform_flatten(["across"])
        .transform_flatten(["up"])
        .mark_square(color="transparent", size=(PLANE * STEP / 2 / EDGE) ** 2, aria=False)
        .add_params(moved)
    )


def _weighed(rows: list[dict[str, str | float]]) -> alt.Chart:
    """Return a chart, still without a mark, with one datum for each key and its weight."""
    return (
        alt.Chart(alt.Data(values=rows), width=SIDE)
        .transform_calculate(score=f"datum.across * {QUERY[0]} + datum.up * {QUERY[1]}")
        .transform_calculate(power="exp(datum.score)")
        .transform_joinaggregate(total="sum(power)")
        .transform_calculate(weight="datum.power / datum.total")
    )


def _weights(rows: list[dict[str, str | float]], names: Sequence[str]) -> alt.LayerChart:
    base = (
        _weighed(rows)
        .properties(height=26 * len(rows))
        .encode(
            x=alt.X("weight:Q", title="weight", scale=alt.Scale(domain=[0, 1])),
            y=alt.Y("name:N", title="key", sort=list(names)),
            tooltip=[
                alt.Tooltip("name:N", title="key"),
                alt.Tooltip("score:Q", format=".2f"),
                alt.Tooltip("weight:Q", format=".3f"),
                alt.Tooltip("value:Q"),
            ],
        )
    )
    # Beside the bars, where no number moves the picture's edge.
    numbers = base.mark_text(align="left", fontSize=SMALL_SIZE).encode(
        x=alt.value(SIDE + 6), text=alt.Text("weight:Q", format=".2f")
    )
    return alt.layer(base.mark_bar(color=COLOURS["key"]), numbers)


def _output(rows: list[dict[str, str | float]], value: str) -> alt.LayerChart:
    numbers = [float(row["value"]) for row in rows]
    margin = 0.1 * (max(numbers) - min(numbers)) or 1
    scale = alt.Scale(domain=[min(numbers) - margin, max(numbers) + margin], nice=False)
    weighed = _weighed(rows).properties(height=44)
    values = weighed.mark_point(color=COLOURS["value"], filled=True, opacity=0.9).encode(
        x=alt.X("value:Q", title=value, scale=scale),
        size=alt.Size("weight:Q", legend=None, scale=alt.Scale(domain=[0, 1], range=[20, 500])),
        tooltip=[
            alt.Tooltip("name:N", title="key"),
            alt.Tooltip("value:Q", title=value),
            alt.Tooltip("weight:Q", format=".3f"),
        ],
    )
    mean = (
        weighed.transform_calculate(part="datum.weight * datum.value")
        .transform_aggregate(output="sum(part)")
        .encode(x=alt.X("output:Q", title=value, scale=scale))
    )
    line = mean.mark_rule(color=INK, strokeWidth=2).encode(
        tooltip=[alt.Tooltip("output:Q", format=".2f")]
    )
    caption = (
        mean.transform_calculate(caption="'output: ' + format(datum.output, '.2f')")
        .mark_text(align="left", y=-10, fontWeight="bold")
        .encode(x=alt.value(0), text="caption:N")
    )
    return alt.layer(values, line, caption)
