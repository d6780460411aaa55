from urllib.parse import urlsplit

import pytest

from tools.links import broken_links, external_links, read_pages
from tools.stamp import documentation


@pytest.fixture
def site(tmp_path):
    """Return a function that reads a site of two pages, the first with the given body."""
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "two words.html").write_text('<h1 id="déjà">A</h1>', encoding="utf-8")

    def read(body: str):
        (tmp_path / "index.html").write_text(f'<p id="top">{body}</p>', encoding="utf-8")
        return read_pages(tmp_path)

    return read


@pytest.mark.parametrize(
    "link",
    ["#top", "#", "?q=word", "more/two%20words.html#d%C3%A9j%C3%A0", "data:,x", "mailto:a@b.c"],
)
def test_links_that_lead_somewhere(site, link):
    assert broken_links(site(f'<a href="{link}">link</a>')) == []


@pytest.mark.parametrize("link", ["#bottom", "other.html", "more/two%20words.html#top"])
def test_links_that_lead_nowhere(site, tmp_path, link):
    broken = broken_links(site(f'<a href="{link}">link</a>'))
    assert broken == [f"{tmp_path / 'index.html'}: {link}"]


@pytest.mark.parametrize(("file", "broken"), [("index.html", 0), ("other.html", 1)])
def test_whole_paths_of_the_published_book(site, file, broken):
    home = urlsplit(documentation()).path
    assert len(broken_links(site(f'<a href="{home}/{file}">link</a>'))) == broken


def test_a_picture_that_is_not_there(site, tmp_path):
    broken = broken_links(site('<img src="a.png">'))
    assert broken == [f"{tmp_path / 'index.html'}: a.png"]


def test_addresses_elsewhere_are_listed_once(site):
    body = '<a href="https://b.org/1#x">1</a><a href="//a.org">2</a><a href="//a.org">3</a>'
    assert external_links(site(body)) == ["//a.org", "https://b.org/1#x"]
    assert broken_links(site(body)) == []
