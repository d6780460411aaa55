"""Terms lead to the glossary where they are used first, and nothing else does."""

from types import SimpleNamespace

import pytest
from docutils import nodes
from docutils.utils import new_document

from tools import glossary_links

TERMS = {"mask": "term-mask", "causal mask": "term-causal", "masks": "term-mask", "key": "term-key"}


@pytest.fixture
def app() -> SimpleNamespace:
    """A book with a glossary."""
    objects = [(t, t, "term", "book/glossary", anchor, 1) for t, anchor in TERMS.items()]
    return SimpleNamespace(
        env=SimpleNamespace(get_domain=lambda _: SimpleNamespace(get_objects=lambda: objects)),
        builder=SimpleNamespace(get_relative_uri=lambda page, target: f"../{target}.html"),
    )


def linked(app, *texts: str, page: str = "notebooks/x") -> list[tuple[str, str]]:
    """Return text and address of each link in paragraphs of these texts."""
    document = new_document("page")
    document += [nodes.paragraph("", text) for text in texts]
    glossary_links.link_first_uses(app, document, page)
    assert [paragraph.astext() for paragraph in document] == list(texts)
    return [(link.astext(), link["refuri"]) for link in document.findall(nodes.reference)]


def test_the_first_use_is_linked(app):
    found = linked(app, "No term here.", "A Mask hides; a mask is boolean.", "One more mask.")
    assert found == [("Mask", "../book/glossary.html#term-mask")]


def test_the_longest_term_counts(app):
    found = [text for text, _ in linked(app, "The causal mask, and any mask.")]
    assert found == ["causal mask", "mask"]


def test_spellings_of_one_entry_count_as_one(app):
    assert len(linked(app, "Masks are many, a mask is one.")) == 1


@pytest.mark.parametrize("text", ["unmasked", "mask-like", "a key", "masking"])
def test_parts_of_words_and_everyday_words_are_left_alone(app, text):
    assert linked(app, text) == []


def test_the_glossary_does_not_link_to_itself(app):
    assert linked(app, "A mask.", page=glossary_links.GLOSSARY) == []


def test_code_links_and_headings_are_left_alone(app):
    document = new_document("page")
    document += nodes.title("", "The mask")
    document += nodes.paragraph("", "", nodes.literal("", "mask"), nodes.emphasis("", "mask"))
    document += nodes.paragraph("", "", nodes.reference("", "mask", refuri="elsewhere"))
    glossary_links.link_first_uses(app, document, "notebooks/x")
    assert [link["refuri"] for link in document.findall(nodes.reference)] == ["elsewhere"]
