"""The built book as readers open it: from a web server and from a folder, without a network."""

import json
from pathlib import Path

import pytest
import yaml
from playwright.sync_api import Browser

from tools.links import broken_links, read_pages
from tools.twins import ROOT
from transformer_course.plots.renderer import VEGA_LITE

TOC = yaml.safe_load((ROOT / "book" / "_toc.yml").read_text(encoding="utf-8"))
CHAPTERS = [chapter["file"] for chapter in TOC["chapters"]]
LESSONS = [chapter for chapter in CHAPTERS if chapter.startswith("notebooks/")]
PAGES = [TOC["root"], *CHAPTERS]
PHONE = {"width": 390, "height": 844}
HEAVIEST = 5e6  # bytes before any compression, for a reader who comes for the first time


@pytest.fixture(scope="module", params=PAGES)
def visit(request, open_page):
    """Open a page of the book."""
    with open_page(request.param) as opened:
        yield opened


def stored_charts(name: str) -> int:
    """Count the charts among a notebook's outputs."""
    if name not in LESSONS:
        return 0
    notebook = json.loads((ROOT / f"{name}.ipynb").read_text(encoding="utf-8"))
    outputs = [output for cell in notebook["cells"] for output in cell.get("outputs", [])]
    return sum(VEGA_LITE in output.get("data", {}) for output in outputs)


def loaded(visit, site: Path) -> set[Path]:
    """Return the site's files that a page has asked for."""
    return {site / path.removeprefix(str(site)).lstrip("/") for path in visit.paths}


def test_every_page_is_built(site: Path) -> None:
    assert all((site / f"{page}.html").exists() for page in PAGES)


def test_every_link_inside_the_book_leads_somewhere(site: Path) -> None:
    assert broken_links(read_pages(site)) == []


def test_page_asks_no_other_host(visit):
    assert visit.strangers == []


def test_page_has_nothing_to_complain_about(visit):
    assert visit.complaints == []


def test_first_view_is_light(visit, site):
    assert sum(file.stat().st_size for file in loaded(visit, site)) <= HEAVIEST


def test_every_stored_chart_is_drawn_and_described(visit):
    figures = visit.page.locator("figure.chart")
    assert figures.count() == stored_charts(visit.name)
    for figure in figures.all():
        figure.locator("canvas").first.wait_for()
        assert figure.get_attribute("aria-label")


def test_every_formula_is_typeset(visit):
    formulas = visit.page.locator(".math").count()
    assert visit.page.locator(".math mjx-container").count() == formulas
    assert visit.page.locator(".math mjx-merror").count() == 0
    assert formulas > 0 or visit.name not in LESSONS
    assert "$$" not in visit.page.locator("article").inner_text()


def test_every_image_says_what_it_shows(visit):
    for image in visit.page.locator("article img").all():
        text = image.get_attribute("alt")
        # Sphinx falls back on the path of the file.
        assert text and not text.endswith((".png", ".svg"))


def test_page_fits_a_phone(visit):
    visit.page.set_viewport_size(PHONE)
    assert visit.page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]


def test_front_page_leads_to_every_lesson(browser: Browser, site: Path) -> None:
    with browser.new_context() as context:
        page = context.new_page()
        page.goto(f"{site.as_uri()}/index.html")
        page.wait_for_url(f"**/{TOC['root']}.html")
        for lesson in LESSONS:
            assert page.locator(f'article a[href$="{lesson}.html"]').count() > 0
