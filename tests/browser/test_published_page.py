"""A published page opens from disk, asks for nothing, and says what Python says."""

import random

import pytest
import torch
from playwright.sync_api import expect

from tests.browser.conftest import random_run, served
from tests.browser.test_book import PHONE, violations
from tests.browser.test_live_translator import TRANSLATE_ALL
from transformer_course.model.transformer import TYINGS, evaluating
from transformer_course.publish import page as publishing
from transformer_course.publish import write_page
from transformer_course.translation import Translator, toy_checkpoint, toy_corpus
from transformer_course.translation.corpora.vocabulary import BOS, EOS
from transformer_course.translation.evaluation.sureness import in_small_letters

LOGITS = """([source, target]) => {
    const { model } = new Translator(TRANSLATORS.published);
    const decoder = new CachedDecoder(model, encode(model, source));
    return target.map(token => [...decoder.step(token).logits]);
}"""


@pytest.fixture(scope="module")
def corpus():
    """Draw the toy corpus once for all tests: it takes seconds."""
    corpus = toy_corpus()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(publishing, "toy_corpus", lambda: corpus)
        yield corpus


@pytest.fixture(scope="module")
def toy_page(corpus, tmp_path_factory):
    path = tmp_path_factory.mktemp("pages") / "toy.html"
    write_page(toy_checkpoint(), path)
    return path


@pytest.fixture(scope="module")
def translator():
    return Translator.load(toy_checkpoint())


@pytest.mark.parametrize("number", [20, pytest.param(200, marks=pytest.mark.exhaustive)])
def test_sentences_are_translated_as_in_python(opens, toy_page, corpus, translator, number):
    splits = (corpus.split(split) for split in ("test", "test_combinations"))
    pairs = [pair for split in splits for pair in random.Random(0).sample(split, number // 2)]
    sentences = [pair.source for pair in pairs]
    with opens(toy_page) as visit:
        found = visit.page.evaluate(TRANSLATE_ALL, ["published", sentences, 1])
        assert [one["translation"] for one in found] == translator.translate(sentences)


@pytest.mark.parametrize("tying", TYINGS)
@pytest.mark.parametrize("norm_first", [True, False])
def test_every_choice_gives_the_logits_of_python(opens, tmp_path, norm_first, tying):
    translator = random_run(tmp_path, norm_first=norm_first, tying=tying)
    write_page(tmp_path, tmp_path / "page.html")
    source, target = [4, 5, 6, EOS], [BOS, 6, 4, 5]
    with evaluating(translator.model):
        (expected,) = translator.model(torch.tensor([source]), torch.tensor([target]))
    with opens(tmp_path / "page.html") as visit:
        here = torch.tensor(visit.page.evaluate(LOGITS, [source, target]))
    torch.testing.assert_close(here, expected, rtol=1e-4, atol=1e-4)


def test_page_opens_with_an_example_and_its_picture(opens, toy_page, translator):
    with opens(toy_page) as visit:
        source = visit.page.get_by_label("English sentence").input_value()
        assert visit.page.title() == "A translator from English into French"
        expect(visit.page.locator("#live-translation")).to_have_text(
            translator.translate([source])[0]
        )
        expect(visit.page.locator("#live-grid")).to_be_visible()
        expect(visit.page.get_by_text("does not know when it does not know")).to_be_visible()


def test_without_examples_the_page_waits_for_a_sentence(opens, tmp_path):
    random_run(tmp_path, corpus="files", max_len=6)
    write_page(tmp_path, tmp_path / "page.html")
    with opens(tmp_path / "page.html") as visit:
        page = visit.page
        expect(page.get_by_text("how good it is has not been measured")).to_be_visible()
        expect(page.locator("#live-input")).to_have_value("")
        expect(page.locator("#live-picture")).to_be_hidden()
        expect(page.get_by_role("button", name="Another example")).to_be_hidden()
        page.locator("#live-input").fill("the cat sleeps")
        page.locator("#live-input").press("Enter")
        expect(page.locator("#live-picture")).to_be_visible()
        page.locator("#live-input").fill("the cat sleeps the cat sleeps")  # more than it can read
        page.locator("#live-input").press("Enter")
        expect(page.locator("#live-status")).to_contain_text("at most 5 words")


def test_keyboard_reaches_everything(opens, toy_page):
    with opens(toy_page) as visit:
        page = visit.page
        page.keyboard.press("Tab")
        expect(page.locator("#live-input")).to_be_focused()
        page.keyboard.type("the queen sings")
        page.keyboard.press("Enter")
        expect(page.locator("#live-translation")).to_have_text("la reine chante")
        form = ("button[type=submit]", "#live-example", "#live-beam")
        for name in (*form, "#live-view", "#live-picture .scroll", "details:first-of-type summary"):
            page.keyboard.press("Tab")
            expect(page.locator(name)).to_be_focused()


def unfold(page):
    """Show all that a page can show."""
    page.get_by_label("Decoding", exact=True).select_option("beam of 5")
    for fold in page.locator("summary").all():
        fold.click()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_no_grave_violation(opens, toy_page, scheme):
    with opens(toy_page, color_scheme=scheme) as visit:
        unfold(visit.page)
        assert violations(visit.page) == []
        background = visit.page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert (background == "rgb(255, 255, 255)") == (scheme == "light")


def test_page_fits_a_phone(opens, toy_page):
    with opens(toy_page, viewport=PHONE) as visit:
        unfold(visit.page)
        assert visit.page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]


def test_words_without_end_fit_a_phone(opens, toy_page):
    with opens(toy_page, viewport=PHONE) as visit:
        visit.page.locator("#live-input").fill("x" * 2000)
        visit.page.get_by_role("button", name="Translate").click()
        expect(visit.page.locator("#live-grid")).to_be_visible()
        width, height = visit.page.evaluate(
            "[document.documentElement.scrollWidth, document.querySelector('thead').offsetHeight]"
        )
        assert width <= PHONE["width"]
        assert height < PHONE["height"]


def test_without_javascript_the_page_says_so_and_nothing_else(browser, toy_page):
    with browser.new_context(java_script_enabled=False) as context:
        page = context.new_page()
        page.goto(toy_page.as_uri())
        shown = page.locator(".live-translator").inner_text()
        assert shown == (
            "This page translates with JavaScript, which is switched off in your browser."
        )


def test_colours_that_say_something_stay_where_the_system_forces_its_own(opens, toy_page):
    with opens(toy_page, forced_colors="active") as visit:
        colours = "cells => [...new Set(cells.map(cell => getComputedStyle(cell).backgroundColor))]"
        assert len(visit.page.locator("#live-grid td").evaluate_all(colours)) > 2


@pytest.mark.parametrize("sentence", ["1º CASA GRANDE", "THE KING", "THE king", "A B", "ÇA VA"])
def test_page_and_python_agree_on_what_is_in_capitals(opens, toy_page, sentence):
    with opens(toy_page) as visit:
        visit.page.locator("#live-input").fill(sentence)
        visit.page.get_by_role("button", name="Translate").click()
        says = "reads capitals as small" in visit.page.locator("#live-status").inner_text()
        assert says == (in_small_letters(sentence) is not None)


def test_a_web_server_is_asked_for_the_page_alone(browser, toy_page):
    with served(toy_page.parent) as address, browser.new_context() as context:
        requests = []
        page = context.new_page()
        page.on("request", lambda request: requests.append(request.url))
        page.goto(f"{address}/toy.html")
        page.wait_for_load_state("networkidle")
        assert [url for url in requests if not url.startswith("data:")] == [f"{address}/toy.html"]


def test_page_says_when_it_is_not_sure_and_reads_capitals(opens, toy_page):
    with opens(toy_page) as visit:
        status, translation = (visit.page.locator(f"#live-{i}") for i in ("status", "translation"))
        for sentence, sure in (("the king sleeps", True), ("king the the cats not", False)):
            visit.page.locator("#live-input").fill(sentence)
            visit.page.get_by_role("button", name="Translate").click()
            expect(status).to_contain_text("ms a word")
            said = expect(status)
            (said.not_to_contain_text if sure else said.to_contain_text)("It is not sure")
        visit.page.locator("#live-input").fill("THE KING SLEEPS")
        visit.page.get_by_role("button", name="Translate").click()
        expect(status).to_contain_text("It reads capitals as small letters.")
        expect(translation).to_have_text("le roi dort")
