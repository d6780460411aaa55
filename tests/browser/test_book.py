"""The built book as readers open it: from a web server and from a folder, without a network."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from urllib.parse import urlsplit

import pytest
import yaml
from playwright.sync_api import Browser, BrowserContext, Page, Route

from transformer_course.plots.renderer import VEGA_LITE

ROOT = Path(__file__).parents[2]
TOC = yaml.safe_load((ROOT / "book" / "_toc.yml").read_text(encoding="utf-8"))
CHAPTERS = [chapter["file"] for chapter in TOC["chapters"]]
LESSONS = [chapter for chapter in CHAPTERS if chapter.startswith("notebooks/")]
PAGES = [TOC["root"], *CHAPTERS]
LOCAL_SCHEMES = {"file", "data", "blob", "about"}
PHONE = {"width": 390, "height": 844}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the book from the stored notebooks; a warning fails the build."""
    output = tmp_path_factory.mktemp("book")
    program = Path(sys.executable).with_name("jupyter-book")
    options = "--config book/_config.yml --toc book/_toc.yml -W --keep-going --path-output"
    command = [program, "build", ".", *options.split(), output]
    build = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert build.returncode == 0, build.stdout + build.stderr
    return output / "_build" / "html"


class QuietHandler(SimpleHTTPRequestHandler):
    """Serve files without a log."""

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """Serve a folder on this machine's loopback address, on a free port."""
    handler = partial(QuietHandler, directory=str(folder))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.fixture(scope="module", params=["server", "folder"])
def address(request: pytest.FixtureRequest, site: Path) -> Iterator[str]:
    """Return where the book stands, once behind a web server and once as plain files."""
    if request.param == "folder":
        yield site.as_uri()
    else:
        with served(site) as url:
            yield url


@dataclass
class Visit:
    """A page that has finished drawing, and what it asked and said meanwhile."""

    name: str
    page: Page
    strangers: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)


def watched(context: BrowserContext, name: str, own_host: str | None) -> Visit:
    """Return a new page that records console errors, and is refused every other host."""
    visit = Visit(name, context.new_page())

    def gate(route: Route) -> None:
        url = urlsplit(route.request.url)
        if url.scheme in LOCAL_SCHEMES or url.netloc == own_host:
            route.continue_()
        else:
            visit.strangers.append(route.request.url)
            route.abort()

    context.route("**/*", gate)
    visit.page.on("pageerror", lambda error: visit.complaints.append(str(error)))
    visit.page.on(
        "console",
        lambda line: line.type in {"error", "warning"} and visit.complaints.append(line.text),
    )
    visit.page.on("requestfailed", lambda request: visit.complaints.append(request.url))
    return visit


@pytest.fixture(scope="module", params=PAGES)
def visit(request: pytest.FixtureRequest, browser: Browser, address: str) -> Iterator[Visit]:
    """Open a page of the book and wait until its formulas and charts are drawn."""
    with browser.new_context() as context:
        opened = watched(context, request.param, urlsplit(address).netloc or None)
        opened.page.goto(f"{address}/{request.param}.html", wait_until="networkidle")
        opened.page.evaluate("window.MathJax?.startup.promise")
        yield opened


def stored_charts(name: str) -> int:
    """Count the charts among a notebook's outputs."""
    if name not in LESSONS:
        return 0
    notebook = json.loads((ROOT / f"{name}.ipynb").read_text(encoding="utf-8"))
    outputs = [output for cell in notebook["cells"] for output in cell.get("outputs", [])]
    return sum(VEGA_LITE in output.get("data", {}) for output in outputs)


def test_every_page_is_built(site: Path) -> None:
    assert all((site / f"{page}.html").exists() for page in PAGES)


def test_page_asks_no_other_host(visit: Visit) -> None:
    assert visit.strangers == []


def test_page_has_nothing_to_complain_about(visit: Visit) -> None:
    assert visit.complaints == []


def test_every_stored_chart_is_drawn_and_described(visit: Visit) -> None:
    figures = visit.page.locator("figure.chart")
    assert figures.count() == stored_charts(visit.name)
    for figure in figures.all():
        figure.locator("canvas").first.wait_for()
        assert figure.get_attribute("aria-label")


def test_every_formula_is_typeset(visit: Visit) -> None:
    formulas = visit.page.locator(".math").count()
    assert visit.page.locator(".math mjx-container").count() == formulas
    assert visit.page.locator(".math mjx-merror").count() == 0
    assert formulas > 0 or visit.name not in LESSONS
    assert "$$" not in visit.page.locator("article").inner_text()


def test_every_image_says_what_it_shows(visit: Visit) -> None:
    for image in visit.page.locator("article img").all():
        text = image.get_attribute("alt")
        # Sphinx falls back on the path of the file.
        assert text and not text.endswith((".png", ".svg"))


def test_page_fits_a_phone(visit: Visit) -> None:
    visit.page.set_viewport_size(PHONE)
    assert visit.page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]


def test_front_page_leads_to_every_lesson(browser: Browser, site: Path) -> None:
    with browser.new_context() as context:
        page = context.new_page()
        page.goto(f"{site.as_uri()}/index.html")
        page.wait_for_url(f"**/{TOC['root']}.html")
        for lesson in LESSONS:
            assert page.locator(f'article a[href$="{lesson}.html"]').count() > 0
