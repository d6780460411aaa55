"""The book's pages as Markdown: whole, linked, and without what an exercise asks for."""

import re
from pathlib import Path

import pytest

from tools import book_markdown, book_text
from tools.sources import ROOT, read_notebook
from transformer_course.exercises import catalogues

NAMES = book_markdown.names()
LESSONS = [name for name in NAMES if name.startswith("notebooks/")]
PAGE_LINK = re.compile(r"\[([^\]]*)\]\(([^)\s]+)\)")
FENCED = re.compile(r"^(`{3,})(\w*)\n(.*?)^\1$", re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    book_markdown.write_pages(folder)
    return folder


@pytest.mark.parametrize("name", [*NAMES, "llms"])
def test_links_lead_to_pages_that_are_there(site: Path, name: str) -> None:
    path = site / (book_markdown.LIST if name == "llms" else f"{name}.md")
    text = re.sub(r"`[^`\n]+`", "", FENCED.sub("", path.read_text(encoding="utf-8")))
    for words, target in PAGE_LINK.findall(text):
        assert words.strip(), target
        if not re.match(r"https?://|#|\$", target):
            assert (path.parent / target).is_file(), target
    assert ".ipynb)" not in text


def test_every_page_is_listed_once(site: Path) -> None:
    listed = PAGE_LINK.findall((site / book_markdown.LIST).read_text(encoding="utf-8"))
    assert [target for _, target in listed] == [f"{name}.md" for name in NAMES]
    assert all((site / target).is_file() for _, target in listed)


@pytest.mark.parametrize("name", NAMES)
def test_nothing_is_left_that_only_the_builder_understands(site: Path, name: str) -> None:
    text = (site / f"{name}.md").read_text(encoding="utf-8")
    prose = FENCED.sub("", text)
    assert text.startswith("# ")
    assert not re.findall(r"\{\{ \w+ \}\}|^```\{|\{term\}", text, re.MULTILINE)
    assert "<script" not in prose and "<svg" not in prose


@pytest.mark.parametrize("name", LESSONS)
def test_a_lesson_keeps_its_words_and_the_words_of_its_pictures(site: Path, name: str) -> None:
    text = (site / f"{name}.md").read_text(encoding="utf-8")
    cells = read_notebook(ROOT / f"{name}.ipynb").cells
    headings = [
        line
        for cell in cells
        if cell.cell_type == "markdown"
        for line in cell.source.splitlines()
        if line.startswith("#")
    ]
    assert [line for line in text.splitlines() if line in headings] == headings
    pictures = [o for c in cells for o in c.get("outputs", []) if "image/png" in o.get("data", {})]
    assert text.count("*Picture: ") == len(pictures)


@pytest.mark.parametrize("name", NAMES)
def test_no_page_tells_what_an_exercise_asks_for(site: Path, name: str) -> None:
    text = (site / f"{name}.md").read_text(encoding="utf-8")
    assert ".solution()\n" not in text.replace("`", "")
    notebook = ROOT / f"{name}.ipynb"
    cells = read_notebook(notebook).cells if notebook.exists() else []
    stubs = {cell.source for cell in cells if "exercise" in cell.metadata.get("tags", [])}
    asked = {e: each for exercises in catalogues().values() for e, each in exercises.items()}
    for _, _, code in FENCED.findall(text):
        defined = re.findall(r"^(?:def|class) (\w+)", code, re.MULTILINE)
        if not asked.keys().isdisjoint(defined):
            assert code.rstrip("\n") in stubs, defined
    for exercise in asked.values():
        lines = {line.strip() for line in exercise.solution().code.splitlines()[1:]}
        telling = {line for line in lines if len(line) > 12}
        assert not telling or not telling <= {line.strip() for line in text.splitlines()}, exercise


def test_what_is_left_out_is_there() -> None:
    assert set(book_markdown.ON_THE_SITE) <= book_text.TEXTS.keys()


def test_course_code_that_is_no_answer_is_shown(site: Path) -> None:
    text = (site / "notebooks" / "01_positional_encoding.md").read_text(encoding="utf-8")
    assert "\ndef angular_frequencies(" in text
    assert "\nclass LearnedPositionalEncoding(" in text


def test_terms_of_the_glossary_keep_their_meaning(site: Path) -> None:
    text = (site / "book" / "glossary.md").read_text(encoding="utf-8")
    assert "**ablation**: An experiment that removes one part of a model" in text
    assert "silences single heads." in text
