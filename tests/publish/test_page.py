import json
import re

import pytest

from transformer_course import __version__
from transformer_course.publish import document, page
from transformer_course.publish.checkpoint import checkpoint
from transformer_course.translation import Translator, toy_checkpoint, toy_corpus
from transformer_course.translation.checkpoints import read_json
from transformer_course.translation.corpora.registry import CORPORA

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


def values_in(script):
    """Return what each line of a script assigns, by what it is assigned to."""
    lines = script.strip().splitlines()
    found = [re.fullmatch(r"(?:const )?(\S+) \+?= (.*);", line) for line in lines]
    return {line[1]: json.loads(line[2]) for line in found}


def test_page_of_the_toy_is_small(html):
    assert len(html.encode()) <= 2e6


def test_page_says_what_it_was_made_from(html):
    assert "<title>A translator from English into French</title>" in html
    footer = re.search("<footer>(.*)</footer>", html, re.DOTALL)[1]
    for fact in ("254,592 parameters", "500 steps", "“toy”", f"version {__version__}"):
        assert fact in footer


def test_page_says_how_good_the_toy_is(html):
    scores = read_json(toy_checkpoint() / "run.json")["scores"]["test"]
    said = re.search("<p>(It learned from .*)</p>", html)[1]
    assert f"a BLEU of {scores['sacrebleu']:.1f} (" in said
    assert f"on {scores['sentences']:,} pairs that were held out" in said
    assert "it does not know when it does not know" in said


def test_every_corpus_has_words_for_those_who_do_not_know_it():
    assert page.PAIRS_OF.keys() == CORPORA.keys()


def test_page_names_no_file_and_no_address(html):
    assert re.findall(r'(?:src|href)="(?!data:,")', html) == []
    assert "http://" not in html and "https://" not in html


def test_page_holds_what_the_book_loads(html):
    for name in (*page.SCRIPTS, document.SHARED_STYLE, page.STYLE):
        assert document.web_file(name).strip() in html


def test_a_page_opens_with_colours_and_choices():
    choices = [page.Choice("toy", "Toy"), page.Choice("other", "Other", ("other.0.js",), 5.8)]
    values = values_in(page.opening_script(choices))
    assert list(values) == ["SHADES", "CHOICES", "TRANSLATORS"]
    assert [choice["name"] for choice in values["CHOICES"]] == ["toy", "other"]
    assert values["CHOICES"][1]["scripts"] == ["other.0.js"]
    assert values["TRANSLATORS"] == {}


def test_scripts_bring_a_translator_in_parts(monkeypatch):
    monkeypatch.setattr(page, "PART", 100_000)
    toy = Translator.load(toy_checkpoint())
    first, *parts = page.translator_scripts("toy", toy, ["the cat"], -0.5)
    assert len(parts) == 7
    content = values_in(first)['TRANSLATORS["toy"]']
    assert content["examples"] == ["the cat"]
    for part in parts:
        assert len(part) < 1.01 * page.PART
        content["weights"] += values_in(part)['TRANSLATORS["toy"].weights']
    expected = json.loads(json.dumps(checkpoint(toy)))  # tuples become lists
    assert content == expected | {"examples": ["the cat"], "doubt": -0.5}


def test_data_cannot_end_the_script():
    toy = Translator.load(toy_checkpoint())
    first, *_ = page.translator_scripts("toy", toy, ["</script><b>"])
    assert "<" not in first
    assert values_in(first)['TRANSLATORS["toy"]']["examples"] == ["</script><b>"]


def test_examples_of_captions_are_captions():
    assert page.caption_examples()[0] == "A dog runs on the beach."
    assert len(set(page.caption_examples())) == page.EXAMPLES


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
    shades = document.shades()
    assert (shades[0][0], shades[-1][0]) == ("#440154", "#fde725")  # the ends of viridis
    for pair in shades:
        dark, light = sorted(luminance(colour) for colour in pair)
        assert (light + 0.05) / (dark + 0.05) >= TEXT_CONTRAST
