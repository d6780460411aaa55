"""Take the README's pictures, and that of a published page, from the real things.

    python -m tools.pictures          after `make book`; needs Chromium

Each picture holds a digest of what it was taken of, so a test sees when one has aged.
"""

import io
import re
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path

from PIL import Image
from PIL.PngImagePlugin import PngInfo
from playwright.sync_api import Browser, Page, sync_playwright

from tools import front_page
from tools.chromium import MISSING, chromium
from tools.sources import ROOT
from transformer_course.files import atomic_write
from transformer_course.publish import WEB, write_page
from transformer_course.translation import toy_checkpoint

SITE = ROOT / "book" / "_build" / "html"
IMAGES, STATIC = ROOT / "book" / "images", ROOT / "book" / "_static"
SCHEMES = ("light", "dark")
TAKEN_OF = "taken-of"
# So high that no figure is scrolled below the page's head.
README_SIZE = {"width": 1180, "height": 2400}
PAGE_SIZE = {"width": 560, "height": 900}
SHARED, SHARED_SIZE = "share.png", {"width": 1200, "height": 630}
TRANSLATOR = ".live-translator"


def figures() -> dict[str, str]:
    """Return what the README's pictures are taken of: HTML by the id of the figure."""
    return {front_page.ANSWER: front_page.answer_and_card(), front_page.WAY: front_page.way()}


def digest(content: str) -> str:
    """Return what a picture remembers of the content it was taken of."""
    # A chart's bytes depend on the version of the library that draws it.
    return sha256(re.sub(r'"data:[^"]*"', "", content).encode()).hexdigest()


def taken_of(picture: Path) -> str:
    """Return the digest that a picture holds."""
    with Image.open(picture) as image:
        return image.info[TAKEN_OF]


def main() -> None:
    """Take all pictures, light and dark."""
    program = chromium()
    if program is None:
        sys.exit(MISSING)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        for scheme in SCHEMES:
            _take_page(browser, scheme)
            _take_figures(browser, scheme)
        _take_first_screen(browser)


def _take_page(browser: Browser, scheme: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "page.html"
        write_page(toy_checkpoint(), file)
        with _opened(browser, file, scheme, PAGE_SIZE) as page:
            picture = STATIC / front_page.PAGE.format(scheme)
            page.locator(TRANSLATOR).scroll_into_view_if_needed()
            top = page.locator(TRANSLATOR).bounding_box()["y"]
            clip = {"x": 0, "y": top, "width": PAGE_SIZE["width"], "height": PAGE_SIZE["width"]}
            _write(picture, page.screenshot(clip=clip), published_sources())


def published_sources() -> str:
    """Return the sources of a published page's looks."""
    return "".join(file.read_text(encoding="utf-8") for file in sorted(WEB.iterdir()))


def _take_figures(browser: Browser, scheme: str) -> None:
    with _opened(browser, SITE / "book" / "index.html", scheme, README_SIZE) as page:
        for name, html in figures().items():
            _write(IMAGES / f"{name}-{scheme}.png", page.locator(f"#{name}").screenshot(), html)


def _take_first_screen(browser: Browser) -> None:
    """Take what a link to the book shows where it is shared."""
    with _opened(browser, SITE / "book" / "index.html", "light", SHARED_SIZE) as page:
        _write(STATIC / SHARED, page.screenshot(), front_page.answer_and_card())


@contextmanager
def _opened(browser: Browser, file: Path, scheme: str, size: dict[str, int]) -> Iterator[Page]:
    context = browser.new_context(viewport=size, color_scheme=scheme, device_scale_factor=2)
    page = context.new_page()
    page.goto(file.as_uri())
    page.wait_for_load_state("networkidle")
    yield page
    context.close()


def _write(picture: Path, screenshot: bytes, content: str) -> None:
    """Write a screenshot in 256 colours, with the digest of what it shows."""
    note, small = PngInfo(), io.BytesIO()
    note.add_text(TAKEN_OF, digest(content))
    image = Image.open(io.BytesIO(screenshot)).convert("RGB").quantize(256)
    image.save(small, format="png", optimize=True, pnginfo=note)
    with atomic_write(picture) as new:
        new.write_bytes(small.getvalue())


if __name__ == "__main__":
    main()
