"""Pictures of BLEU: the n-grams that it counts, and how it grows with the minutes of training."""

from collections.abc import Mapping, Sequence

import pandas as pd
from matplotlib.patches import Rectangle
from matplotlib.ticker import FuncFormatter, NullLocator

from transformer_course.plots.renderer import Picture
from transformer_course.plots.theme import (
    CARD,
    SERIES,
    blank_axes,
    check_columns,
    entitle,
    line_styles,
    matplotlib_theme,
    without_frame,
)

MOST_WORDS = 14
"""Longest sentence whose n-grams have room for their words."""
MINUTES = (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200)


@matplotlib_theme()
def ngram_matches(
    candidate: Sequence[str],
    reference: Sequence[str],
    max_n: int = 4,
    title: str = "One wrong word spoils n n-grams of n words",
) -> Picture:
    """Draw the n-grams of a candidate, each a bar below its words, filled if the reference has it.

    An n-gram that occurs more often than in the reference is filled as often as it occurs there,
    from the left.

    Parameters
    ----------
    candidate, reference
        The words of two sentences.
    max_n
        Words of the longest n-grams.
    title
        What to see.

    Raises
    ------
    ValueError
        If the candidate is too long to draw, or shorter than the longest n-gram.
    """
    if not max_n <= len(candidate) <= MOST_WORDS:
        raise ValueError(
            f"the candidate must have {max_n} to {MOST_WORDS} words; got {len(candidate)}."
        )
    counts: list[str] = []
    [axes] = blank_axes(height=100 + 30 * sum(max(1, n) for n in range(1, max_n + 1)))
    height, ticks = 0.0, []
    for n in range(1, max_n + 1):
        found = _found(candidate, reference, n)
        ticks.append(height + (n - 1) / 2)
        for start, right in enumerate(found):
            look = {"facecolor": SERIES[1]} if right else {"facecolor": CARD, "hatch": "////"}
            # The n-grams of n words overlap: they take turns on n lines.
            corner = start + 0.08, height + start % n - 0.32
            bar = Rectangle(corner, n - 0.16, 0.64, edgecolor=SERIES[1], linewidth=0.8, **look)
            axes.add_patch(bar)
        height += n + 0.5
        counts.append(f"{sum(found)} of {len(found)}")
    axes.set(
        xlim=(0, len(candidate)),
        ylim=(height - 0.7, -0.8),
        xlabel="words of the candidate",
        ylabel="n-grams that the reference has",
        yticks=ticks,
    )
    axes.set_yticklabels([f"n = {n}\n{count}" for n, count in enumerate(counts, start=1)])
    axes.set_xticks([place + 0.5 for place in range(len(candidate))], candidate)
    axes.xaxis.set_ticks_position("top")
    axes.xaxis.set_label_position("top")
    without_frame(axes)
    axes.set_title(title, pad=14)
    named = ", ".join(f"n = {n} {count}" for n, count in enumerate(counts, start=1))
    return Picture(
        axes.figure,
        f"{title}. The candidate: {' '.join(candidate)}. Below it a bar for each n-gram, filled "
        f"where the reference has it: {named}.",
    )


def _found(candidate: Sequence[str], reference: Sequence[str], n: int) -> list[bool]:
    """Say of each n-gram of the candidate whether the reference has one left for it."""
    left = [tuple(reference[start : start + n]) for start in range(len(reference) - n + 1)]
    found = []
    for start in range(len(candidate) - n + 1):
        ngram = tuple(candidate[start : start + n])
        found.append(ngram in left)
        if found[-1]:
            left.remove(ngram)
    return found


@matplotlib_theme()
def bleu_by_minutes(
    curves: Mapping[str, Sequence[Mapping[str, float]]],
    title: str = "BLEU on the dev split, minute by minute",
) -> Picture:
    """Draw how BLEU on the dev split grows with the minutes of training.

    Parameters
    ----------
    curves
        Rows with ``minutes`` and ``dev_bleu``, by the name of the run; at most four.
    title
        What to see.

    Raises
    ------
    ValueError
        If there are too many runs, or a column is missing.
    """
    [axes] = blank_axes()
    ends = []
    for name, style in line_styles(list(curves)).items():
        frame = pd.DataFrame(curves[name])
        check_columns(frame, ("minutes", "dev_bleu"))
        axes.plot(frame["minutes"], frame["dev_bleu"], marker=".", **style)
        ends.append(f"{name} {frame['dev_bleu'].iloc[-1]:.1f}")
    axes.set(
        xlabel="minutes of training (logarithmic)",
        ylabel="BLEU on dev, greedy (0 to 100)",
        ylim=(0, None),
        xscale="log",
    )
    low, high = axes.get_xlim()
    axes.set_xticks([minutes for minutes in MINUTES if low <= minutes <= high])
    axes.xaxis.set_major_formatter(FuncFormatter("{:g}".format))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.legend(loc="lower right")
    entitle(axes, title)
    return Picture(
        axes.figure,
        f"{title}. Lines of BLEU on the dev split against minutes of training, these on a "
        f"logarithmic axis; at the end: {', '.join(ends)}.",
    )
