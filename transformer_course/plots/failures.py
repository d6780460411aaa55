"""Pictures of which sentences fail: the score in bins, and each sentence a point."""

from collections.abc import Mapping
from typing import Any

import altair as alt
import pandas as pd
from matplotlib.figure import Figure

from transformer_course.plots.renderer import Picture
from transformer_course.plots.theme import (
    FIGURE_WIDTH,
    INK,
    PIXELS_PER_INCH,
    SERIES,
    SMALL_SIZE,
    check_columns,
    entitle,
    matplotlib_theme,
    points,
    titled,
)

MOST_PANELS = 4
TEXT_LENGTH = 120
"""Characters of a translation that a pointer shows."""
MOST_SENTENCES = 400
"""This many points can be told apart, and the chart stays below 150 kB."""
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
    table = table.fillna({"translation": "", "repetition": ""})  # as a CSV file brings them back
    for number, row in table.iterrows():
        record = {name: round(float(row[column]), 2) for name, column in FAILURE_COLUMNS.items()}
        said = row["translation"]
        record["said"] = said if len(said) <= TEXT_LENGTH else f"{said[:TEXT_LENGTH]}…"
        records.append(record | {"number": number, "repeats": row["repetition"] != ""})
    return records
