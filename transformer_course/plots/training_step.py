"""Pictures of what a training step computes: a batch with its padding, and where the time goes."""

from collections.abc import Mapping, Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.ticker import PercentFormatter

from transformer_course.plots.renderer import Picture
from transformer_course.plots.theme import (
    CARD,
    FIGURE_WIDTH,
    MUTED,
    PIXELS_PER_INCH,
    SERIES,
    SMALL_SIZE,
    blank_axes,
    entitle,
    matplotlib_theme,
    points,
    without_frame,
)

MOST_PANELS = 4
GAP = 2
"""Columns between the source and the target of a batch."""


@matplotlib_theme()
def batch_rectangles(
    batches: Mapping[str, Sequence[tuple[int, int]]],
    title: str = "What the model computes: tokens in colour, padding hatched",
) -> Picture:
    """Draw one batch for each way to form batches, every sentence pair a row.

    Parameters
    ----------
    batches
        The lengths (source, target) of a batch's pairs, in tokens, by the name of the way; at
        most four.
    title
        What to see.

    Raises
    ------
    ValueError
        If there is no batch, there are too many, or one is empty.
    """
    if not 1 <= len(batches) <= MOST_PANELS or not all(batches.values()):
        raise ValueError(
            f"a picture holds 1 to {MOST_PANELS} batches with a pair or more each; got "
            f"{ {name: len(pairs) for name, pairs in batches.items()} }."
        )
    figure = Figure(figsize=(FIGURE_WIDTH / PIXELS_PER_INCH, 3.6))
    # One token is as wide in all panels, so that areas can be compared.
    widths = [sum(_longest(pairs)) + GAP for pairs in batches.values()]
    panels = list(figure.subplots(1, len(batches), squeeze=False, width_ratios=widths)[0])
    most = max(map(len, batches.values()))
    for axes, width, (name, pairs) in zip(panels, widths, batches.items(), strict=True):
        _draw_batch(axes, pairs)
        axes.set(
            xlim=(-0.2, width + 0.2),
            ylim=(most + 0.1, -0.1),
            xlabel=f"{name}\n{_wasted(pairs):.0%} padding",
            xticks=[],
            yticks=[],
            ylabel="sentence pairs, one in each row" if axes is panels[0] else " ",
        )
        without_frame(axes)
    entitle(panels[0], title)
    panels[0].set_title(panels[0].get_title(loc="left"), pad=26)
    shares = ", ".join(f"{name} {_wasted(pairs):.0%}" for name, pairs in batches.items())
    return Picture(
        panels[0].figure,
        f"{title}. One batch each, a row for each sentence pair, source on the left and target on "
        f"the right. Share of padding: {shares}.",
    )


def _longest(pairs: Sequence[tuple[int, int]]) -> tuple[int, int]:
    return max(source for source, _ in pairs), max(target for _, target in pairs)


def _wasted(pairs: Sequence[tuple[int, int]]) -> float:
    return 1 - sum(map(sum, pairs)) / (len(pairs) * sum(_longest(pairs)))


def _draw_batch(axes: Axes, pairs: Sequence[tuple[int, int]]) -> None:
    longest = _longest(pairs)
    begins, colours = (0, longest[0] + GAP), (SERIES[1], SERIES[0])
    for name, begin, width, colour in zip(
        ("source", "target"), begins, longest, colours, strict=True
    ):
        padding = Rectangle((begin, 0), width, len(pairs), linewidth=0.6, hatch="....")
        padding.set(facecolor=CARD, edgecolor=MUTED)
        axes.add_patch(padding)
        axes.annotate(
            name,
            (begin, 0),
            (0, 4),
            textcoords="offset points",
            color=colour,
            size=points(SMALL_SIZE),
        )
    for row, lengths in enumerate(pairs):
        for begin, length, colour in zip(begins, lengths, colours, strict=True):
            axes.add_patch(Rectangle((begin, row), length, 1, facecolor=colour, linewidth=0))


@matplotlib_theme()
def step_profile(
    shares: Mapping[str, float],
    title: str = "Where the time of a training step goes",
) -> Picture:
    """Draw which share of a training step's time each kind of work takes.

    Parameters
    ----------
    shares
        A kind of work and its share of the time, 0 to 1.
    title
        What to see.

    Raises
    ------
    ValueError
        If the shares do not add up to 1.
    """
    if abs(sum(shares.values()) - 1) > 0.01:
        raise ValueError(f"shares must add up to 1; got {sum(shares.values()):.3f}.")
    [axes] = blank_axes(height=110 + 32 * len(shares))
    bars = axes.barh(list(shares), list(shares.values()), color=SERIES[1], height=0.6)
    axes.bar_label(bars, fmt="{:.0%}", padding=4)
    axes.invert_yaxis()
    axes.grid(visible=False, axis="y")
    axes.xaxis.set_major_formatter(PercentFormatter(1))
    axes.margins(x=0.12)
    axes.set(xlabel="share of the step's time", ylabel="kind of work")
    entitle(axes, title)
    named = ", ".join(f"{name} {share:.0%}" for name, share in shares.items())
    return Picture(axes.figure, f"{title}. Bars: {named}.")
