"""The whole model as one map, each part of which leads to its lesson."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from html import escape

from transformer_course.plots.renderer import HtmlPicture
from transformer_course.plots.theme import CARD, COLOURS, FONT, GRID, INK, MUTED, SERIES, tinted

CLASS = "course-map"
"""Class of the map's element: the book finds the map by it."""

SUBLAYER = SERIES[1]
"""Colour of attention and feed-forward; a query's colour would say that it is a query."""

Address = Callable[[str], str]
"""From the name of a lesson, such as ``05_layers``, to the address that opens it."""


@dataclass(frozen=True)
class Part:
    """A box of the map.

    Attributes
    ----------
    name
        What the part is called.
    lesson
        The lesson where the learner builds it; empty for what is not part of the model.
    colour
        The colour of its edge.
    made_of
        What the learner writes for it, by the names in ``my_transformer.py``.
    """

    name: str
    lesson: str = ""
    colour: str = MUTED
    made_of: tuple[str, ...] = ()


EMBEDDINGS = Part(
    "Embeddings", "01_positional_encoding", made_of=("build_vocabulary", "Embeddings")
)
POSITIONS = Part(
    "Positional encoding",
    "01_positional_encoding",
    COLOURS["position"],
    ("sinusoidal_encoding", "SinusoidalPositionalEncoding"),
)
ADD_NORM = Part("Add and layer norm", "05_layers", made_of=("layer_norm", "add_norm"))
FEED_FORWARD = Part("Feed-forward network", "04_feed_forward", SUBLAYER, ("FeedForward",))

BEFORE_ENCODER = (Part("English: the cat sleeps"), EMBEDDINGS, POSITIONS)
ENCODER_LAYER = (
    Part(
        "Self-attention",
        "02_attention",
        SUBLAYER,
        ("scaled_dot_product_attention", "padding_mask"),
    ),
    ADD_NORM,
    FEED_FORWARD,
    ADD_NORM,
)
AFTER_ENCODER = (
    Part(
        "Memory: a vector for each English word, which every cross-attention reads",
        "05_layers",
        COLOURS["memory"],
        ("EncoderLayer", "Encoder"),
    ),
)
BEFORE_DECODER = (Part("French so far: le chat"), EMBEDDINGS, POSITIONS)
DECODER_LAYER = (
    Part(
        "Masked self-attention, in several heads",
        "03_multi_head_attention",
        SUBLAYER,
        ("causal_mask", "target_mask", "split_heads", "merge_heads", "MultiHeadAttention"),
    ),
    ADD_NORM,
    Part(
        "Cross-attention: reads the memory",
        "03_multi_head_attention",
        COLOURS["memory"],
        ("MultiHeadAttention", "DecoderLayer"),
    ),
    ADD_NORM,
    FEED_FORWARD,
    ADD_NORM,
)
AFTER_DECODER = (
    Part(
        "Output layer: a score for each French word",
        "06_transformer",
        made_of=("output_logits", "tie", "Transformer"),
    ),
    Part("Softmax: the next word is dort", "00_start_here", made_of=("softmax",)),
)
TRAINING = Part(
    "Training: from random numbers to a translator",
    "07_toy_translation",
    made_of=(
        "collate",
        "masked_mean",
        "smoothed_cross_entropy",
        "adam_update",
        "noam",
        "training_step",
    ),
)

TITLE = "Each part of the model leads to the lesson where you build it"
DESCRIPTION = (
    "Map of the Transformer. The encoder turns an English sentence into the memory, one vector for "
    "each word; the decoder reads the memory and the French words so far, and scores the next one."
)


def course_map(address: Address, yours: Collection[str] | None = None) -> HtmlPicture:
    """Draw the whole model; each part of it is a link to the lesson where it is built.

    Parameters
    ----------
    address
        Gives the address of a lesson's notebook, such as
        :func:`transformer_course.notebook.lesson_address`.
    yours
        The parts of ``my_transformer.py`` that the learner wrote: what is made of them is lit.
        None draws a map without a learner.
    """

    def box(part: Part, style: str = "") -> str:
        return _box(part, address, yours, style)

    encoder = _column(
        "Encoder: reads", BEFORE_ENCODER, "encoder layer", ENCODER_LAYER, AFTER_ENCODER, box
    )
    decoder = _column(
        "Decoder: writes", BEFORE_DECODER, "decoder layer", DECODER_LAYER, AFTER_DECODER, box
    )
    columns = _element("div", encoder + decoder, "display:flex;flex-wrap:wrap;gap:20px")
    style = (
        f"background:{CARD};color:{INK};font-family:{FONT};font-size:14px;line-height:1.35;"
        "padding:14px;margin:0;max-width:640px;box-sizing:border-box"
    )
    title = _element("div", TITLE, "font-weight:bold;font-size:15px;margin-bottom:12px")
    figure = title + columns + box(TRAINING, "margin-top:14px")
    label = escape(DESCRIPTION)
    return HtmlPicture(
        f'<figure class="{CLASS}" role="group" aria-label="{label}" style="{style}">'
        f"{figure}</figure>",
        DESCRIPTION,
    )


def _column(
    title: str,
    before: Sequence[Part],
    layer: str,
    repeated: Sequence[Part],
    after: Sequence[Part],
    box: Callable[[Part], str],
) -> str:
    note = _element("div", f"{layer}, six times", f"color:{MUTED};margin-bottom:6px")
    stack = _element(
        "div",
        note + _chain(repeated, box),
        f"border:1.5px dashed {MUTED};border-radius:8px;padding:8px",
    )
    heading = _element("div", title, "font-weight:bold;margin-bottom:8px")
    parts = _arrow().join([_chain(before, box), stack, _chain(after, box)])
    return _element("div", heading + parts, "flex:1 1 240px")


def _chain(parts: Sequence[Part], box: Callable[[Part], str]) -> str:
    return _arrow().join(map(box, parts))


def _arrow() -> str:
    arrow = f'<div aria-hidden="true" style="text-align:center;color:{MUTED};line-height:1.1">'
    return f"{arrow}\u2193</div>"


def _box(part: Part, address: Address, yours: Collection[str] | None, style: str) -> str:
    written = [name for name in part.made_of if name in (yours or ())]
    dark = yours is not None and part.lesson and not written
    colour, filling = (GRID, CARD) if dark else (part.colour, tinted(part.colour))
    edge = "3px" if written else "1.5px"
    box = (
        f"border:{edge} solid {colour};border-radius:6px;background:{filling};"
        f"padding:4px 8px;text-align:center;{style}"
    )
    if not part.lesson:
        return _element("div", escape(part.name), box)
    number = int(part.lesson.partition("_")[0])
    link = f"color:{INK};display:block;text-decoration:underline"
    where = _element("span", f" (lesson {number})", "white-space:nowrap")
    anchor = (
        f'<a href="{escape(address(part.lesson))}" style="{link}">{escape(part.name)}{where}</a>'
    )
    return _element("div", anchor + _share(written, part), box)


def _share(written: Sequence[str], part: Part) -> str:
    """Say how much of a part is the learner's, if anything is."""
    if not written:
        return ""
    whole = len(written) == len(part.made_of)
    words = "\u2713 yours" if whole else f"{len(written)} of {len(part.made_of)} yours"
    return _element("div", words, f"color:{INK};font-size:12px;font-weight:bold")


def _element(tag: str, content: str, style: str) -> str:
    return f'<{tag} style="{style}">{content}</{tag}>'
