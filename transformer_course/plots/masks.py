"""The picture of lesson 2 about masks: which pairs they leave, and which weights follow."""

from collections.abc import Sequence

import altair as alt
from jaxtyping import Float
from torch import Tensor

from transformer_course.plots.theme import (
    CARD,
    COLOURS,
    INK,
    SEQUENTIAL,
    SMALL_SIZE,
    finite,
    titled,
)
from transformer_course.plots.token_grid import check_tokens

CELL = 34
MOST_TOKENS = 7
"""Longest sentence for which two panels fit side by side."""
MASKS = {
    "padding": "datum.key < real",
    "causal": "datum.key <= datum.query",
    "both": "datum.padding && datum.causal",
}
"""Which cells a mask leaves open, as Vega expressions."""


def mask_viewer(
    scores: Float[Tensor, "query key"],
    tokens: Sequence[str],
    real: int,
    title: str = "Only pairs that both masks allow get a weight",
) -> alt.VConcatChart:
    """Draw a padding mask, a causal mask, both together, and the weights that they leave.

    The reader sets with a slider how many tokens are real; the others are padding.

    Parameters
    ----------
    scores
        Scaled scores of each query with each key.
    tokens
        The tokens, at most seven.
    real
        How many tokens are real at first.
    title
        What to see.

    Raises
    ------
    ValueError
        If scores and tokens do not fit, or there are too many or too few tokens.
    """
    check_tokens("mask_viewer", scores.shape, tokens, tokens)
    if len(tokens) > MOST_TOKENS:
        raise ValueError(f"there is room for {MOST_TOKENS} tokens; got {len(tokens)}.")
    if real not in range(len(tokens) + 1):
        raise ValueError(f"of {len(tokens)} tokens 0 to {len(tokens)} are real; got {real}.")
    cells = _cells(scores, tokens)
    slider = alt.binding_range(min=0, max=len(tokens), step=1, name="real tokens: ")
    panels = [
        _mask(cells, "padding", "padding mask"),
        _mask(cells, "causal", "causal mask"),
        _mask(cells, "both", "both: padding AND causal"),
        _weights(cells),
    ]
    chart = alt.vconcat(alt.hconcat(*panels[:2]), alt.hconcat(*panels[2:])).add_params(
        alt.param(name="real", value=real, bind=slider),
        alt.param(name="tokens", value=list(tokens)),
    )
    return titled(
        chart,
        title,
        f"Four grids with {len(tokens)} queries down and as many keys across: the padding mask, "
        f"which blocks the columns of the padding; the causal mask, which blocks what is above the "
        f"diagonal; both together; and the weights. A slider sets how many tokens are real. Each "
        f"row of weights is spread over its open cells; with no real token all weights are 0.",
    )


def _cells(scores: Float[Tensor, "query key"], tokens: Sequence[str]) -> alt.Chart:
    """Return a chart with one datum per cell that knows every mask and the weight."""
    count = len(tokens)
    values = [round(score, 2) for score in finite(scores).flatten().tolist()]
    name = "datum.{0} < real ? tokens[datum.{0}] : '<pad>'"
    return (
        alt.Chart(alt.Data(values=[{"score": values}]), width=CELL * count, height=CELL * count)
        .transform_calculate(cell=f"sequence({count * count})")
        .transform_flatten(["score", "cell"])
        .transform_calculate(query=f"floor(datum.cell / {count})", key=f"datum.cell % {count}")
        .transform_calculate(query_token=name.format("query"), key_token=name.format("key"))
        .transform_calculate(padding=MASKS["padding"], causal=MASKS["causal"])
        .transform_calculate(both=MASKS["both"])
        # Without the largest one, e to the power of a large score would be infinite.
        .transform_calculate(open="datum.both ? datum.score : null")
        .transform_joinaggregate(largest="max(open)", groupby=["query"])
        .transform_calculate(power="datum.both ? exp(datum.score - datum.largest) : 0")
        .transform_joinaggregate(total="sum(power)", groupby=["query"])
        # A row without any key gets zeros, as in the course's attention.
        .transform_calculate(weight="datum.total > 0 ? datum.power / datum.total : 0")
        .encode(
            x=alt.X("key:O", title="key", axis=_axis("key", "top")),
            y=alt.Y("query:O", title="query", axis=_axis("query", "left")),
            tooltip=[
                alt.Tooltip("query_token:N", title="query"),
                alt.Tooltip("key_token:N", title="key"),
                *(alt.Tooltip(f"{mask}:N", title=f"{mask} allows") for mask in MASKS),
                alt.Tooltip("weight:Q", format=".2f"),
            ],
        )
    )


def _mask(cells: alt.Chart, mask: str, heading: str) -> alt.LayerChart:
    allowed = f"datum.{mask}"
    squares = cells.mark_rect(stroke=INK, strokeWidth=0.5).encode(
        color=alt.condition(allowed, alt.value(CARD), alt.value(COLOURS["mask"]))
    )
    crosses = cells.transform_filter(f"!{allowed}").mark_text(
        text="\u00d7", color=CARD, fontSize=18
    )
    return alt.layer(squares, crosses).properties(title=_heading(heading))


def _weights(cells: alt.Chart) -> alt.LayerChart:
    squares = cells.mark_rect().encode(
        color=alt.Color("weight:Q", legend=None, scale=alt.Scale(scheme=SEQUENTIAL, domain=[0, 1]))
    )
    numbers = cells.mark_text(fontSize=SMALL_SIZE).encode(
        text=alt.Text("weight:Q", format=".2f"),
        color=alt.condition("datum.weight < 0.5", alt.value(CARD), alt.value(INK)),
    )
    return alt.layer(squares, numbers).properties(title=_heading("weights"))


def _heading(text: str) -> alt.TitleParams:
    return alt.TitleParams(text, fontWeight="normal", fontSize=13, offset=4)


def _axis(name: str, side: str) -> alt.Axis:
    return alt.Axis(
        orient=side,
        labelExpr="datum.value < real ? tokens[datum.value] : '<pad>'",
        labelAngle=-45 if side == "top" else 0,
        labelOverlap=False,
        ticks=False,
        domainColor=COLOURS[name],
        domainWidth=4,
        grid=False,
    )
