import json
import re

import pytest

from transformer_course import __version__
from transformer_course.publish import page
from transformer_course.translation import Translator, toy_checkpoint, toy_corpus

TEXT_CONTRAST = 4.5  # WCAG AA


@pytest.fixture(scope="module", autouse=True)
def corpus():
    """Draw the toy corpus once for all tests: it takes seconds."""
    corpus = toy_corpus()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(page, "toy_corpus", lambda: corpus)
        yield corpus


@pytest.fixture(scope="module")
def html(tmp_path_factory):
    path = tmp_path_factory.mktemp("pages") / "page.html"
    page.write_page(toy_checkpoint(), path)
    return path.read_text(encoding="utf-8")


def constants_in(script):
    lines = script.strip().splitlines()
    return dict(re.fullmatch(r"const (\w+) = (.*);", line).groups() for line in lines)


def test_page_of_the_toy_is_small(html):
    assert len(html.encode()) <= 2e6


def test_page_says_what_it_was_made_from(html):
    assert "<title>A translator from English into French</title>" in html
    assert "It knows 120 words" in html
    footer = re.search("<footer>(.*)</footer>", html, re.DOTALL)[1]
    for fact in ("254,592 parameters", "500 steps", "“toy”", f"version {__version__}"):
        assert fact in footer


def test_page_names_no_file_and_no_address(html):
    assert re.findall(r'(?:src|href)="(?!data:,")', html) == []
    assert "http://" not in html and "https://" not in html


def test_page_holds_what_the_book_loads(html):
    for name in (*page.SCRIPTS, *page.STYLES):
        assert (page.WEB / name).read_text(encoding="utf-8").strip() in html


def test_data_are_three_constants():
    translator = Translator.load(toy_checkpoint())
    constants = constants_in(page.data_script(translator, ["the cat"]))
    assert list(constants) == ["CHECKPOINT", "EXAMPLES", "SHADES"]
    assert json.loads(constants["EXAMPLES"]) == ["the cat"]
    assert all(json.loads(text) for text in constants.values())


def test_data_cannot_end_the_script():
    script = page.data_script(Translator.load(toy_checkpoint()), ["</script><b>"])
    assert "<" not in script
    assert json.loads(constants_in(script)["EXAMPLES"]) == ["</script><b>"]


def test_examples_are_test_sentences(corpus):
    sentences = page.toy_examples()
    assert len(set(sentences)) == page.EXAMPLES
    assert set(sentences) <= {pair.source for pair in corpus.split("test")}
    assert sentences == page.toy_examples()


def luminance(colour):
    parts = [int(colour[start : start + 2], 16) / 255 for start in (1, 3, 5)]
    linear = [
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    ]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_figures_are_legible_on_every_shade():
    shades = page.shades()
    assert (shades[0][0], shades[-1][0]) == ("#440154", "#fde725")  # the ends of viridis
    for pair in shades:
        dark, light = sorted(luminance(colour) for colour in pair)
        assert (light + 0.05) / (dark + 0.05) >= TEXT_CONTRAST
