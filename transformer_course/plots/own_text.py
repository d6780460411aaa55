"""Pictures of one's own text."""

from collections.abc import Mapping, Sequence

import numpy as np

from transformer_course.plots.renderer import Picture
from transformer_course.plots.theme import (
    blank_axes,
    entitle,
    line_styles,
    matplotlib_theme,
)

SHARE = 0.99
"""Share of the sentences that the axis has room for; the few longest would squeeze the others."""


@matplotlib_theme()
def sentence_lengths(
    lengths: Mapping[str, Sequence[int]], title: str = "How long the sentences are"
) -> Picture:
    """Draw how many sentences have how many words, a line for each text.

    Parameters
    ----------
    lengths
        The numbers of words of the sentences of each text, by its name; at most four.
    title
        What to see.

    Raises
    ------
    ValueError
        If there are too many texts, or one has no sentences.
    """
    for name, numbers in lengths.items():
        if not len(numbers):
            raise ValueError(f"the text {name!r} has no sentences to draw.")
    longest = max(1, *(int(np.quantile(numbers, SHARE)) for numbers in lengths.values()))
    width = max(1, longest // 40)
    edges = np.arange(0, longest + 2 * width, width)
    [axes] = blank_axes()
    for name, style in line_styles(list(lengths)).items():
        counts, _ = np.histogram(np.minimum(lengths[name], edges[-1]), bins=edges)
        axes.step(edges[:-1], counts / len(lengths[name]), where="mid", **style)
    unit = "words in a sentence" + (f" (steps of {width})" if width > 1 else "")
    axes.set(xlabel=unit, ylabel="share of the sentences", xlim=(0, longest + width))
    axes.set_ylim(bottom=0)
    axes.legend()
    entitle(axes, title)
    medians = ", ".join(f"{name} {int(np.median(numbers))}" for name, numbers in lengths.items())
    return Picture(
        axes.figure,
        f"{title}. Lines of the share of sentences against their words; half of the sentences have "
        f"at most so many: {medians}.",
    )
