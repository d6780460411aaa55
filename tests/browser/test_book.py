"""The built book as readers open it: from a web server and from a folder, without a network.

Among them are readers who use a keyboard, a screen reader or a printer.
"""

import json
from itertools import pairwise
from pathlib import Path
from typing import Any
from urllib.parse import quote_plus, urlsplit

import pytest
import yaml
from axe_playwright_python.sync_playwright import Axe
from bs4 import BeautifulSoup
from playwright.sync_api import Browser

from tests.browser.conftest import settle, watched
from tools.links import broken_links, read_pages
from tools.sources import ROOT, outcomes_of
from transformer_course.plots.renderer import VEGA_LITE

TOC = yaml.safe_load((ROOT / "book" / "_toc.yml").read_text(encoding="utf-8"))
CHAPTERS = [chapter["file"] for chapter in TOC["chapters"]]
LESSONS = [chapter for chapter in CHAPTERS if chapter.startswith("notebooks/")]
PAGES = [TOC["root"], *CHAPTERS]
# A page takes a browser seconds, and axe-core more; in every run it opens one of each kind.
KINDS = {TOC["root"], "book/live_translator", "notebooks/02_attention", "book/teachers"}
WITHOUT_CHARTS = KINDS - {"notebooks/02_attention"}


def often(*pages: str) -> list[object]:
    """Return all pages as parameters; those that are not named wait for the exhaustive tests."""
    return [p if p in pages else pytest.param(p, marks=pytest.mark.exhaustive) for p in PAGES]


each_page_of_text = pytest.mark.parametrize("visit", often(*WITHOUT_CHARTS), indirect=True)
PHONE = {"width": 390, "height": 844}
GRAVE = {"serious", "critical"}
CONTRAST = {"runOnly": ["color-contrast"], "resultTypes": ["violations"]}
HEAVIEST = 3.6e6  # bytes before any compression, for a reader who comes for the first time


@pytest.fixture(scope="module", params=often(*KINDS))
def visit(request, open_page):
    """Open a page of the book."""
    with open_page(request.param) as opened:
        yield opened


def notebook_of(lesson: str) -> dict[str, Any]:
    """Read the notebook of which a page is made."""
    return json.loads((ROOT / f"{lesson}.ipynb").read_text(encoding="utf-8"))


def has_formulas(lesson: str) -> bool:
    """Say whether a lesson's text holds a formula."""
    cells = notebook_of(lesson)["cells"]
    return any("$" in "".join(c["source"]) for c in cells if c["cell_type"] == "markdown")


def stored_charts(name: str) -> int:
    """Count the charts among a notebook's outputs, and among those that are kept for the book."""
    if name not in LESSONS:
        return 0
    notebook = notebook_of(name)
    cells = [cell.get("outputs", []) for cell in notebook["cells"]]
    if (kept := outcomes_of(Path(name))).exists():
        cells += json.loads(kept.read_text(encoding="utf-8")).values()
    outputs = [output for outputs in cells for output in outputs]
    return sum(VEGA_LITE in output.get("data", {}) for output in outputs)


def loaded(visit, site: Path) -> set[Path]:
    """Return the site's files that a page has asked for."""
    return {site / path.removeprefix(str(site)).lstrip("/") for path in visit.paths}


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[Path, BeautifulSoup]:
    """Read all pages of the book, without a browser."""
    return read_pages(site)


def test_every_page_is_built(site: Path) -> None:
    assert all((site / f"{page}.html").exists() for page in PAGES)


def test_every_link_inside_the_book_leads_somewhere(pages) -> None:
    assert broken_links(pages) == []


def test_no_page_is_made_of_what_another_host_has(pages) -> None:
    parts = [tag for page in pages.values() for tag in page.select("[src], link[href]")]
    assert len(parts) > len(pages)
    assert [tag for tag in parts if urlsplit(tag.get("src") or tag["href"]).netloc] == []


def test_page_asks_no_other_host(visit):
    assert visit.strangers == []


def test_page_has_nothing_to_complain_about(visit):
    assert visit.complaints == []


def test_first_view_is_light(visit, site):
    assert sum(file.stat().st_size for file in loaded(visit, site)) <= HEAVIEST


def test_every_stored_chart_is_drawn_and_described(visit):
    figures = visit.page.locator("figure.chart")
    assert figures.count() == stored_charts(visit.name)
    visit.page.evaluate("document.querySelectorAll('details').forEach(fold => fold.open = true)")
    for figure in figures.all():
        figure.locator("canvas").first.wait_for()
        assert figure.get_attribute("aria-label")


def test_every_formula_is_typeset(visit):
    formulas = visit.page.locator(".math").count()
    assert visit.page.locator(".math mjx-container").count() == formulas
    assert visit.page.locator(".math mjx-merror").count() == 0
    if visit.name in LESSONS:
        assert (formulas > 0) == has_formulas(visit.name)
    assert "$$" not in visit.page.locator("article").inner_text()


def test_every_image_says_what_it_shows(visit):
    for image in visit.page.locator("article img").all():
        text = image.get_attribute("alt")
        # Sphinx falls back on the path of the file.
        assert text and not text.endswith((".png", ".svg"))


def violations(page, options=None) -> list[str]:
    """Return the grave violations that axe-core finds, each with the element it concerns."""
    found = Axe().run(page, options=options or {"resultTypes": ["violations"]}).response
    return [
        f"{violation['id']}: {node['html'][:200]}"
        for violation in found["violations"]
        if violation["impact"] in GRAVE
        for node in violation["nodes"]
    ]


@pytest.mark.parametrize(
    ("words", "page"),
    [
        ("NaN", "notebooks/02_attention"),
        ("KV cache", "notebooks/08_decoding"),
        ("teacher forcing", "notebooks/07_toy_translation"),
        ("why is my loss ln V", "notebooks/12_when_it_does_not_work"),
    ],
)
def test_search_finds_what_people_ask(open_page, words, page):
    with open_page("search") as opened:
        opened.page.goto(f"{opened.page.url}?q={quote_plus(words)}")
        opened.page.locator(f"#search-results a[href*='{page}.html']").first.wait_for()


def test_page_fits_a_phone(visit):
    usual = visit.page.viewport_size
    visit.page.set_viewport_size(PHONE)
    assert visit.page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    visit.page.set_viewport_size(usual)


@pytest.mark.timeout(120)
@each_page_of_text
def test_axe_finds_no_grave_violation(visit):
    assert violations(visit.page) == []


def test_headings_do_not_skip_a_level(visit):
    levels = visit.page.locator("article :is(h1, h2, h3, h4)").evaluate_all(
        "headings => headings.map(heading => Number(heading.tagName[1]))"
    )
    assert levels[0] == 1 and levels.count(1) == 1
    assert all(below - above <= 1 for above, below in pairwise(levels))


def test_what_is_printed_has_a_title_and_no_navigation(visit):
    visit.page.emulate_media(media="print")
    try:
        assert not visit.page.locator(".bd-sidebar-primary").is_visible()
        assert visit.page.locator("h1:visible").count() == 1  # the theme prints a title of its own
    finally:
        visit.page.emulate_media(media="screen")


@pytest.mark.timeout(120)
@pytest.mark.parametrize("visit", often(TOC["root"]), indirect=True)
def test_the_dark_theme_has_contrast_too(visit):
    visit.page.evaluate(
        "localStorage.setItem('mode', 'dark'); localStorage.setItem('theme', 'dark')"
    )
    visit.page.reload()
    settle(visit.page)
    assert visit.page.locator("html").get_attribute("data-theme") == "dark"
    assert violations(visit.page, CONTRAST) == []


def test_the_folder_opens_on_a_front_page_that_leads_to_every_lesson(
    browser: Browser, site: Path
) -> None:
    with browser.new_context() as context:
        visit = watched(context, "index", None)
        visit.page.goto(f"{site.as_uri()}/index.html")
        visit.page.wait_for_url(f"**/{TOC['root']}.html")
        for lesson in LESSONS:
            assert visit.page.locator(f'article a[href$="{lesson}.html"]').count() > 0
        visit.page.goto(f"{site.as_uri()}/{LESSONS[1]}.html")
        visit.page.locator("figure.chart canvas").first.wait_for()
        assert visit.strangers == [] and visit.complaints == []
