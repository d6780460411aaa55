"""The picture of lesson 2 about the scale of the scores: what the softmax makes of them."""

import math
from collections.abc import Sequence

import altair as alt
from jaxtyping import Float
from torch import Tensor

from transformer_course.plots.theme import SERIES, WIDTH, distinct, finite, titled

FIRST_EXPONENT, LAST_EXPONENT = -2, 6
"""The slider goes from 2 ** -2 to 2 ** 6."""
STEP = 0.25
"""Of the slider, in powers of two."""
MOST_WIDTH = 4**LAST_EXPONENT
"""Largest d_k whose root the slider reaches."""


def softmax_temperature(
    scores: Float[Tensor, "key"],
    keys: Sequence[str],
    d_k: int,
    title: str = "The scale of the scores decides how sharp the weights are",
) -> alt.VConcatChart:
    """Draw the softmax of scores that the reader divides by more or less.

    Above are the weights; below is, against the divisor, the size of the softmax's Jacobian, which
    is what a gradient has to pass through.

    Parameters
    ----------
    scores
        Dot products of one query with each key, not divided by anything.
    keys
        A name for each key.
    d_k
        Width of query and keys; its root is marked, and shown first.
    title
        What to see.

    Raises
    ------
    ValueError
        If there is not one name for each score, or d_k is too large for the slider.
    """
    if len(scores) != len(keys):
        raise ValueError(f"each score has one key; got {len(scores)} scores, {len(keys)} keys.")
    if not 1 <= d_k <= MOST_WIDTH:
        raise ValueError(f"the slider takes d_k from 1 to {MOST_WIDTH}; got {d_k}.")
    slider = alt.binding_range(
        min=FIRST_EXPONENT, max=LAST_EXPONENT, step=STEP, name="divide by 2 to the power of: "
    )
    chart = alt.vconcat(_weights(scores, keys), _jacobian(scores, d_k)).add_params(
        alt.param(name="exponent", value=math.log2(d_k) / 2, bind=slider)
    )
    return titled(
        chart,
        title,
        f"Above, bars: the softmax of {len(keys)} scores, divided by a number that a slider sets. "
        f"Below, a curve: the size of the softmax's Jacobian against that number, with a dotted "
        f"line at the root of d_k = {d_k}. Divided by little, one bar takes everything and the "
        f"Jacobian is near 0; divided by much, all bars are alike.",
    )


def _weights(scores: Float[Tensor, "key"], keys: Sequence[str]) -> alt.LayerChart:
    keys = distinct(keys)
    rows = [
        {"key": key, "score": round(score, 2)}
        for key, score in zip(keys, finite(scores).tolist(), strict=True)
    ]
    bars = (
        _softmax(alt.Chart(alt.Data(values=rows), width=WIDTH, height=150), "pow(2, exponent)")
        .mark_bar(color=SERIES[1])
        .encode(
            x=alt.X("key:N", title="key", sort=keys, axis=alt.Axis(labelAngle=0)),
            y=alt.Y("weight:Q", title="weight", scale=alt.Scale(domain=[0, 1])),
            tooltip=[
                "key:N",
                "score:Q",
                alt.Tooltip("weight:Q", format=".3f"),
            ],
        )
    )
    caption = alt.Chart(alt.Data(values=[{}])).mark_text(
        text=alt.ExprRef("'scores divided by ' + format(pow(2, exponent), '.3~r')"),
        align="left",
        x=0,
        y=-10,
    )
    return alt.layer(bars, caption)


def _jacobian(scores: Float[Tensor, "key"], d_k: int) -> alt.LayerChart:
    axis = alt.X(
        "divisor:Q",
        title="number that the scores are divided by",
        scale=alt.Scale(type="log", base=2, nice=False),
        axis=alt.Axis(format="~r"),
    )
    size = alt.Y("size:Q", title="size of the Jacobian")
    tooltip = [alt.Tooltip(f"{name}:Q", format=".3~g") for name in ("divisor", "size")]
    curve = _sizes(scores, f"sequence({FIRST_EXPONENT}, {LAST_EXPONENT + STEP}, {STEP})")
    here = _sizes(scores, "[exponent]")
    root = alt.Chart(alt.Data(values=[{"divisor": math.sqrt(d_k)}]))
    return alt.layer(
        root.mark_rule(strokeDash=[2, 3]).encode(x=axis),
        root.mark_text(text=f"\u221ad_k = {math.sqrt(d_k):.3g}", align="left", dx=5, y=8).encode(
            x=axis
        ),
        curve.mark_line(color=SERIES[0]).encode(x=axis, y=size),
        here.mark_point(color=SERIES[0], filled=True, size=90, opacity=1).encode(
            x=axis, y=size, tooltip=tooltip
        ),
    ).properties(height=130)


def _softmax(chart: alt.Chart, divisor: str, *by: str) -> alt.Chart:
    """Turn each ``score`` into a ``weight``, among those that agree in the fields ``by``."""
    return (
        chart.transform_joinaggregate(largest="max(score)", groupby=list(by))
        .transform_calculate(power=f"exp((datum.score - datum.largest) / {divisor})")
        .transform_joinaggregate(total="sum(power)", groupby=list(by))
        .transform_calculate(weight="datum.power / datum.total")
    )


def _sizes(scores: Float[Tensor, "key"], exponents: str) -> alt.Chart:
    """Return one datum for each exponent: the divisor and the Jacobian's Frobenius norm.

    The Jacobian is diag(w) - w w^T, so its squared norm is S2 - 2 S3 + S2^2, where Sk is the sum
    of w^k.
    """
    records = [{"score": round(score, 2)} for score in finite(scores).tolist()]
    points = (
        alt.Chart(alt.Data(values=records))
        .transform_calculate(exponent=exponents)
        .transform_flatten(["exponent"])
        .transform_calculate(divisor="pow(2, datum.exponent)")
    )
    return (
        _softmax(points, "datum.divisor", "divisor")
        .transform_calculate(square="pow(datum.weight, 2)", cube="pow(datum.weight, 3)")
        .transform_aggregate(squares="sum(square)", cubes="sum(cube)", groupby=["divisor"])
        .transform_calculate(
            size="sqrt(max(0, datum.squares - 2 * datum.cubes + pow(datum.squares, 2)))"
        )
    )
