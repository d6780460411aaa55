"""Pictures of text cut into pieces, and of what the size of a vocabulary costs."""

from collections.abc import Mapping, Sequence

import pandas as pd
from matplotlib.patches import Rectangle

from transformer_course.plots.renderer import Picture
from transformer_course.plots.theme import (
    INK,
    MUTED,
    SERIES,
    SMALL_SIZE,
    blank_axes,
    check_columns,
    entitle,
    matplotlib_theme,
    points,
    tinted,
    without_frame,
)

WORD_MARK = "▁"
"""What sentencepiece writes in front of the first piece of a word."""
MOST_CHARACTERS = 60
"""Longest sentence whose pieces keep legible letters."""


@matplotlib_theme()
def subword_cuts(
    cuts: Mapping[str, Sequence[str]],
    title: str = "The larger the vocabulary, the fewer the pieces",
) -> Picture:
    """Draw one sentence, cut into pieces in several ways.

    Parameters
    ----------
    cuts
        The pieces of the sentence, by the name of the vocabulary; ``▁`` marks the beginning of a
        word.
    title
        What to see.

    Raises
    ------
    ValueError
        If the cuts are not of the same sentence, or it is too long to draw.
    """
    sentences = {"".join(pieces) for pieces in cuts.values()}
    if len(sentences) != 1:
        raise ValueError(f"all cuts must be of one sentence; got {len(sentences)} sentences.")
    characters = len(sentences.pop())
    if characters > MOST_CHARACTERS:
        raise ValueError(
            f"a picture holds at most {MOST_CHARACTERS} characters; got {characters}. Cut a "
            f"shorter sentence."
        )
    [axes] = blank_axes(height=100 + 44 * len(cuts))
    for row, pieces in enumerate(cuts.values()):
        start = 0
        for number, piece in enumerate(pieces):
            colour = SERIES[number % 2]
            box = Rectangle((start + 0.07, row - 0.34), len(piece) - 0.14, 0.68, linewidth=0.7)
            box.set(facecolor=tinted(colour), edgecolor=colour)
            axes.add_patch(box)
            for place, letter in enumerate(piece):
                # One letter in a column, so that equal letters are below each other.
                axes.text(
                    start + place + 0.5,
                    row,
                    letter,
                    color=MUTED if letter == WORD_MARK else INK,
                    size=points(SMALL_SIZE - 1),
                    ha="center",
                    va="center",
                )
            start += len(piece)
    axes.set(
        xlim=(0, characters),
        ylim=(len(cuts) - 0.4, -0.6),
        xlabel=f"characters ({WORD_MARK} marks the beginning of a word)",
        ylabel="vocabulary",
        yticks=range(len(cuts)),
    )
    axes.set_yticklabels([f"{name}\n{len(pieces)} tokens" for name, pieces in cuts.items()])
    axes.set_xticks([])
    without_frame(axes)
    entitle(axes, title)
    counts = ", ".join(f"{name} {len(pieces)} tokens" for name, pieces in cuts.items())
    return Picture(axes.figure, f"{title}. The same sentence in rows of boxes: {counts}.")


@matplotlib_theme()
def vocabulary_tradeoff(
    frame: pd.DataFrame,
    words: float | None = None,
    title: str = "More pieces: shorter sentences, but a larger table",
) -> Picture:
    """Draw what the size of the vocabulary costs and saves.

    Parameters
    ----------
    frame
        One row for each vocabulary: columns ``pieces``, ``tokens`` (mean per sentence) and
        ``parameters`` (of the embedding table).
    words
        Mean number of words per sentence, drawn as a dotted line.
    title
        What to see.

    Raises
    ------
    ValueError
        If a column is missing.
    """
    check_columns(frame, ("pieces", "tokens", "parameters"))
    above, below = blank_axes(height=420, rows=2)
    above.plot(frame["pieces"], frame["tokens"], marker="o", color=SERIES[1])
    if words is not None:
        above.axhline(words, color=MUTED, linestyle=":")
        above.annotate(
            "whole words",
            (0, words),
            (6, -12),
            ("axes fraction", "data"),
            "offset points",
            color=MUTED,
            size=points(SMALL_SIZE),
        )
    above.set(ylabel="tokens per sentence (mean)", ylim=(0, None))
    below.plot(frame["pieces"], frame["parameters"] / 1e6, marker="o", color=SERIES[2])
    below.set(ylabel="embedding table\n(million parameters)", ylim=(0, None), xscale="log")
    below.set(xlabel="pieces in the vocabulary (logarithmic)")
    below.set_xticks(frame["pieces"], [f"{pieces:,}" for pieces in frame["pieces"]])
    below.minorticks_off()
    above.figure.align_ylabels()
    entitle(above, title)
    least, most = frame.loc[frame["pieces"].idxmin()], frame.loc[frame["pieces"].idxmax()]
    return Picture(
        above.figure,
        f"{title}. Two lines against the number of pieces, from {least['pieces']:,.0f} to "
        f"{most['pieces']:,.0f}: tokens per sentence fall from {least['tokens']:.1f} to "
        f"{most['tokens']:.1f}, the embedding table grows from "
        f"{least['parameters'] / 1e6:.2f} to {most['parameters'] / 1e6:.2f} million parameters.",
    )
