"""Pages to be read, on a text and on a training, are for everybody, on large and small screens."""

from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser

from transformer_course.publish.report_page import write_report
from transformer_course.publish.text_page import write_text_page
from transformer_course.translation import toy_checkpoint, toy_corpus
from transformer_course.translation.corpora.inspection import inspect_text


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a page on a text, with all kinds of lines, and a report."""
    folder = tmp_path_factory.mktemp("pages")
    pairs = toy_corpus().split("dev")
    strange = [("", "le chat"), ("the café", "le cafÃ© fermÃ©"), ("the cat sleeps", "猫在睡觉")]
    for name, side in (("my.en", 0), ("my.fr", 1)):
        lines = [(pair.source, pair.target)[side] for pair in pairs] + [s[side] for s in strange]
        (folder / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    write_text_page(inspect_text(folder / "my.en", folder / "my.fr"), folder / "text.html")
    write_report([toy_checkpoint()], folder / "report.html")
    return folder


@pytest.mark.parametrize("width", [1440, 390])
@pytest.mark.parametrize("colours", ["light", "dark"])
@pytest.mark.parametrize("name", ["text", "report"])
def test_axe_finds_nothing(
    browser: Browser, folder: Path, name: str, colours: str, width: int
) -> None:
    size = {"width": width, "height": 800}
    page = browser.new_page(viewport=size, color_scheme=colours)
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto((folder / f"{name}.html").as_uri())
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    found = Axe().run(page).response["violations"]
    assert [(each["id"], each["nodes"][0]["html"][:200]) for each in found] == []
    assert all(url.startswith(("file:", "data:")) for url in asked)
    page.close()
