"""Pictures of decoding step by step: where the sentences of a batch end, and what a cache saves."""

from collections.abc import Callable, Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from transformer_course.plots.renderer import Picture
from transformer_course.plots.theme import (
    CARD,
    FIGURE_WIDTH,
    GRID,
    INK,
    MUTED,
    PIXELS_PER_INCH,
    SERIES,
    SMALL_SIZE,
    blank_axes,
    entitle,
    matplotlib_theme,
    points,
    tinted,
    without_frame,
)

END, PADDING = "<eos>", "<pad>"
MOST_TOKENS = 12
"""Longest row of a batch whose words fit into their cells."""


@matplotlib_theme()
def batch_endings(rows: Sequence[Sequence[str]], title: str) -> Picture:
    """Draw a batch that is being decoded: each sentence ends at a step of its own.

    Parameters
    ----------
    rows
        What was chosen for each sentence, ``<eos>`` where it ends and ``<pad>`` after that; all
        rows of one length.
    title
        What to see.

    Raises
    ------
    ValueError
        If the rows differ in length or are too long to be read.
    """
    lengths = {len(row) for row in rows}
    if len(lengths) != 1 or not 1 <= max(lengths) <= MOST_TOKENS:
        raise ValueError(
            f"all rows need one length, from 1 to {MOST_TOKENS} tokens; got {sorted(lengths)}."
        )
    [steps] = lengths
    [axes] = blank_axes(height=95 + 34 * len(rows))
    for down, row in enumerate(rows):
        for across, word in enumerate(row):
            _cell(axes, (across, down), word)
    axes.set(
        xlim=(-0.5, steps - 0.5),
        ylim=(len(rows) - 0.5, -0.5),
        xticks=range(steps),
        xticklabels=range(1, steps + 1),
        yticks=range(len(rows)),
        yticklabels=range(1, len(rows) + 1),
        xlabel="step",
        ylabel="sentence",
    )
    without_frame(axes)
    entitle(axes, title)
    ends = ", ".join(str(list(row).index(END) + 1) if END in row else "never" for row in rows)
    return Picture(
        axes.figure,
        f"{title}. A grid of {len(rows)} sentences down and {steps} steps across, a word in each "
        f"cell. The sentences end at step: {ends}; behind its end a row holds padding.",
    )


def _cell(axes: Axes, at: tuple[float, float], word: str) -> None:
    colour = {END: SERIES[2], PADDING: GRID}.get(word, SERIES[1])
    face = CARD if word == PADDING else tinted(colour)
    corner = at[0] - 0.47, at[1] - 0.42
    axes.add_patch(Rectangle(corner, 0.94, 0.84, facecolor=face, edgecolor=colour))
    axes.text(
        *at,
        word,
        ha="center",
        va="center",
        fontsize=points(SMALL_SIZE - 1),
        color=MUTED if word == PADDING else INK,
        weight="bold" if word == END else "normal",
    )


@matplotlib_theme()
def cache_grids(
    steps: int = 12, title: str = "A cache computes the diagonal and reads the rest"
) -> Picture:
    """Draw which positions the decoder computes at each step, without a cache and with one.

    Raises
    ------
    ValueError
        If ``steps`` is below 1.
    """
    if steps < 1:
        raise ValueError(f"steps must be at least 1; got {steps}.")
    size = FIGURE_WIDTH / PIXELS_PER_INCH, 3.6
    without, with_cache = Figure(figsize=size).subplots(1, 2)
    _triangle(without, "without a cache", steps, lambda _step, _position: True)
    _triangle(with_cache, "with a cache", steps, lambda step, position: step == position)
    entitle(without, title)
    without.set_title(without.get_title(loc="left"), pad=26)
    return Picture(
        without.figure,
        f"{title}. Two triangles of cells, {steps} steps down and as many positions across. "
        f"Without a cache every cell is computed, {steps * (steps + 1) // 2} in all; with a cache "
        f"only the {steps} on the diagonal, and the dotted others are read.",
    )


def _triangle(axes: Axes, name: str, steps: int, computed: Callable[[int, int], bool]) -> None:
    cells = [(step, position) for step in range(1, steps + 1) for position in range(1, step + 1)]
    for step, position in cells:
        fresh = computed(step, position)
        look = {"facecolor": SERIES[1]} if fresh else {"facecolor": CARD, "hatch": ".."}
        corner = position - 0.45, step - 0.45
        axes.add_patch(Rectangle(corner, 0.9, 0.9, edgecolor=SERIES[1], linewidth=0.6, **look))
    total = sum(computed(*cell) for cell in cells)
    axes.set(
        xlim=(0.4, steps + 0.6),
        ylim=(steps + 0.6, 0.4),
        aspect="equal",
        xlabel=f"position\n{total} computed",
        ylabel="step",
        xticks=range(1, steps + 1),
        yticks=range(1, steps + 1),
    )
    axes.annotate(name, (0, 1), (0, 4), "axes fraction", "offset points")
    without_frame(axes)
