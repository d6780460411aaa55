"""The book for readers who use a keyboard, a screen reader or a printer."""

from itertools import pairwise

import pytest
from axe_playwright_python.sync_playwright import Axe

from tests.browser.conftest import settle
from tests.browser.test_book import PAGES

GRAVE = {"serious", "critical"}
CONTRAST = {"runOnly": ["color-contrast"], "resultTypes": ["violations"]}


@pytest.fixture(scope="module", params=PAGES)
def page(request, browser, site):
    """Open a page of the book."""
    with browser.new_context() as context:
        page = context.new_page()
        page.goto(f"{site.as_uri()}/{request.param}.html")
        settle(page)
        yield page


def violations(page, options=None) -> list[str]:
    """Return the grave violations that axe-core finds, each with the element it concerns."""
    found = Axe().run(page, options=options or {"resultTypes": ["violations"]}).response
    return [
        f"{violation['id']}: {node['html'][:200]}"
        for violation in found["violations"]
        if violation["impact"] in GRAVE
        for node in violation["nodes"]
    ]


@pytest.mark.timeout(120)
def test_axe_finds_no_grave_violation(page):
    assert violations(page) == []


@pytest.mark.timeout(120)
def test_the_dark_theme_has_contrast_too(page):
    page.evaluate("localStorage.setItem('mode', 'dark'); localStorage.setItem('theme', 'dark')")
    page.reload()
    settle(page)
    assert page.locator("html").get_attribute("data-theme") == "dark"
    assert violations(page, CONTRAST) == []


def test_headings_do_not_skip_a_level(page):
    levels = page.locator("article :is(h1, h2, h3, h4)").evaluate_all(
        "headings => headings.map(heading => Number(heading.tagName[1]))"
    )
    assert levels[0] == 1 and levels.count(1) == 1
    assert all(below - above <= 1 for above, below in pairwise(levels))


def test_what_is_printed_has_a_title_and_no_navigation(page):
    page.emulate_media(media="print")
    try:
        assert not page.locator(".bd-sidebar-primary").is_visible()
        assert page.locator("h1:visible").count() == 1  # the theme prints a title of its own
    finally:
        page.emulate_media(media="screen")
