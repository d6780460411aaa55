"""A page brings further translators when the reader asks for them, and says so when it cannot."""

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import random_run, watched
from tests.browser.test_book import violations
from tests.browser.test_live_translator import ask
from tools import live_translator
from transformer_course.publish import SCRIPTS, WEB, document, page
from transformer_course.translation import shipped_checkpoint
from transformer_course.translation.corpora.corpus import SentencePair

NAME, TITLE = "small", "English to German, small"
SENTENCE = "The brown dog jumps."
PAIRS = [SentencePair(SENTENCE, "Der braune Hund springt.")]


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """Return the folder of a translator on sub-words, and the translator."""
    folder = tmp_path_factory.mktemp("run")
    return folder, random_run(folder, PAIRS, languages=("en", "de"), subwords=40, d_model=16)


@pytest.fixture
def folder(small, monkeypatch, tmp_path):
    """Return a folder with a page like the book's, and its scripts."""
    monkeypatch.setattr(page, "PART", 5_000)
    monkeypatch.setattr(live_translator, "ON_REQUEST", {NAME: TITLE, "missing": "Not there"})
    monkeypatch.setattr(live_translator, "shipped_names", lambda: [NAME, "toy"])
    monkeypatch.setattr(
        live_translator,
        "shipped_checkpoint",
        lambda name: small[0] if name == NAME else shipped_checkpoint(name),
    )
    monkeypatch.setattr(live_translator, "toy_examples", lambda: ["the cat sleeps"])
    (tmp_path / "live").mkdir()
    files = live_translator.data_files()
    files |= {name: (WEB / name).read_text(encoding="utf-8") for name in SCRIPTS}
    for name, text in files.items():
        (tmp_path / "live" / name).write_text(text, encoding="utf-8")
    style = "".join(document.web_file(name) for name in (document.SHARED_STYLE, page.STYLE))
    scripts = (f"<script defer src='live/{name}'></script>" for name in ("toy.js", *SCRIPTS))
    (tmp_path / "index.html").write_text(
        f"<!DOCTYPE html><html lang='en'><head><meta charset='utf-8'><title>Test</title>"
        f"<link rel='icon' href='data:,'><style>{style}</style>{''.join(scripts)}</head>"
        f"<body><main><h1>Test</h1>{live_translator.live_translator()}</main></body></html>",
        encoding="utf-8",
    )
    return tmp_path


@pytest.fixture
def visit(browser, folder):
    with browser.new_context(reduced_motion="reduce") as context:
        visit = watched(context, "index", None)
        visit.page.goto((folder / "index.html").as_uri())
        yield visit
        assert visit.strangers == []


def test_a_translator_is_loaded_when_it_is_asked_for(visit, folder, small):
    page, (_, translator) = visit.page, small
    buttons = page.get_by_role("group", name="Translators").get_by_role("button")
    assert buttons.count() == 2  # what does not ship has none
    assert [button.get_attribute("aria-pressed") for button in buttons.all()] == ["true", "false"]
    assert not any(NAME in path for path in visit.paths)
    expect(page.get_by_label("English sentence")).to_have_value("the cat sleeps")
    page.get_by_role("button", name=TITLE).press("Enter")
    expect(buttons.last).to_have_attribute("aria-pressed", "true")
    loaded = {path for path in visit.paths if NAME in path}
    assert loaded == {str(file) for file in (folder / "live").glob(f"{NAME}.*")}
    assert len(loaded) > 2
    expect(page.locator("#live-loading")).to_be_empty()
    expect(page.get_by_text("In German:")).to_be_visible()
    assert page.locator("#live-translation").get_attribute("lang") == "de"
    ask(page, SENTENCE)
    assert page.locator("#live-translation").text_content() == translator.translate([SENTENCE])[0]
    assert violations(page) == []
    buttons.first.click()
    expect(page.get_by_text("In French:")).to_be_visible()
    ask(page, "the queen sings")
    expect(page.locator("#live-translation")).to_have_text("la reine chante")
    assert visit.complaints == []


def test_progress_is_shown(visit):
    page, released = visit.page, []
    page.context.route(f"**/{NAME}.1.js*", lambda route: released.append(route))
    page.get_by_role("button", name=TITLE).click()
    loading = page.locator("#live-loading")
    expect(loading).to_contain_text(f"{TITLE}: loading")
    bar = loading.get_by_role("progressbar")
    expect(bar).to_have_js_property("value", 1)
    assert bar.evaluate("bar => bar.max") > 2
    ask(page, "the queen sings")  # the page can be used meanwhile
    expect(page.locator("#live-translation")).to_have_text("la reine chante")
    while not released:  # the browser asks for it in its own time
        page.wait_for_timeout(10)
    released[0].continue_()
    expect(loading).to_be_empty()
    expect(page.get_by_text("In German:")).to_be_visible()


def test_a_script_that_is_missing_is_named_and_can_be_asked_for_again(visit, folder):
    page = visit.page
    lost = folder / "live" / f"{NAME}.1.js"
    content = lost.read_text(encoding="utf-8")
    lost.unlink()
    page.get_by_role("button", name=TITLE).click()
    expect(page.locator("#live-loading")).to_contain_text(f"{lost.name} could not be loaded")
    expect(page.locator("#live-loading")).to_contain_text("press the button again")
    ask(page, "the queen sings")
    expect(page.locator("#live-translation")).to_have_text("la reine chante")
    lost.write_text(content, encoding="utf-8")
    page.get_by_role("button", name=TITLE).click()
    expect(page.get_by_text("In German:")).to_be_visible()
    expect(page.locator("#live-loading")).to_be_empty()
