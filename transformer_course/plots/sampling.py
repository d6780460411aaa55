"""A picture of sampling: the next word's distribution, and what top-k and the nucleus keep."""

from collections.abc import Mapping, Sequence

import altair as alt
from jaxtyping import Float
from torch import Tensor

from transformer_course.plots.theme import (
    INK,
    SERIES,
    SMALL_SIZE,
    distinct,
    finite,
    titled,
)

IN_NUCLEUS, OUTSIDE = "in the nucleus", "outside"
PALE = "#B6BCC2"
"""For bars that do not count."""
MOST_CONTEXTS = 2
WORDS_SHOWN = 10
"""Most probable words that a distribution shows; its probabilities count all."""
LOWEST_TEMPERATURE, HIGHEST_TEMPERATURE, TEMPERATURE_STEP = 0.2, 3.0, 0.1


def sampling_cuts(
    contexts: Mapping[str, Float[Tensor, "vocab"]],
    words: Sequence[str],
    top_k: int,
    top_p: float,
    title: str = "Top-k counts words, the nucleus adds up probabilities",
) -> alt.HConcatChart:
    """Draw distributions of the next word and what two filters keep; the reader sets a temperature.

    Parameters
    ----------
    contexts
        The logits of every next word, by what has been said so far; at most two.
    words
        The vocabulary.
    top_k
        A line is drawn after this many words.
    top_p
        Probability of the nucleus, whose bars are coloured.
    title
        What to see.

    Raises
    ------
    ValueError
        If there are too many contexts, the logits do not fit the vocabulary, or a filter keeps
        nothing or too much to draw.
    """
    if not 1 <= len(contexts) <= MOST_CONTEXTS:
        raise ValueError(f"there is room for 1 or {MOST_CONTEXTS} contexts; got {len(contexts)}.")
    for name, logits in contexts.items():
        if len(logits) != len(words):
            raise ValueError(f"{name}: got {len(logits)} logits for {len(words)} words.")
    shown = min(WORDS_SHOWN, len(words))
    if not 1 <= top_k < shown:
        raise ValueError(f"top_k must be 1 to {shown - 1} to be seen; got {top_k}.")
    if not 0 < top_p <= 1:
        raise ValueError(f"top_p is a probability above 0; got {top_p}.")
    slider = alt.binding_range(
        min=LOWEST_TEMPERATURE,
        max=HIGHEST_TEMPERATURE,
        step=TEMPERATURE_STEP,
        name="temperature: ",
    )
    words = distinct(words)
    panels = [_distribution(name, logits, words, top_k, top_p) for name, logits in contexts.items()]
    chart = alt.hconcat(*panels, spacing=24).add_params(
        alt.param(name="temperature", value=1, bind=slider)
    )
    return titled(
        chart,
        title,
        f"Bars of the {shown} most probable next words after {' and after '.join(contexts)}. "
        f"A slider sets the temperature. Bars in the nucleus of {top_p:g} are coloured; a dashed "
        f"line stands behind the first {top_k} words, which top-k keeps. The higher the "
        f"temperature, the flatter the bars and the larger the nucleus; top-k does not change.",
    )


def _distribution(
    name: str, logits: Float[Tensor, "vocab"], words: Sequence[str], top_k: int, top_p: float
) -> alt.LayerChart:
    chances = _chances(logits, words, top_p)
    ranked = [words[token] for token in logits.argsort(descending=True)[:WORDS_SHOWN].tolist()]
    down = {"shorthand": "word:N", "title": "next word", "sort": ranked}
    bars = (
        chances.transform_filter(f"datum.rank <= {WORDS_SHOWN}")
        .mark_bar()
        .encode(
            x=alt.X("probability:Q", title="probability", scale=alt.Scale(domain=[0, 1])),
            y=alt.Y(**down),
            color=alt.Color(
                "nucleus:N",
                title=f"nucleus of {top_p:g}",
                scale=alt.Scale(domain=[IN_NUCLEUS, OUTSIDE], range=[SERIES[1], PALE]),
                legend=alt.Legend(orient="bottom", direction="horizontal"),
            ),
            tooltip=[
                alt.Tooltip("word:N"),
                alt.Tooltip("rank:Q"),
                alt.Tooltip("probability:Q", format=".3f"),
                alt.Tooltip("so_far:Q", title="with all before it", format=".3f"),
            ],
        )
    )
    line = (
        alt.Chart(alt.Data(values=[{"word": ranked[top_k - 1]}]))
        .mark_rule(strokeDash=[4, 3], color=INK)
        .encode(y=alt.Y(**down, bandPosition=1))
    )
    rest = f"' of {len(words)} words, top-k: {top_k}'"
    caption = (
        chances.transform_filter(f"datum.nucleus == '{IN_NUCLEUS}'")
        .transform_aggregate(size="count()")
        .transform_calculate(sizes=f"'nucleus: ' + datum.size + {rest}")
        .mark_text(align="left", x=0, y=-9, fontSize=SMALL_SIZE)
        .encode(text="sizes:N")
    )
    heading = alt.TitleParams(f"after: {name}", fontSize=SMALL_SIZE + 1, offset=16)
    return alt.layer(bars, line, caption).properties(title=heading)


def _chances(logits: Float[Tensor, "vocab"], words: Sequence[str], top_p: float) -> alt.Chart:
    """Return a chart, still without a mark, with one datum for each word of the vocabulary."""
    # The largest is 0, so that no power of e overflows at a low temperature.
    logits = finite(logits - logits.max())
    records = [
        {"rank": rank, "word": words[token], "logit": round(float(logits[token]), 3)}
        for rank, token in enumerate(logits.argsort(descending=True).tolist(), start=1)
    ]
    in_nucleus = f"datum.so_far - datum.probability < {top_p}"
    return (
        alt.Chart(alt.Data(values=records), width=185, height=20 * WORDS_SHOWN)
        .transform_calculate(power="exp(datum.logit / temperature)")
        .transform_joinaggregate(total="sum(power)")
        .transform_calculate(probability="datum.power / datum.total")
        .transform_window(so_far="sum(probability)", sort=[alt.SortField("rank")], frame=[None, 0])
        .transform_calculate(nucleus=f"{in_nucleus} ? '{IN_NUCLEUS}' : '{OUTSIDE}'")
    )
