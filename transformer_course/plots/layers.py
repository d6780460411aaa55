"""Pictures of lesson 5: layer norm, the residual stream, and the layers built around it."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import altair as alt
from jaxtyping import Bool, Float, Int
from matplotlib.axes import Axes
from torch import Tensor, eye, int64

from transformer_course.plots.diagram import Point, arrow, box, canvas, label
from transformer_course.plots.renderer import Picture
from transformer_course.plots.theme import (
    CARD,
    COLOURS,
    GRID,
    INK,
    MUTED,
    SERIES,
    SMALL_SIZE,
    blank_axes,
    entitle,
    matplotlib_theme,
    titled,
    without_frame,
)

NORM_COLOUR, SUBLAYER_COLOUR = SERIES[2], SERIES[1]
NORM_SIZE, SUBLAYER_SIZE = (58, 26), (104, 84)
STOREY = 140
"""Pixels from one sub-layer of a diagram to the next above it."""
NORM_HEIGHT = 104
"""Pixels from a sub-layer's foot up to its norm, in post-norm."""
NODE = 22
"""Diameter in pixels of a position in a picture of paths."""
PATHS_WIDTH = 430
"""Pixels that all panels of a picture of paths may take from left to right."""
LARGEST_STEP = 48
SAME, OTHER = "same position", "other position"


@matplotlib_theme()
def normalisation_steps(steps: Mapping[str, Float[Tensor, "d_model"]], title: str) -> Picture:
    """Draw one vector after each step of a computation, bar by bar, on one scale.

    Parameters
    ----------
    steps
        The vector by what has been done to it.
    title
        What to see.
    """
    rows = blank_axes(height=60 + 100 * len(steps), rows=len(steps))
    features = range(len(next(iter(steps.values()))))
    for axes, (name, vector) in zip(rows, steps.items(), strict=True):
        bars = axes.bar(features, vector.tolist(), color=SERIES[1], width=0.6)
        axes.bar_label(bars, fmt="%.2f", padding=2)
        axes.axhline(0, color=MUTED, linewidth=1)
        axes.set(ylabel=name, yticks=[])
        without_frame(axes)
    lowest = min(float(vector.min()) for vector in steps.values())
    highest = max(float(vector.max()) for vector in steps.values())
    room = 0.3 * (highest - lowest)  # for the numbers at the bars' ends
    for axes in rows:
        axes.set_ylim(min(lowest, 0) - room, max(highest, 0) + room)
    rows[-1].set(xlabel="feature", xticks=features)
    entitle(rows[0], title)
    return Picture(
        rows[0].figure, f"{title}. Bars of one vector, one row for each step: {', '.join(steps)}."
    )


@matplotlib_theme()
def norm_orders() -> Picture:
    """Draw one encoder layer in post-norm and in pre-norm, its residual stream a straight line."""
    axes = canvas(370, "Post-norm puts layer norm on the stream, pre-norm beside it")
    post, pre = 62, 358
    for x, name in ((post, "post-norm: norm(x + f(x))"), (pre, "pre-norm: x + f(norm(x))")):
        _stream(axes, x, bottom=340, top=15)
        label(axes, (x - 50, 358), name, align="left", bold=True)
    for foot, name in ((330, "self-\nattention"), (330 - STOREY, "feed-\nforward")):
        _sublayer(axes, (post, foot), name)
        _norm(axes, (post, foot - NORM_HEIGHT))
        _sublayer(axes, (pre, foot), name, through_norm=True)
    _norm(axes, (pre, 48))
    label(axes, (pre + 38, 48), "once, after the last layer", align="left")
    return Picture(
        axes.figure,
        "Two diagrams, read upwards. In both, a straight line, the residual stream, passes "
        "self-attention and feed-forward, which read from it and add to it. In post-norm a layer "
        "norm stands on the line after each addition; in pre-norm each sub-layer reads through a "
        "layer norm of its own, and one final norm follows the last layer.",
    )


@matplotlib_theme()
def encoder_and_decoder_layer() -> Picture:
    """Draw the paper's two layers: their sub-layers, the masks' places and the memory's."""
    axes = canvas(490, "The decoder layer also reads the encoder's memory")
    encoder, decoder = 62, 358
    sublayers = {
        encoder: ("self-\nattention", "feed-\nforward"),
        decoder: ("masked self-\nattention", "cross-\nattention", "feed-\nforward"),
    }
    for x, name in ((encoder, "encoder layer"), (decoder, "decoder layer")):
        _stream(axes, x, bottom=460, top=440 - STOREY * len(sublayers[x]))
        label(axes, (x - 50, 478), name, align="left", bold=True)
        for storey, sublayer in enumerate(sublayers[x]):
            foot = 450 - STOREY * storey
            _sublayer(axes, (x, foot), sublayer)
            _norm(axes, (x, foot - NORM_HEIGHT))
    middle = 450 - SUBLAYER_SIZE[1] / 2
    _enters(axes, (encoder, middle), "source\nmask", COLOURS["mask"])
    _enters(axes, (decoder, middle), "target\nmask", COLOURS["mask"])
    _enters(axes, (decoder, middle - STOREY - 23), "source\nmask", COLOURS["mask"])
    _enters(axes, (decoder, middle - STOREY + 23), "memory", COLOURS["memory"])
    label(axes, (encoder - 50, 122), "to the next encoder layer;", align="left")
    label(axes, (encoder - 50, 137), "what the last one gives is the memory", align="left")
    return Picture(
        axes.figure,
        "Two diagrams, read upwards, each with a straight residual stream. The encoder layer: "
        "self-attention with the source mask, add, norm; feed-forward, add, norm. The decoder "
        "layer: self-attention with the target mask, add, norm; cross-attention, which reads the "
        "memory under the source mask, add, norm; feed-forward, add, norm. What the last encoder "
        "layer gives is the memory.",
    )


def _stream(axes: Axes, x: float, bottom: float, top: float) -> None:
    """Draw a residual stream upwards, behind whatever is drawn on it."""
    axes.plot((x, x), (bottom, top + 8), color=INK, linewidth=3, zorder=0)
    arrow(axes, (x, top + 12), (x, top), colour=INK, width=3)


def _sublayer(axes: Axes, foot: Point, name: str, through_norm: bool = False) -> None:
    """Draw a sub-layer beside the stream: it reads at the foot, and adds what it makes above."""
    (x, y), (width, height) = foot, SUBLAYER_SIZE
    left = x + (118 if through_norm else 50)
    box(axes, (left + width / 2, y - height / 2), SUBLAYER_SIZE, name, SUBLAYER_COLOUR)
    reads, adds = y - 12, y - height + 12
    if through_norm:
        norm_left, norm_right = x + 26, x + 26 + NORM_SIZE[0]
        arrow(axes, (x, reads), (norm_left, reads))
        _norm(axes, ((norm_left + norm_right) / 2, reads))
        arrow(axes, (norm_right, reads), (left, reads))
    else:
        arrow(axes, (x, reads), (left, reads))
    arrow(axes, (left, adds), (x + 9, adds))
    axes.plot(x, adds, "o", markersize=13, color=CARD, markeredgecolor=INK, zorder=3)
    label(axes, (x, adds), "+", size=14)


def _norm(axes: Axes, centre: Point) -> None:
    box(axes, centre, NORM_SIZE, "norm", NORM_COLOUR)


def _enters(axes: Axes, at: Point, name: str, colour: str) -> None:
    """Draw what a sub-layer of the stream at ``x`` gets from the side."""
    right = at[0] + 50 + SUBLAYER_SIZE[0]
    box(axes, (right + 60, at[1]), (70, 38), name, colour)
    arrow(axes, (right + 25, at[1]), (right, at[1]), colour=colour, width=2)


def information_paths(
    carries: Mapping[str, Bool[Tensor, "layer to from_"]],
    tokens: Sequence[str],
    title: str,
) -> alt.FacetChart:
    """Draw how information gets to one output position, layer by layer; the reader chooses it.

    The number in a node counts the paths from there to the chosen output.

    Parameters
    ----------
    carries
        For each stack, by name: for each layer, whether position ``to`` of what it gives depends
        on position ``from_`` of what it gets. All stacks have the same number of layers.
    tokens
        The tokens, one for each position.
    title
        What to see.

    Raises
    ------
    ValueError
        If tokens and matrices do not fit.
    """
    length, layers = len(tokens), len(next(iter(carries.values())))
    for name, stack in carries.items():
        if stack.shape != (layers, length, length):
            raise ValueError(
                f"{name}: {layers} layers and {length} tokens need the shape "
                f"{(layers, length, length)}; got {tuple(stack.shape)}."
            )
    slider = alt.binding_range(min=0, max=length - 1, step=1, name="output position: ")
    records = [
        record for name, stack in carries.items() for record in _nodes_and_edges(name, stack)
    ]
    base = alt.Chart(
        width=min(LARGEST_STEP, PATHS_WIDTH / len(carries) / length) * length, height=75 * layers
    ).encode(
        x=alt.X("position:Q", title="position", axis=_token_axis(tokens), scale=_span(length)),
        y=alt.Y("level:Q", title="after layer", axis=_level_axis(layers), scale=_span(layers + 1)),
    )
    edges = base.transform_filter("isValid(datum.end)").transform_calculate(
        lit="datum.paths[output] > 0",
        kind=f"datum.end == datum.position ? '{SAME}' : '{OTHER}'",
        above="datum.level + 1",
    )
    nodes = base.transform_filter("!isValid(datum.end)").transform_calculate(
        to_output="datum.paths[output]"
    )
    drawing = alt.layer(
        _rules(edges.transform_filter("!datum.lit"), alt.value(GRID)),
        _rules(edges.transform_filter("datum.lit"), _kinds()),
        _discs(nodes),
        nodes.transform_filter("datum.to_output > 0")
        .mark_text(fontSize=SMALL_SIZE)
        .encode(text="to_output:Q"),
        data=alt.Data(values=records),
    ).add_params(alt.param(name="output", value=length // 2, bind=slider))
    heading = alt.Facet("stack:N", title=None, sort=list(carries))
    return titled(
        drawing.facet(heading, columns=len(carries)),
        title,
        f"{title}. Positions across, layers upwards, lines where a layer carries information. A "
        f"slider chooses one of {length} outputs; the paths that lead to it are dark, and each "
        f"node says how many start there. {_paths_in_words(carries)}",
    )


def _nodes_and_edges(name: str, stack: Bool[Tensor, "layer to from_"]) -> Iterator[dict[str, Any]]:
    """Yield a record for each node, and one for each edge up from it, with its paths to outputs."""
    paths = path_counts(stack)
    for level, here in enumerate(paths):
        for position in range(len(here)):
            node = {"stack": name, "level": level, "position": position}
            yield node | {"paths": here[:, position].tolist()}
            if level < len(stack):
                for end in stack[level, :, position].nonzero().flatten().tolist():
                    yield node | {"end": end, "paths": paths[level + 1][:, end].tolist()}


def path_counts(stack: Bool[Tensor, "layer to from_"]) -> list[Int[Tensor, "output from_"]]:
    """Return, for each level from the input up, how many paths lead from a node to an output."""
    counts = [eye(stack.shape[-1], dtype=int64)]
    for layer in reversed(stack):
        counts.insert(0, counts[0] @ layer.long())
    return counts


def _rules(edges: alt.Chart, colour: alt.Color | dict[str, Any]) -> alt.Chart:
    return edges.mark_rule(strokeWidth=1.6).encode(x2="end:Q", y2="above:Q", color=colour)


def _kinds() -> alt.Color:
    scale = alt.Scale(domain=[SAME, OTHER], range=[SERIES[0], SERIES[1]])
    return alt.Color("kind:N", title="comes from", scale=scale)


def _discs(nodes: alt.Chart) -> alt.Chart:
    lit = "datum.to_output > 0"
    return nodes.mark_circle(size=NODE**2, opacity=1, strokeWidth=1.4).encode(
        fill=alt.condition(lit, alt.value(CARD), alt.value(GRID)),
        stroke=alt.condition(lit, alt.value(INK), alt.value(GRID)),
        tooltip=[
            alt.Tooltip("position:Q"),
            alt.Tooltip("level:Q", title="after layer"),
            alt.Tooltip("to_output:Q", title="paths to the chosen output"),
        ],
    )


def _span(count: int) -> alt.Scale:
    return alt.Scale(domain=[-0.5, count - 0.5], nice=False)


def _token_axis(tokens: Sequence[str]) -> alt.Axis:
    return alt.Axis(
        values=list(range(len(tokens))),
        labelExpr=f"{json.dumps(list(tokens))}[datum.value]",
        labelAngle=-45,
        grid=False,
        ticks=False,
    )


def _level_axis(layers: int) -> alt.Axis:
    return alt.Axis(
        values=list(range(layers + 1)),
        labelExpr="datum.value == 0 ? 'input' : datum.value",
        grid=False,
        ticks=False,
    )


def _paths_in_words(carries: Mapping[str, Bool[Tensor, "layer to from_"]]) -> str:
    return " ".join(
        f"{name}: the last output is reached from {int((path_counts(stack)[0][-1] > 0).sum())} "
        f"inputs, the first from {int((path_counts(stack)[0][0] > 0).sum())}."
        for name, stack in carries.items()
    )
