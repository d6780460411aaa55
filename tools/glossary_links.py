"""Links into the glossary: on each page, where a term is used first.

The lessons are notebooks, which JupyterLab shows too, so no link is written in their text. The book
finds the terms there by itself.
"""

import re
from collections.abc import Iterator

from docutils import nodes
from sphinx.application import Sphinx

GLOSSARY = "book/glossary"
# Words of everyday language, which mostly mean no more than that.
EVERYDAY = {
    "clipping",
    "feature",
    "frequency",
    "hook",
    "key",
    "position",
    "precision",
    "prefix",
    "rank",
    "recipe",
    "reference",
    "rotation",
    "schedule",
    "score",
    "shape",
    "signature",
    "source",
    "split",
    "step",
    "target",
    "value",
    "width",
}


def link_first_uses(app: Sphinx, page: nodes.document, name: str) -> None:
    """Link the first use of each glossary term on a page to its entry."""
    if name == GLOSSARY:
        return
    places = {
        term.lower(): app.builder.get_relative_uri(name, GLOSSARY) + "#" + anchor
        for term, _, kind, _, anchor, _ in app.env.get_domain("std").get_objects()
        if kind == "term" and term.lower() not in EVERYDAY
    }
    if places:
        _link(page, places)


def _link(page: nodes.document, places: dict[str, str]) -> None:
    linked: set[str] = set()  # an entry may have several spellings
    words = "|".join(re.escape(term) for term in sorted(places, key=len, reverse=True))
    pattern = re.compile(rf"(?<![\w-])({words})(?![\w-])", re.IGNORECASE)
    for text in _running_text(page):
        pieces = list(_pieces(str(text), pattern, places, linked))
        if len(pieces) > 1:
            text.parent.replace(text, pieces)


def _running_text(page: nodes.document) -> list[nodes.Text]:
    """Return the texts of paragraphs, outside links, emphasis and code, in reading order."""
    return [
        text
        for paragraph in page.findall(nodes.paragraph)
        for text in paragraph.children
        if isinstance(text, nodes.Text)
    ]


def _pieces(
    text: str, pattern: re.Pattern[str], places: dict[str, str], linked: set[str]
) -> Iterator[nodes.Node]:
    """Cut a text at terms that are not linked yet on this page, and make them links."""
    end = 0
    for match in pattern.finditer(text):
        place = places[match[0].lower()]
        if place not in linked:
            linked.add(place)
            yield nodes.Text(text[end : match.start()])
            yield nodes.reference("", match[0], refuri=place, internal=True, classes=["term"])
            end = match.end()
    yield nodes.Text(text[end:])
