import re

import pytest

from transformer_course import __version__
from transformer_course.publish import document, page


def framed(**parts):
    return document.framed("Title", **{"style": page.STYLE, "content": "<p>Content</p>"} | parts)


def policy_of(html):
    return re.search(r'http-equiv="Content-Security-Policy" content="([^"]+)"', html)[1]


def test_pages_differ_by_what_is_their_own_alone():
    parts = {"style": document.STYLE, "content": "<p>Other</p>", "origin": "Made of this."}
    one, other = framed(), framed(**parts)
    own = (document.web_file(page.STYLE), document.web_file(document.STYLE))
    for there, here in ((own[1], own[0]), ("Other", "Content"), ("Made of this. ", "")):
        assert there in other
        other = other.replace(there, here)
    assert other == one
    assert document.web_file(document.SHARED_STYLE) in one


def test_scripts_are_allowed_where_there_are_some():
    html = framed(scripts=["one();\n", "two();\n"])
    assert html.count("<script>\n") == 2
    assert html.index("one();") < html.index("two();")
    assert "script-src 'unsafe-inline'" in policy_of(html)
    assert policy_of(framed()) == policy_of(html).replace("script-src 'unsafe-inline'; ", "")
    assert policy_of(framed()).startswith("default-src 'none'; style-src")


@pytest.mark.parametrize("part", ["title", "origin"])
def test_words_cannot_end_a_tag(part):
    strange = {"title": "T", "style": page.STYLE, "content": "", part: "a <b> & c"}
    html = document.framed(**strange)
    assert "a &lt;b&gt; &amp; c" in html
    assert "<b>" not in html


def test_every_page_says_what_made_it():
    assert f"<p>Made with the Transformer course, version {__version__}.</p>" in framed()


def test_a_page_needs_a_folder_and_is_none(tmp_path):
    with pytest.raises(ValueError, match=r"there is no folder .*nodir for page.html: make it"):
        document.check_page(tmp_path / "nodir" / "page.html")
    (tmp_path / "page.html").mkdir()
    with pytest.raises(ValueError, match="is a folder: name a file"):
        document.check_page(tmp_path / "page.html")
