"""Diagrams of lesson 2: how one word gets at what the other words know."""

import math
from collections.abc import Sequence

from jaxtyping import Float
from matplotlib.axes import Axes
from torch import Tensor

from transformer_course.plots.diagram import MARGIN, Point, arrow, box, canvas, label
from transformer_course.plots.renderer import Picture
from transformer_course.plots.theme import (
    COLOURS,
    FIGURE_WIDTH,
    INK,
    MUTED,
    SERIES,
    TEXT_SIZE,
    matplotlib_theme,
)

MOST_WORDS = 8
"""Up to this many words of a sentence fit across or down."""
MOST_FEATURES = 4
"""Up to this many numbers of a vector fit into a box."""


@matplotlib_theme()
def recurrence_and_attention(tokens: Sequence[str], asks: int, answers: int) -> Picture:
    """Draw the way from one word to another, through a recurrent network and through attention.

    Parameters
    ----------
    tokens
        The sentence, at most eight words.
    asks
        Number of the word that needs something, counted from 0.
    answers
        Number of the earlier word that has it.

    Raises
    ------
    ValueError
        If there are too many words, or the answer does not come before the question.
    """
    _check_count("words", len(tokens), MOST_WORDS)
    if not 0 <= answers < asks < len(tokens):
        raise ValueError(
            f"the word that answers must come before the word that asks, within "
            f"{len(tokens)} words; got answers={answers}, asks={asks}."
        )
    distance = asks - answers
    steps = f"{distance} step{'s' if distance > 1 else ''}"
    title = f"From '{tokens[answers]}' to '{tokens[asks]}': {steps}, or one"
    axes = canvas(300, title)
    width = (FIGURE_WIDTH - 2 * MARGIN) / len(tokens)
    places = [MARGIN + width * (number + 0.5) for number in range(len(tokens))]
    _draw_chain(axes, tokens, places, range(answers, asks))
    _draw_direct(axes, tokens, places, asks, answers)
    return Picture(
        axes.figure,
        f"Two diagrams of the sentence: {' '.join(tokens)}. Above, a recurrent network: one state "
        f"is handed from word to word, and from {tokens[answers]} to {tokens[asks]} it takes "
        f"{steps}. Below, attention: an arrow leads from each word straight to "
        f"{tokens[asks]}.",
    )


def _draw_chain(axes: Axes, tokens: Sequence[str], places: Sequence[float], path: range) -> None:
    label(axes, (24, 12), "A recurrent network hands one state on, word by word", align="left")
    for number, x in enumerate(places):
        on_the_way = number in path or number == path.stop
        box(axes, (x, 48), (48, 26), "state", SERIES[0] if on_the_way else MUTED)
        arrow(axes, (x, 92), (x, 62), SERIES[0] if number == path.start else MUTED)
        label(axes, (x, 104), tokens[number], size=TEXT_SIZE)
        if number:
            style = {"colour": SERIES[0], "width": 2.4} if number - 1 in path else {}
            arrow(axes, (places[number - 1] + 25, 48), (x - 25, 48), **style)


def _draw_direct(
    axes: Axes, tokens: Sequence[str], places: Sequence[float], asks: int, answers: int
) -> None:
    label(axes, (24, 158), "Attention connects each word with every other", align="left")
    for number, x in enumerate(places):
        label(axes, (x, 284), tokens[number], size=TEXT_SIZE)
        if number != answers:
            arrow(axes, (x, 272), (places[asks], 212))
    # Last, so that its head lies on top.
    arrow(axes, (places[answers], 272), (places[asks], 212), SERIES[0], width=2.4)
    box(axes, (places[asks], 192), (64, 36), "new\nvector", SERIES[0])


@matplotlib_theme()
def attention_flow(
    query: Float[Tensor, "d_k"],
    key: Float[Tensor, "key d_k"],
    value: Float[Tensor, "key d_v"],
    tokens: Sequence[str],
    asks: str,
) -> Picture:
    """Draw attention for one query, step by step, with all its numbers.

    Parameters
    ----------
    query
        The query of one word, at most four numbers.
    key, value
        One row for each word, at most four numbers each.
    tokens
        The words that keys and values belong to, at most eight.
    asks
        The word that the query belongs to.

    Raises
    ------
    ValueError
        If there is more than fits, or words, keys and values are not of one number.
    """
    _check_count("words", len(tokens), MOST_WORDS)
    _check_count("numbers in a vector", max(key.shape[1], value.shape[1]), MOST_FEATURES)
    if not len(tokens) == len(key) == len(value):
        raise ValueError(
            f"each word has one key and one value; got {len(tokens)} words, {len(key)} keys and "
            f"{len(value)} values."
        )
    query, key, value = (tensor.detach() for tensor in (query, key, value))
    scores = key @ query
    scaled = scores / math.sqrt(len(query))
    weights = scaled.softmax(dim=0)
    share, best = float(weights.max()), tokens[int(weights.argmax())]
    part = "most" if share > 0.5 else f"the largest part, {share:.0%},"
    axes = canvas(118 + 40 * len(tokens), f"'{asks}' takes {part} of its new vector from '{best}'")
    box(axes, (122, 22), (106, 28), _digits(query), COLOURS["query"])
    label(axes, (182, 22), f"query of {asks}", COLOURS["query"], TEXT_SIZE, "left", bold=True)
    arrow(axes, (122, 38), (122, 60), COLOURS["query"])
    _draw_heads(axes, len(query))
    rows = [112 + 40 * number for number in range(len(tokens))]
    output = (552.0, sum(rows) / len(rows))
    columns = zip(rows, tokens, key, value, scores, scaled, weights, strict=True)
    for y, token, one_key, one_value, score, scaled_score, weight in columns:
        label(axes, (62, y), token, size=TEXT_SIZE, align="right")
        box(axes, (122, y), (106, 28), _digits(one_key), COLOURS["key"])
        label(axes, (208, y), f"{score:.3g}", size=TEXT_SIZE)
        label(axes, (272, y), f"{scaled_score:.3g}", size=TEXT_SIZE)
        label(axes, (340, y), f"{weight:.3f}", size=TEXT_SIZE)
        box(axes, (424, y), (88, 28), _digits(one_value), COLOURS["value"])
        _blend(axes, (470, y), (510, output[1]), float(weight))
    blend = [f"{number:.3g}" for number in (weights @ value).tolist()]
    box(axes, output, (76, 14 + 18 * len(blend)), "\n".join(blend))
    shares = ", ".join(
        f"{token} {weight:.3f}" for token, weight in zip(tokens, weights, strict=True)
    )
    return Picture(
        axes.figure,
        f"Attention for the query of {asks}, row by row: each word's key, its score, the scaled "
        f"score, the weight, the value. Weights: {shares}. The values, blended by their "
        f"weights, give the output {', '.join(blend)}.",
    )


def _draw_heads(axes: Axes, d_k: int) -> None:
    heads = {
        122: ("key", COLOURS["key"]),
        208: ("score:\nquery · key", INK),
        272: (f"÷ √{d_k}", INK),
        340: ("weight:\nsoftmax", INK),
        424: ("value", COLOURS["value"]),
        552: ("output:\nweighted mean", INK),
    }
    for x, (text, colour) in heads.items():
        label(axes, (x, 78), text, colour, bold=colour != INK)


def _blend(axes: Axes, start: Point, end: Point, weight: float) -> None:
    """Draw how much of a value goes into the output: the wider, the more."""
    arrow(axes, start, end, COLOURS["value"], width=0.6 + 6 * weight)


def _check_count(what: str, count: int, most: int) -> None:
    if not 1 <= count <= most:
        raise ValueError(f"this diagram has room for 1 to {most} {what}; got {count}.")


def _digits(vector: Float[Tensor, "features"]) -> str:
    return "   ".join(f"{number:.3g}" for number in vector.tolist())
