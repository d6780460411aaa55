"""The same words in HTML and in plain text."""

import html
import re

import pytest
import torch

from transformer_course.checker.feedback import (
    Code,
    Feedback,
    Listing,
    Sentence,
    Source,
    Verdict,
)
from transformer_course.checker.matrices import side_by_side

PARTS = (
    Sentence("Known: `x < y` & more", "Label"),
    Sentence("Words alone."),
    Listing("Things", ("`one`", "<b>two</b>")),
    Code("Your line 3", 'if x < 3 and y > "a":'),
    side_by_side(torch.tensor([[1.0, 2.0]]), torch.tensor([[1.0, -3.0]])),
)


def visible_words(markup):
    """Return the words that a browser shows."""
    return re.findall(r"[^\s`]+", html.unescape(re.sub(r"<[^>]*>", " ", markup)))


def plain_words(text):
    return [word for word in re.findall(r"[^\s`]+", text) if word != "-"]


@pytest.mark.parametrize("verdict", Verdict)
@pytest.mark.parametrize("part", PARTS, ids=lambda part: type(part).__name__)
def test_html_and_text_say_the_same(verdict, part):
    feedback = Feedback(verdict, "double", (part,))
    # The tables stand below each other in HTML and side by side in text.
    shown, said = visible_words(feedback._repr_html_()), plain_words(repr(feedback))
    assert sorted(shown) == sorted(said)
    if not hasattr(part, "wanted"):
        assert "".join(shown) == "".join(said)


def test_verdict_is_a_word_and_not_only_a_colour():
    for verdict in Verdict:
        feedback = Feedback(verdict, "double", ())
        assert repr(feedback).startswith(f"{verdict.value}: ")
        assert f"<b>{verdict.value}:</b>" in feedback._repr_html_()
        assert feedback.passed == (verdict is Verdict.RIGHT)


def test_the_learners_text_cannot_become_markup():
    hostile = "<script>alert(1)</script>"
    feedback = Feedback(
        Verdict.WRONG,
        hostile,
        (Sentence(f"`{hostile}`", hostile), Listing(hostile, (hostile,)), Code(hostile, hostile)),
    )
    assert "<script" not in feedback._repr_html_()
    assert feedback._repr_html_().count("&lt;script&gt;") == 7


def test_html_asks_for_nothing_from_outside_and_suits_dark_and_light():
    markup = Feedback(Verdict.WRONG, "double", PARTS)._repr_html_()
    for forbidden in ("http", "src=", "<link", "<style", "background:#", "color:#"):
        assert forbidden not in markup
    assert "background:white" not in markup


def test_source_is_folded_markdown_in_a_notebook():
    source = Source("x = 1")
    assert repr(source) == "x = 1"
    assert "\n\n```python\nx = 1\n```\n\n" in source._repr_markdown_()
    assert source._repr_markdown_().startswith("<details>")
