"""The live translator says what Python says, in every browser window and without a server."""

import random
import re
from itertools import product

import pytest
import torch
from playwright.sync_api import Page, expect

from tests.browser.test_book import PHONE, loaded
from tools.live_translator import ON_REQUEST
from transformer_course.model import silenced_heads
from transformer_course.translation import (
    BOS,
    EOS,
    PAD,
    Translator,
    beam_search,
    pad_rows,
    toy_checkpoint,
    toy_corpus,
)
from transformer_course.translation.corpora.vocabulary import SPECIAL_TOKENS
from transformer_course.translation.translator import shipped_names

PAGE = "book/live_translator"
ANOTHER_PAGE = "book/notation"
SENTENCES = {"train": 100, "test": 150, "test_combinations": 150}
SAMPLE = 20
HEADS = 24  # of three attentions in two layers
ATTENTION_TOLERANCE = 1e-2
MOST_BYTES = 1.5e6  # of the page, beyond what every page of the book loads
PAUSE = 250  # milliseconds between two words, as in view.js
STILL = {"reduced_motion": "reduce"}

TRANSLATE_ALL = """([name, sentences, beam]) => {
    const translator = new Translator(TRANSLATORS[name]);
    return sentences.map(sentence => {
        const tokens = translator.source.tokens(sentence);
        const path = pathTo([...translator.translate(tokens, beam)].at(-1).best);
        return {
            tokens,
            translation: translator.target.text(path.map(step => step.token)),
            logProbability: path.at(-1).logProbability,
            attention: path.map(step => step.crossAttention),
        };
    });
}"""


@pytest.fixture(scope="module")
def translator():
    return Translator.load(toy_checkpoint())


@pytest.fixture(scope="module")
def sentences():
    corpus, rng = toy_corpus(), random.Random(0)
    return [
        pair.source
        for split, number in SENTENCES.items()
        for pair in rng.sample(corpus.split(split), number)
    ]


@pytest.fixture(scope="module")
def examples(opened):
    return opened.page.evaluate("TRANSLATORS.toy.examples")


@pytest.fixture(scope="module")
def opened(open_page):
    """Open the page; its words appear without pauses."""
    with open_page(PAGE, **STILL) as visit:
        yield visit


@pytest.fixture
def window(opened):
    """Return the page as the test before left it, for calls of its code; it must not complain."""
    yield opened.page
    assert opened.complaints == []
    assert opened.strangers == []


@pytest.fixture
def page(window):
    """Return the page as it opens."""
    window.reload()
    return window


def ask(page, sentence):
    page.locator("#live-input").fill(sentence)
    page.locator("#live-input").press("Enter")


def cells(page):
    """Return the figures of the picture, row by row."""
    rows = page.locator("#live-grid tbody tr").all()
    return [[float(text) for text in row.locator("td").all_inner_texts()] for row in rows]


# The same as Python


def assert_as_in_python(window, translator, sentences):
    found = window.evaluate(TRANSLATE_ALL, ["toy", sentences, 1])
    assert [one["tokens"] for one in found] == [translator.source.tokens(s) for s in sentences]
    translations = translator.translate(sentences)
    assert [one["translation"] for one in found] == translations
    for one, source, target in zip(found, sentences, translations, strict=True):
        here = torch.tensor(one["attention"]).permute(1, 2, 0, 3)  # the target's axis comes first
        expected, *_ = translator.attention_map(source, target)
        torch.testing.assert_close(here, expected, rtol=0, atol=ATTENTION_TOLERANCE)


def test_sentences_are_translated_as_in_python(window, translator, sentences):
    assert_as_in_python(window, translator, random.Random(1).sample(sentences, SAMPLE))


@pytest.mark.exhaustive
def test_400_sentences_are_translated_as_in_python(window, translator, sentences):
    assert_as_in_python(window, translator, sentences)


def test_beam_search_finds_what_it_finds_in_python(window, translator, sentences):
    sentences = random.Random(2).sample(sentences, SAMPLE)
    found = window.evaluate(TRANSLATE_ALL, ["toy", sentences, 5])
    source = pad_rows([[*translator.source.encode(text), EOS] for text in sentences], PAD)
    expected = [best for (best,) in beam_search(translator.model, source, BOS, EOS, beam=5)]
    assert [one["translation"] for one in found] == [
        translator.target.decode(best.tokens) for best in expected
    ]
    for one, best in zip(found, expected, strict=True):
        assert one["logProbability"] == pytest.approx(best.log_probability, abs=1e-2)


def test_words_are_joined_as_in_python(window, translator):
    tokens = translator.target.vocabulary.tokens
    numbers = range(len(SPECIAL_TOKENS), len(tokens))
    elided = [number for number in numbers if tokens[number].endswith("'")]
    pairs = [*product(elided, numbers), *product(numbers, elided)]
    join = """pairs => {
        const { target } = new Translator(TRANSLATORS.toy);
        return pairs.map(ids => target.text(ids));
    }"""
    joined = window.evaluate(join, [list(pair) for pair in pairs])
    assert joined == [translator.target.decode(pair) for pair in pairs]


@pytest.mark.parametrize(
    "text, words",
    [
        ("  The small CAT,  does not sleep!\n", ["the", "small", "cat", "does", "not", "sleep"]),
        ("it doesn't run-away", ["it", "doesn't", "run-away"]),
        ("'a' \u201cbird\u201d", ["a", "bird"]),
        ("cafe\u0301", ["caf\u00e9"]),
        ("... ! -", []),
    ],
)
def test_words_are_cut_out_of_what_people_type(window, text, words):
    tokens = "text => new Translator(TRANSLATORS.toy).source.tokens(text)"
    assert window.evaluate(tokens, text) == words


# What the reader sees


def test_page_opens_with_an_example(page, translator, examples):
    assert page.locator("#live-input").input_value() == examples[0]
    assert page.locator("#live-translation").inner_text() == translator.translate(examples)[0]


def test_sentence_is_translated_and_its_speed_shown(page, translator, sentences):
    ask(page, sentences[-1])
    (translation,) = translator.translate(sentences[-1:])
    assert page.locator("#live-translation").inner_text() == translation
    assert page.locator("#live-translation").get_attribute("lang") == "fr"
    expect(page.locator("#live-status")).to_contain_text(re.compile(r"\d\.\d ms a word"))


def test_picture_shows_the_mean_attention_of_the_last_layer(page, translator, sentences):
    ask(page, sentences[-1])
    weights, rows, columns = translator.attention_map(sentences[-1])
    mean = weights[-1].mean(dim=0)
    table = page.locator("#live-grid")
    assert table.locator("th[scope=row]").all_inner_texts() == rows
    assert table.locator("thead tr:last-child th").all_inner_texts() == columns
    shown = torch.tensor(cells(page))
    torch.testing.assert_close(shown, mean, rtol=0, atol=ATTENTION_TOLERANCE)
    name = page.get_by_role("table", name="The brightest cell of a row")
    assert name.get_attribute("id") == "live-grid"
    # The same in words.
    in_words = page.locator("#live-in-words").inner_text()
    for row, best in list(zip(rows, mean.argmax(dim=1).tolist(), strict=True))[:-1]:
        assert f"{row} at {[*columns[:-1], 'the end'][best]}" in in_words


def test_cells_have_the_colour_of_their_weight(page):
    shades = page.evaluate("SHADES")
    for cell in page.locator("#live-grid td").all():
        colour, figures = shades[round(100 * float(cell.inner_text()))]
        style = cell.get_attribute("style")
        assert style == f"background-color: {colour}; color: {figures}"


def test_another_head_is_another_picture(page, translator, examples):
    source = examples[0]
    page.locator("#live-view").select_option("layer 0, head 2")
    weights, *_ = translator.attention_map(source)
    shown = torch.tensor(cells(page))
    torch.testing.assert_close(shown, weights[0, 2], rtol=0, atol=ATTENTION_TOLERANCE)
    assert "layer 0, head 2" in page.locator("#live-in-words").inner_text()


def test_beam_shows_the_search_as_a_tree(page, translator, examples):
    expect(page.locator("#live-beams")).to_be_hidden()
    page.get_by_label("Decoding", exact=True).select_option("beam of 5")
    tree = page.get_by_role("img", name="At each step five beginnings are kept")
    path = [*translator.target.tokens(translator.translate(examples[:1], beam=5)[0]), "<eos>"]
    assert tree.locator("line.best").count() == len(path)
    assert tree.locator("text:not(.figure)").all_text_contents()[0] == path[0]
    marks = tree.locator("circle, rect").count()
    assert 5 * len(path) <= marks == tree.locator("line").count()
    rows = page.locator("#live-ended tbody tr")
    assert rows.count() == tree.locator("rect").count()
    assert rows.first.locator("th").inner_text() == page.locator("#live-translation").inner_text()
    means = []
    for row in rows.all():
        total, length, mean = map(float, row.locator("td").all_inner_texts())
        assert total / length == pytest.approx(mean, abs=1e-2)
        means.append(mean)
    assert means == sorted(means, reverse=True)
    page.get_by_label("Decoding", exact=True).select_option("greedy")
    expect(page.locator("#live-beams")).to_be_hidden()


def test_heads_are_switched_off_as_in_python(page, translator, examples):
    page.get_by_text("Switch heads off", exact=True).click()
    heads = page.locator("#live-heads")
    assert heads.get_by_role("checkbox", checked=True).count() == HEADS
    blind = list(product(range(2), range(4)))
    for layer, head in blind:
        heads.get_by_label(f"cross-attention, layer {layer}, head {head}").uncheck()
    expect(page.locator("#live-status")).to_contain_text("8 heads are off")
    silenced = [(f"decoder.layers.{layer}.cross_attention", head) for layer, head in blind]
    with silenced_heads(translator.model, silenced):
        (expected,) = translator.translate(examples[:1])
    assert page.locator("#live-translation").inner_text() == expected
    assert expected != translator.translate(examples[:1])[0]
    page.locator("#live-input").fill("")  # what is typed and not handed in changes nothing
    page.get_by_role("button", name="All heads on").click()
    expect(page.locator("#live-translation")).to_have_text(translator.translate(examples[:1])[0])
    assert heads.get_by_role("checkbox", checked=True).count() == HEADS


def test_translators_that_ship_have_a_button(page):
    shipped = [title for name, title in ON_REQUEST.items() if name in shipped_names()]
    choices = page.locator("#live-choices button")
    titles = [title.partition(" (")[0] for title in choices.all_text_contents()]
    assert titles == ["English to French, toy language", *shipped]
    assert page.locator("#live-choices").is_visible() == bool(shipped)


def stop_the_clock(page: Page) -> None:
    """Let the page's time pass only where a test says so, however slow the machine is."""
    page.clock.install(time=0)
    page.clock.pause_at(1)


def test_words_appear_one_by_one(open_page, translator):
    with open_page(PAGE, reduced_motion="no-preference") as opened:
        page = opened.page
        stop_the_clock(page)
        ask(page, "the king sleeps")
        words = [*translator.target.tokens(translator.translate(["the king sleeps"])[0]), "<eos>"]
        for number in range(1, len(words) + 1):
            rows = page.locator("#live-grid tbody th")
            assert rows.all_inner_texts() == words[:number]
            page.clock.run_for(PAUSE)
        expect(page.locator("#live-status")).to_contain_text("ms a word")


def test_a_new_sentence_takes_the_place_of_a_running_one(open_page, translator):
    with open_page(PAGE, reduced_motion="no-preference") as opened:
        page = opened.page
        stop_the_clock(page)
        ask(page, "the king sleeps")
        page.clock.run_for(PAUSE)
        ask(page, "she dances")
        page.clock.run_for(10 * PAUSE)
        (expected,) = translator.translate(["she dances"])
        assert page.locator("#live-translation").inner_text() == expected
        assert page.locator("#live-grid tbody tr").count() == len(expected.split()) + 1


# What can go wrong


def test_unknown_word_is_underlined_and_named(page):
    ask(page, "the zebra sleeps")
    for place in ("#live-read", "#live-grid thead"):
        unknown = page.locator(f"{place} .unknown")
        assert unknown.all_inner_texts() == ["zebra"]
        assert unknown.evaluate("e => getComputedStyle(e).textDecorationLine") == "underline"
    status = page.locator("#live-status")
    expect(status).to_contain_text("It does not know the word zebra, underlined above")
    ask(page, "the cat sleeps")
    assert page.locator(".unknown").count() == 0
    expect(status).not_to_contain_text("zebra")


def test_unknown_words_are_read_as_in_python(page, translator):
    ask(page, "the zebra sees a yak")
    (expected,) = translator.translate(["the zebra sees a yak"])
    assert page.locator("#live-translation").inner_text() == expected


@pytest.mark.parametrize(
    "text, said", [("", "Write a sentence in English"), ("?!", "Write a"), ("a " * 40, "at most")]
)
def test_nothing_and_too_much_are_answered_in_words(page, text, said):
    ask(page, text)
    expect(page.locator("#live-status")).to_contain_text(said)
    expect(page.locator("#live-input")).to_be_focused()
    expect(page.locator("#live-input")).to_have_attribute("aria-invalid", "true")
    expect(page.locator("#live-grid")).to_be_hidden()
    ask(page, "she dances")
    expect(page.locator("#live-input")).to_have_attribute("aria-invalid", "false")
    expect(page.locator("#live-grid")).to_be_visible()


def test_what_is_typed_stays_text(page):
    ask(page, "<img src=x onerror=alert(1)>")
    assert page.locator(".live-translator img").count() == 0
    read = page.locator("#live-read").inner_text()
    assert read.split() == ["img", "src", "x", "onerror", "alert", "1"]


def test_translation_without_an_end_is_cut_off_as_in_python(page, translator):
    ask(page, "the")
    (expected,) = translator.translate(["the"])
    assert page.locator("#live-translation").inner_text() == expected


# By keyboard, by ear, on a phone


def test_keyboard_reaches_and_works_everything(page, examples):
    page.locator("#live-input").focus()
    page.keyboard.press("Control+A")
    page.keyboard.type("the queen sings")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.locator("#live-translation")).to_have_text("la reine chante")
    page.keyboard.press("Tab")
    page.keyboard.press("Space")
    expect(page.locator("#live-input")).to_have_value(examples[1])
    before = cells(page)
    page.keyboard.press("Tab")
    expect(page.locator("#live-beam")).to_be_focused()
    page.keyboard.press("Tab")
    expect(page.locator("#live-view")).to_be_focused()
    page.keyboard.press("ArrowUp")
    assert cells(page) != before


def test_screen_reader_hears_the_translation_once(page):
    status = page.locator("#live-status[role=status]")
    assert status.locator("[lang=fr]").count() == 0  # silent until somebody asks
    ask(page, "the queen sings")
    expect(status.locator("[lang=fr]")).to_have_text("la reine chante.")
    for name in ("English sentence", "Decoding", "Attention of"):
        assert page.get_by_label(name, exact=True).count() == 1


def test_words_of_the_language_are_offered(page, translator):
    page.locator("#live-input").fill("the sm")
    offers = page.locator("#live-offers option")
    assert [offer.get_attribute("value") for offer in offers.all()] == ["the small"]
    page.locator("#live-input").fill("the ")
    assert offers.count() == 0
    listed = page.locator("#live-words").text_content().split(", ")
    assert listed == sorted(translator.source.vocabulary.tokens[len(SPECIAL_TOKENS) :])


def test_each_example_is_shown_in_turn(page, translator, examples):
    button = page.get_by_role("button", name="Another example")
    for source, target in zip(examples[1:], translator.translate(examples[1:]), strict=True):
        button.click()
        assert page.locator("#live-input").input_value() == source
        assert page.locator("#live-translation").inner_text() == target
    button.click()
    assert page.locator("#live-input").input_value() == examples[0]


def test_longest_sentence_fits_a_phone(open_page, sentences):
    with open_page(PAGE, viewport=PHONE, **STILL) as opened:
        ask(opened.page, max(sentences, key=len))
        assert opened.page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]


# What it costs


@pytest.mark.parametrize("address", ["server"], indirect=True)
def test_page_is_small(open_page, site):
    with open_page(PAGE) as visit, open_page(ANOTHER_PAGE) as other:
        own = loaded(visit, site) - loaded(other, site)
    assert site / "_static" / "live" / "toy.js" in own
    assert sum(file.stat().st_size for file in own) <= MOST_BYTES
