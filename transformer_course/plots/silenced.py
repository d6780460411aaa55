"""A picture to play with: what a translator says when one of its heads is silenced."""

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from itertools import accumulate
from typing import Any

import altair as alt

from transformer_course.model.multi_head_attention import MultiHeadAttention, silenced_heads
from transformer_course.plots.theme import COLOURS, INK, MUTED, SMALL_SIZE, titled
from transformer_course.translation.translator import Translator

Head = tuple[str, int]
"""The path of an attention, and the number of a head in it."""

Translations = list[list[str]]
"""The words of each translation."""

NOBODY = "no head"
ALWAYS = "any"
"""In the place of a head's name: a line that is there whichever head is silenced."""
LINES = ("English", "all heads", "without it")
"""What each sentence shows, one below the other."""
LINE_HEIGHT, SENTENCE_HEIGHT = 20, 76
CHARACTER = 8
"""Pixels of a letter, a little more than it needs, so that words never touch."""
LONGEST = 60
"""Characters of a line; a translator that stutters says more."""
MOST_SENTENCES = 8
MONOSPACE = "Liberation Mono, Consolas, Menlo, monospace"


def translations_without_a_head(
    translator: Translator,
    sentences: Sequence[str],
    shown: Head | None = None,
    title: str = "Choose a head to silence; the words in bold change",
) -> alt.LayerChart:
    """Translate some sentences without each head in turn; the reader chooses the head.

    Parameters
    ----------
    translator
        Whose heads are silenced.
    sentences
        What it translates; at most eight.
    shown
        The head that is silenced at first; by default none.
    title
        What to see.

    Raises
    ------
    ValueError
        If there are too many sentences, or none, or the translator has no such head.
    """
    if not 1 <= len(sentences) <= MOST_SENTENCES:
        raise ValueError(
            f"there is room for 1 to {MOST_SENTENCES} sentences; got {len(sentences)}."
        )
    usual = [translation.split() for translation in translator.translate(sentences)]
    said = {NOBODY: usual}
    for head in _heads(translator):
        with silenced_heads(translator.model, [head]):
            said[_name(head)] = [text.split() for text in translator.translate(sentences)]
    first = NOBODY if shown is None else _name(shown)
    if first not in said:
        raise ValueError(f"the translator has no {first!r}; it has: {', '.join(said)}.")
    lines = [_line(ALWAYS, n, 0, words.split()) for n, words in enumerate(sentences)]
    for head, translations in said.items():
        for n, (before, after) in enumerate(zip(usual, translations, strict=True)):
            kept_before, kept_after = _kept(before, after)
            lines.append(_line(head, n, 1, before, kept_before))
            lines.append(_line(head, n, 2, after, kept_after))
    chart = _chart([*_captions(said), *lines], list(said), len(sentences), first)
    return titled(chart, title, _description(said, len(sentences)))


def _heads(translator: Translator) -> Iterator[Head]:
    for path, module in translator.model.named_modules():
        if isinstance(module, MultiHeadAttention):
            yield from ((path, head) for head in range(module.heads))


def _name(head: Head) -> str:
    """Return a short name, such as "decoder.1.cross, head 3"."""
    path = head[0].replace("layers.", "").removesuffix("_attention")
    return f"{path}, head {head[1]}"


def _kept(before: list[str], after: list[str]) -> tuple[set[int], set[int]]:
    """Return the places of the words that stay, in both translations."""
    blocks = SequenceMatcher(None, before, after, autojunk=False).get_matching_blocks()
    both = [(b.a + i, b.b + i) for b in blocks for i in range(b.size)]
    return {place for place, _ in both}, {place for _, place in both}


def _line(
    head: str, sentence: int, line: int, words: list[str], kept: set[int] | None = None
) -> dict[str, Any]:
    """Return a line of a sentence, which Vega unfolds to words; what does not fit is left out."""
    starts = list(accumulate((len(word) + 1 for word in words), initial=0))
    fitting = [n for n, word in enumerate(words) if starts[n] + len(word) < LONGEST]
    more = ["…"] if len(fitting) < len(words) else []
    changed = [int(kept is not None and n not in kept) for n in fitting]
    return {
        "head": head,
        "y": sentence * SENTENCE_HEIGHT + line * LINE_HEIGHT,
        "line": LINES[line],
        "word": [words[n] for n in fitting] + more,
        "at": starts[: len(fitting) + len(more)],
        "changed": changed + [0 for _ in more],
    }


def _changed(usual: Translations, translations: Translations) -> list[tuple[str, str]]:
    """Return the translations that change, before and after."""
    both = zip(usual, translations, strict=True)
    return [(" ".join(a), " ".join(b)) for a, b in both if a != b]


def _captions(said: dict[str, Translations]) -> list[dict[str, str]]:
    captions = []
    for head, translations in said.items():
        changed = len(_changed(said[NOBODY], translations))
        text = f"Silenced: {head}. {changed} of {len(translations)} translations change."
        captions.append({"head": head, "caption": text})
    return captions


def _chart(
    records: list[dict[str, Any]], heads: list[str], sentences: int, first: str
) -> alt.LayerChart:
    height = sentences * SENTENCE_HEIGHT
    lines = alt.Chart().transform_filter("isValid(datum.line)")
    down = alt.Y("y:Q", title="line", axis=None, scale=alt.Scale(domain=[height, 0], nice=False))
    across = alt.X("at:Q", title="place", axis=None, scale=alt.Scale(domain=[0, LONGEST]))
    words = (
        lines.transform_flatten(["word", "at", "changed"])
        .transform_calculate(change="datum.changed ? 'changes' : 'stays'")
        .encode(
            x=across,
            y=down,
            text="word:N",
            tooltip=[
                alt.Tooltip("line:N", title="line"),
                alt.Tooltip("word:N", title="word"),
                alt.Tooltip("change:N", title="without the head it"),
            ],
        )
    )
    font = {"align": "left", "font": MONOSPACE}
    kinds = {
        f"datum.head == '{ALWAYS}'": {"color": MUTED},
        f"datum.head != '{ALWAYS}' && !datum.changed": {"color": INK},
        "datum.changed": {"color": COLOURS["query"], "fontWeight": "bold"},
    }
    texts = [words.transform_filter(k).mark_text(**font, **look) for k, look in kinds.items()]
    names = lines.mark_text(align="right", x=-12, color=MUTED, fontSize=SMALL_SIZE)
    caption = alt.Chart().transform_filter("isValid(datum.caption)")
    caption = caption.mark_text(align="left", x=0, y=-24).encode(text="caption:N")
    menu = alt.binding_select(options=heads, name="silence: ")
    return (
        alt.layer(
            caption,
            names.encode(y=down, text="line:N"),
            *texts,
            data=alt.Data(values=records),  # once, not in each layer
        )
        .transform_filter(f"datum.head == silenced || datum.head == '{ALWAYS}'")
        .properties(width=LONGEST * CHARACTER, height=height - LINE_HEIGHT)
        .add_params(alt.param(name="silenced", value=first, bind=menu))
        .configure_view(stroke=None)
    )


def _description(said: dict[str, Translations], sentences: int) -> str:
    """Say what every head changes, for those who cannot choose."""
    usual = said[NOBODY]
    parts = [
        f"{sentences} sentences and their translations; a menu silences one of {len(said) - 1} "
        f"heads, and the words that change are in bold."
    ]
    for head, translations in said.items():
        changed = _changed(usual, translations)
        if changed:
            before, after = changed[0]
            parts.append(
                f"Without {head}, {len(changed)} change: {before} becomes {after[:LONGEST]}."
            )
    return " ".join([*parts, "Without any other head all stay."])
