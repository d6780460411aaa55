"""A headless Chromium for the tests of what readers see, and the built book."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest
import torch
from filelock import FileLock
from playwright.sync_api import Browser, BrowserContext, Page, Route, sync_playwright

from tools.chromium import MISSING, chromium
from tools.sources import ROOT
from transformer_course.translation import RECIPES, Translator
from transformer_course.translation.corpora.corpus import SentencePair
from transformer_course.translation.training.runs import Run

INSIDE_A_PAGE = {"data", "blob", "about"}
LOCAL_SCHEMES = {"file"} | INSIDE_A_PAGE

# One vocabulary for both languages, which three-way tying needs.
PAIRS = [SentencePair("the cat sleeps", "the cat sleeps")]
SIZES = {"d_model": 8, "heads": 2, "encoder_layers": 2, "decoder_layers": 2, "d_ff": 12}

QUIET = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Start the system's Chromium with a fresh profile.

    Without one the test is skipped; with REQUIRE_BROWSER=1, as in continuous integration, it fails.
    """
    program = chromium()
    if program is None:
        say = pytest.fail if os.environ.get("REQUIRE_BROWSER") == "1" else pytest.skip
        say(MISSING)
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=program, args=QUIET)
        yield started
        started.close()


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the book from the stored notebooks, once for all processes; a warning is an error."""
    shared = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        shared = shared.parent
    html = shared / "book" / "_build" / "html"
    with FileLock(shared / "book.lock"):
        if not (shared / "book" / "is-built").exists():
            build_book(shared / "book")
            (shared / "book" / "is-built").touch()
    return html


def build_book(output: Path) -> None:
    program = Path(sys.executable).with_name("jupyter-book")
    options = "--config book/_config.yml --toc book/_toc.yml -W --keep-going --path-output"
    command = [program, "build", ".", *options.split(), output]
    build = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert build.returncode == 0, build.stdout + build.stderr


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


@pytest.fixture(
    scope="module", params=["server", pytest.param("folder", marks=pytest.mark.exhaustive)]
)
def address(request: pytest.FixtureRequest, site: Path) -> Iterator[str]:
    """Return where the book stands, once behind a web server and once as plain files."""
    if request.param == "folder":
        yield site.as_uri()
    else:
        with served(site) as url:
            yield url


def settle(page: Page) -> None:
    """Wait until a page has loaded, drawn its formulas, and done what follows from their size.

    An idle network is not enough: a slow machine is still busy with what came over it.
    """
    page.wait_for_load_state("load")
    page.wait_for_load_state("networkidle")
    page.evaluate(
        """async () => {
            await window.MathJax?.startup.promise;
            for (let frame = 0; frame < 2; frame++) await new Promise(requestAnimationFrame);
        }"""
    )


@dataclass
class Visit:
    """A page that has finished drawing, and what it asked and said meanwhile."""

    name: str
    page: Page
    paths: set[str] = field(default_factory=set)
    strangers: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)


def watched(context: BrowserContext, name: str, own_host: str | None) -> Visit:
    """Return a new page that records console errors, and is refused every other host."""
    visit = Visit(name, context.new_page())

    def gate(route: Route) -> None:
        url = urlsplit(route.request.url)
        if url.scheme in LOCAL_SCHEMES or url.netloc == own_host:
            if url.scheme not in INSIDE_A_PAGE:
                visit.paths.add(unquote(url.path))
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
    # A page that is left or reloaded cancels what is still on its way, such as the icon.
    visit.page.on(
        "requestfailed",
        lambda request: (
            request.failure != "net::ERR_ABORTED" and visit.complaints.append(request.url)
        ),
    )
    return visit


@pytest.fixture(scope="module")
def open_page(browser: Browser, address: str) -> Callable[..., AbstractContextManager[Visit]]:
    """Return a context manager: a page of the book, with its formulas and charts drawn."""

    @contextmanager
    def opened(name: str, **options: Any) -> Iterator[Visit]:
        with browser.new_context(**options) as context:
            visit = watched(context, name, urlsplit(address).netloc or None)
            visit.page.goto(f"{address}/{name}.html")
            settle(visit.page)
            yield visit

    return opened


@pytest.fixture
def opens(browser: Browser) -> Callable[..., AbstractContextManager[Visit]]:
    """Return a context manager: a page on disk that needs no other file, in a new window."""

    @contextmanager
    def opened(path: Path, **options: Any) -> Iterator[Visit]:
        with browser.new_context(reduced_motion="reduce", **options) as context:
            visit = watched(context, path.name, None)
            visit.page.goto(path.as_uri())
            yield visit
            assert visit.complaints == []
            assert visit.strangers == []
            assert visit.paths == {str(path)}

    return opened


def random_run(
    folder: Path,
    pairs: Sequence[SentencePair] = PAIRS,
    languages: tuple[str, str] = ("en", "fr"),
    corpus: str = "multi30k",
    **choices: Any,
) -> Translator:
    """Write a run with random weights, which half precision holds as they are."""
    translator = Translator.from_pairs(pairs, languages, **(SIZES | choices))
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for parameter in translator.model.parameters():
            parameter.add_(0.3 * torch.randn(parameter.shape, generator=generator))
            parameter.copy_(parameter.half())
    translator.save(folder)
    texts = {"source": folder, "target": folder} if corpus == "files" else {}
    Run(corpus, RECIPES[corpus], **texts).write(folder)
    return translator
