"""Pictures of one's own text."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib.ticker import FuncFormatter, NullLocator

from transformer_course.plots.renderer import Picture
from transformer_course.plots.theme import (
    SERIES,
    blank_axes,
    check_columns,
    entitle,
    line_styles,
    mark_places,
    matplotlib_theme,
)

SHARE = 0.99
"""Share of the sentences that the axis has room for; the few longest would squeeze the others."""


@matplotlib_theme()
def sentence_lengths(
    lengths: Mapping[str, Sequence[int]],
    title: str = "How long the sentences are",
    unit: str = "words",
) -> Picture:
    """Draw how many sentences have how many words, a line for each text.

    Parameters
    ----------
    lengths
        The numbers of words of the sentences of each text, by its name; at most four.
    title
        What to see.
    unit
        What is counted.

    Raises
    ------
    ValueError
        If there is no text, there are too many, or one has no sentences.
    """
    if not lengths:
        raise ValueError("there is no text to draw.")
    for name, numbers in lengths.items():
        if not len(numbers):
            raise ValueError(f"the text {name!r} has no sentences to draw.")
    longest = max(1, *(int(np.quantile(numbers, SHARE)) for numbers in lengths.values()))
    width = max(1, longest // 40)
    edges = np.arange(0, longest + 2 * width, width) - 0.5  # whole numbers lie inside
    [axes] = blank_axes()
    for name, style in line_styles(list(lengths)).items():
        counts, _ = np.histogram(lengths[name], bins=edges)
        axes.stairs(counts / len(lengths[name]), edges, **style)
    steps = f" (steps of {width})" if width > 1 else ""
    axes.set(
        xlabel=f"{unit} in a sentence{steps}",
        ylabel="share of the sentences",
        xlim=(0, longest + width),
    )
    axes.set_ylim(bottom=0)
    axes.legend()
    entitle(axes, title)
    medians = ", ".join(f"{name} {int(np.median(numbers))}" for name, numbers in lengths.items())
    return Picture(
        axes.figure,
        f"{title}. Lines of the share of sentences against their {unit}; half of the sentences "
        f"have at most so many: {medians}.",
    )


@matplotlib_theme()
def bleu_by_pairs(
    runs: Sequence[Mapping[str, float]],
    yours: int,
    title: str = "More text, more BLEU: captions, English into French",
) -> Picture:
    """Draw what BLEU was reached with how much text: a dot for each seed, a line through the means.

    Parameters
    ----------
    runs
        Rows with ``pairs`` and ``bleu``, as of
        :func:`~transformer_course.translation.scores_by_pairs`.
    yours
        Sentence pairs of a text to mark on the axis.
    title
        What to see.

    Raises
    ------
    ValueError
        If a column is missing.
    """
    frame = pd.DataFrame(runs)
    check_columns(frame, ("pairs", "bleu"))
    means = frame.groupby("pairs")["bleu"].mean()
    [axes] = blank_axes()
    axes.plot(means.index, means, color=SERIES[1])
    axes.plot(frame["pairs"], frame["bleu"], "o", color=SERIES[0], markersize=4)
    axes.set(
        xlabel="sentence pairs in training (logarithmic)",
        ylabel="BLEU on the test split (0 to 100)",
        ylim=(0, None),
        xscale="log",
    )
    axes.set_xticks(means.index)
    axes.xaxis.set_major_formatter(FuncFormatter("{:,.0f}".format))
    axes.xaxis.set_minor_locator(NullLocator())
    entitle(axes, title)
    mark_places(axes, {"yours": yours} if yours else {})
    reached = ", ".join(f"{bleu:.0f} with {pairs:,}" for pairs, bleu in means.items())
    marked = f"; marked: your {yours:,} pairs" if yours else ""
    return Picture(
        axes.figure,
        f"{title}. BLEU on the test split against the pairs in training, these on a logarithmic "
        f"axis: {reached}{marked}.",
    )
