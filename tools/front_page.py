"""What the front page shows of the course: a wrong answer with its card, and the way to a page.

All of it is the real thing, made anew with each build of the book; ``tools.pictures`` takes the
README's pictures of it.
"""

import base64
import json
from html import escape
from typing import Any

import torch
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer

from tools.sources import ROOT, read_source
from tools.stamp import WHAT_IS_WRONG, repository
from transformer_course import plots
from transformer_course.exercises import attention
from transformer_course.own.sections import sections, template
from transformer_course.syllabus import colab_link

ANSWER, WAY = "front-answer", "front-way"
"""The ids of the two figures."""
LESSON = "02_attention"
EXERCISE = attention.causal_mask
MASK_WITHOUT_DIAGONAL = """\
def causal_mask(length):
    place = torch.arange(length)
    return place < place[:, None]
"""
CURVE = ROOT / "results" / "multi30k-en-fr-short.json"
PAGE = "page-{}.png"


def begin() -> str:
    """Return the three ways on: begin, begin elsewhere, or ask about a model of one's own."""
    buttons = {
        "Begin with lesson 0": "../notebooks/00_start_here.html",
        "Begin in Colab": colab_link(repository(), "00_start_here"),
        WHAT_IS_WRONG: "examine.html",
    }
    links = (f'<a href="{escape(to)}">{escape(words)}</a>' for words, to in buttons.items())
    return f'<p class="begin">{" ".join(links)}</p>'


def answer_and_card() -> str:
    """Return a wrong answer and what the check says of it."""
    names: dict[str, Any] = {"torch": torch}
    exec(MASK_WITHOUT_DIAGONAL, names)
    card = EXERCISE.judge(names[EXERCISE.name])
    label = f"A wrong answer, and the card that names its mistake: {', '.join(card.mistakes)}"
    caption = "<figcaption>A wrong answer to an exercise, and what the check says:</figcaption>"
    return _figure(ANSWER, label, caption + _code(MASK_WITHOUT_DIAGONAL) + card._repr_html_())


def way() -> str:
    """Return the way from an empty cell to a page of one's own, station by station."""
    stations = {
        "An empty cell": _code(_stub()),
        "Your answer, judged": EXERCISE.judge(EXERCISE.task.answer)._repr_html_(),
        "Your answers, in one file": _parts(),
        "It learns, on your laptop": _curve(),
        "Your translator as a page": _page(),
    }
    items = (f"<li><b>{escape(what)}</b>{shown}</li>" for what, shown in stations.items())
    label = f"The way through the course: {'; '.join(stations)}"
    return _figure(WAY, label, f"<ol>{''.join(items)}</ol>")


def _stub() -> str:
    cells = read_source(ROOT / "notebooks" / "text" / f"{LESSON}.md").cells
    return next(c.source for c in cells if c.metadata.get("exercise") == EXERCISE.name)


def _code(source: str) -> str:
    return highlight(source, PythonLexer(), HtmlFormatter())


def _parts() -> str:
    names = (f"<code>{name}</code>" for name in sections(template()))
    return f"<p><code>my_transformer.py</code></p><p>{' '.join(names)}</p>"


def _curve() -> str:
    history = json.loads(CURVE.read_text(encoding="utf-8"))["curve"]
    picture = plots.curve_comparison({"captions": history}, "dev_bleu", "BLEU of captions")
    data = base64.b64encode(picture.png()).decode()
    return f'<img src="data:image/png;base64,{data}" alt="{escape(picture.description)}">'


def _page() -> str:
    alternative = "A web page that translates a sentence and shows what was looked at"
    return "".join(
        f'<img class="only-{scheme}" src="../_static/{PAGE.format(scheme)}" alt="{alternative}">'
        for scheme in ("light", "dark")
    )


def _figure(name: str, label: str, content: str) -> str:
    return f'<figure id="{name}" role="group" aria-label="{escape(label)}">{content}</figure>\n'
