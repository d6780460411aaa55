"""Pictures of lesson 9: text cut into pieces, batches, a training step, BLEU, and failures."""

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.ticker import FuncFormatter, NullLocator, PercentFormatter

from transformer_course.plots.renderer import Picture
from transformer_course.plots.theme import (
    CARD,
    FIGURE_WIDTH,
    INK,
    MUTED,
    PIXELS_PER_INCH,
    SERIES,
    SMALL_SIZE,
    blank_axes,
    check_columns,
    entitle,
    line_styles,
    matplotlib_theme,
    points,
    tinted,
    titled,
    without_frame,
)
from transformer_course.plots.training import History, losses_and_quality

WORD_MARK = "▁"
"""What sentencepiece writes in front of the first piece of a word."""
MOST_CHARACTERS = 60
"""Longest sentence whose pieces keep legible letters."""
MOST_WORDS = 14
"""Longest sentence whose n-grams have room for their words."""
MOST_PANELS = 4
GAP = 2
"""Columns between the source and the target of a batch."""
MINUTES = (0.5, 1, 2, 5, 10, 20, 50, 100)
TEXT_LENGTH = 120
"""Characters of a translation that a pointer shows."""
MOST_SENTENCES = 400
"""As many points can be told apart, and the chart stays below 150 kB."""
SHORTENED = 0.8
"""A translation with a smaller share of the reference's words has left something out."""
KINDS = {
    "all sentences": "true",
    "with a word that training never showed": "datum.unseen > 0",
    "with a rare word": "datum.rare > 0",
    "with an unknown piece": "datum.unknown > 0",
    "that repeat themselves": "datum.repeats",
    f"shorter than {SHORTENED:.0%} of the reference": f"datum.ratio < {SHORTENED}",
}
"""What a reader can pick out of a failure table, with the condition in the language of Vega."""
FAILURE_COLUMNS = {
    "chrf": "chrf",
    "words": "source_words",
    "ratio": "length_ratio",
    "unseen": "unseen_words",
    "rare": "rare_words",
    "unknown": "unknown_pieces",
}
"""Numbers of a point, and the columns of the failure table that they come from."""
PALE = "#C9CED3"
"""For points that the reader did not pick."""


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
                # One letter in a column, so that equal letters stand below each other.
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
    least, most = frame.iloc[0], frame.iloc[-1]
    return Picture(
        above.figure,
        f"{title}. Two lines against the number of pieces, from {least['pieces']:,.0f} to "
        f"{most['pieces']:,.0f}: tokens per sentence fall from {least['tokens']:.1f} to "
        f"{most['tokens']:.1f}, the embedding table grows from "
        f"{least['parameters'] / 1e6:.2f} to {most['parameters'] / 1e6:.2f} million parameters.",
    )


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
        If there are too many batches, or one is empty.
    """
    if len(batches) > MOST_PANELS or not all(batches.values()):
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


@matplotlib_theme()
def loss_and_bleu(
    history: History, title: str = "The loss falls, and the translations improve"
) -> Picture:
    """Draw a training run on real text: the losses above, BLEU on the dev split below.

    Parameters
    ----------
    history
        Rows with ``step``, ``train_loss``, ``dev_loss`` and ``dev_bleu``, as in
        ``Trainer.history``.
    title
        What to see.

    Raises
    ------
    ValueError
        If a column is missing.
    """
    losses = {"training (smoothed)": "train_loss", "dev": "dev_loss"}
    above, below = losses_and_quality(history, losses, "dev_bleu")
    below.set(ylabel="BLEU on dev (0 to 100)", ylim=(0, None))
    entitle(above, title)
    return Picture(
        above.figure,
        f"{title}. Against the training step: above, the loss on the training and the dev "
        f"sentences; below, BLEU on the dev sentences.",
    )


@matplotlib_theme()
def ngram_matches(
    candidate: Sequence[str],
    reference: Sequence[str],
    max_n: int = 4,
    title: str = "One wrong word spoils n n-grams of n words",
) -> Picture:
    """Draw the n-grams of a candidate, each a bar below its words, filled if the reference has it.

    An n-gram that comes more often than in the reference is filled as often as it stands there,
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
    title: str = "The first half of the BLEU comes in the first minutes",
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


@matplotlib_theme()
def scores_by_bin(
    summaries: Mapping[str, pd.DataFrame],
    title: str = "The score by length and by rare words",
) -> Picture:
    """Draw the mean score of the sentences in each bin, one panel for each way to sort them.

    Parameters
    ----------
    summaries
        Tables of :func:`~transformer_course.translation.summary_by`, by what the
        sentences are sorted by, such as ``"source words"``; at most four.
    title
        What to see.

    Raises
    ------
    ValueError
        If there are too many summaries, or a column is missing.
    """
    if not 1 <= len(summaries) <= MOST_PANELS:
        raise ValueError(f"a picture holds 1 to {MOST_PANELS} summaries; got {len(summaries)}.")
    bins = sum(map(len, summaries.values()))
    size = FIGURE_WIDTH / PIXELS_PER_INCH, (90 + 34 * bins + 46 * len(summaries)) / PIXELS_PER_INCH
    ratios = [len(summary) + 0.8 for summary in summaries.values()]
    figure = Figure(figsize=size)
    panels = list(
        figure.subplots(len(summaries), sharex=True, squeeze=False, height_ratios=ratios)[:, 0]
    )
    for axes, (name, summary) in zip(panels, summaries.items(), strict=True):
        check_columns(summary, ("sentences", "chrf"))
        bars = axes.barh(
            [str(label) for label in summary.index], summary["chrf"], color=SERIES[1], height=0.6
        )
        labels = [
            f"{chrf:.0f}   ({sentences:,} sentences)"
            for chrf, sentences in zip(summary["chrf"], summary["sentences"], strict=True)
        ]
        axes.bar_label(bars, labels, padding=4, size=points(SMALL_SIZE))
        axes.invert_yaxis()
        axes.grid(visible=False, axis="y")
        axes.set(ylabel=name)
    panels[-1].set(xlabel="chrF, mean of the sentences (0 to 100)", xlim=(0, 130))
    panels[-1].set_xticks(range(0, 101, 20))
    figure.align_ylabels()
    entitle(panels[0], title)
    parts = "; ".join(
        f"by {name}: " + ", ".join(f"{label} {row.chrf:.0f}" for label, row in summary.iterrows())
        for name, summary in summaries.items()
    )
    return Picture(figure, f"{title}. Bars of the mean chrF of the sentences, {parts}.")


def failure_chart(
    table: pd.DataFrame, title: str = "Which sentences fail? Choose, and point at them"
) -> alt.LayerChart:
    """Draw a failure table, each sentence a point; the reader picks a kind of sentences.

    Sources and references are not part of the chart: look them up in the table, by the number
    that the pointer shows.

    Parameters
    ----------
    table
        A table of :func:`~transformer_course.translation.failure_table`, or some of its
        rows; more than 400 are thinned out evenly.
    title
        What to see.

    Raises
    ------
    ValueError
        If a column is missing or there are no rows.
    """
    check_columns(table, (*FAILURE_COLUMNS.values(), "repetition", "translation"))
    if table.empty:
        raise ValueError("the table has no rows to draw; filter it less.")
    step = -(-len(table) // MOST_SENTENCES)
    shown = table.iloc[::step]
    picked = {"chosen": alt.datum["picked"]}
    condition = " || ".join(
        f"(kind == '{kind}' && {expression})" for kind, expression in KINDS.items()
    )
    base = alt.Chart(alt.Data(values=_points(shown)), height=300).transform_calculate(
        picked=condition
    )
    marks = base.mark_point(filled=True, size=40).encode(
        x=alt.X(
            "words:Q",
            title="source length (words)",
            scale=alt.Scale(zero=False, nice=False, padding=12),
        ),
        y=alt.Y("chrf:Q", title="chrF (0 to 100)", scale=alt.Scale(domain=[0, 100])),
        color=alt.condition(picked["chosen"], alt.value(SERIES[1]), alt.value(PALE)),
        opacity=alt.condition(picked["chosen"], alt.value(0.75), alt.value(0.35)),
        tooltip=[
            alt.Tooltip("number:Q", title="row of the table"),
            alt.Tooltip("chrf:Q", title="chrF", format=".0f"),
            alt.Tooltip("ratio:Q", title="length (share of reference)", format=".2f"),
            alt.Tooltip("unseen:Q", title="unseen words"),
            alt.Tooltip("rare:Q", title="rare words"),
            alt.Tooltip("said:N", title="translation"),
        ],
    )
    caption = (
        base.transform_filter("datum.picked")
        .transform_aggregate(sentences="count()", mean="mean(chrf)")
        .transform_calculate(
            text="datum.sentences + ' sentences, mean chrF ' + format(datum.mean, '.0f')"
        )
        .mark_text(align="left", x=0, y=-14, color=INK)
        .encode(text="text:N")
    )
    select = alt.binding_select(options=list(KINDS), name="sentences: ")
    chart = alt.layer(marks, caption).add_params(
        alt.param(name="kind", value=next(iter(KINDS)), bind=select)
    )
    return titled(
        chart,
        title,
        f"A point for each of {len(shown)} sentences: across the source's length in words, up its "
        f"chrF, on average {shown['chrf'].mean():.0f}. A menu picks the sentences to colour: "
        f"{', '.join(KINDS)}.",
    )


def _points(table: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the data of the chart; numbers are rounded so that it stays small."""
    records = []
    for number, row in table.iterrows():
        record = {name: round(float(row[column]), 2) for name, column in FAILURE_COLUMNS.items()}
        said = row["translation"]
        record["said"] = said if len(said) <= TEXT_LENGTH else f"{said[:TEXT_LENGTH]}…"
        records.append(record | {"number": number, "repeats": row["repetition"] != ""})
    return records
