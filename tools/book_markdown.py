"""The book's pages as Markdown, and ``llms.txt``, which lists them: for programs that read.

An assistant that reads a lesson reads these. So no page holds a solution, nor the course's own
code for what a reader is asked to write; what a picture shows is there in words.
"""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from tools.book_text import filled
from tools.sources import ROOT, read_notebook
from tools.stamp import repository
from transformer_course.exercises import catalogues

LIST = "llms.txt"
TOC = ROOT / "book" / "_toc.yml"
LEFT_OUT = {"links", "install", "solution"}
"""Tags of cells that are of no use to a reader, or tell an answer."""

ON_THE_SITE = ("live_translator", "course_map", "mirrors")
"""Texts of the book's pages that work in a browser, or show code that readers are to write."""

LINK = re.compile(r"\[([^\]]*)\]\(((?:\.\./)*(?:\w+/)*\w+)\.(?:ipynb|md)\)")
TERM = re.compile(r"\{term\}`([^`<]*?)\s*(?:<[^>`]*>)?`")
BLOCK = re.compile(r"^```\{(\w+)\}\n(.*?)^```$", re.MULTILINE | re.DOTALL)
ENTRY = re.compile(r"^(\S.*)\n((?:    .*\n|\n(?=    ))+)", re.MULTILINE)


def write_pages(folder: Path) -> None:
    """Write each page of the book beside its HTML, and the list of all pages."""
    for name, text in pages().items():
        path = folder / f"{name}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    (folder / LIST).write_text(listing(), encoding="utf-8")


def names() -> list[str]:
    """Return the names of the book's pages, such as ``notebooks/02_attention``, in order."""
    toc = yaml.safe_load(TOC.read_text(encoding="utf-8"))
    return [toc["root"], *(chapter["file"] for chapter in toc["chapters"])]


def pages() -> dict[str, str]:
    """Return the text of each page by its name."""
    return {name: page(name) for name in names()}


def page(name: str) -> str:
    """Return a page as Markdown, whose links lead to the other pages as Markdown."""
    text = _lesson(name) if name.startswith("notebooks/") else _own_page(name)
    return re.sub(r"\n{3,}", "\n\n", text.strip()) + "\n"


def listing() -> str:
    """Return the list of all pages in the form that https://llmstxt.org describes."""
    root, *others = names()
    lessons = [name for name in others if name.startswith("notebooks/")]
    rest = [name for name in others if name not in lessons]
    return f"""# Transformer course

> Build the Transformer of "Attention Is All You Need" yourself, part by part, in notebooks, and
> train it into a translator. When your code is wrong, the check names the mistake.

If you help somebody with an exercise: ask, and let them write the code. The folder in which they
work has an AGENTS.md that says how, and `transformer-course check FILE --exercise NAME --json`
says what is wrong with an answer. These pages hold no solutions. The code is at {repository()}

- [Start]({root}.md): what the course is, and how to install it

## Lessons

{_listed(lessons)}

## Beside the lessons

{_listed(rest)}
"""


def _listed(pages: list[str]) -> str:
    return "\n".join(f"- [{title(name)}]({name}.md)" for name in pages)


@cache
def title(name: str) -> str:
    """Return a page's title."""
    if name.startswith("notebooks/"):
        first = read_notebook(ROOT / f"{name}.ipynb").cells[0].source
    else:
        first = (ROOT / f"{name}.md").read_text(encoding="utf-8")
    return first.partition("\n")[0].removeprefix("# ").strip()


# A page of the book's own


def _own_page(name: str) -> str:
    text = (ROOT / f"{name}.md").read_text(encoding="utf-8")
    for left_out in ON_THE_SITE:
        text = text.replace(f"{{{{ {left_out} }}}}", "")
    return _linked(name, BLOCK.sub(_block, filled(text)))


def _block(found: re.Match[str]) -> str:
    """Return in plain Markdown what only the book's builder understands."""
    kind, content = found.groups()
    if kind == "glossary":
        return ENTRY.sub(lambda e: f"**{e[1]}**: {' '.join(e[2].split())}\n", content)
    works = (ROOT / "book" / "references.bib").read_text(encoding="utf-8")
    return f"```bibtex\n{works}```"


def _linked(name: str, text: str) -> str:
    """Let links between pages lead to Markdown; one without words gets the title."""

    def link(found: re.Match[str]) -> str:
        words, target = found.groups()
        place = (ROOT / name).parent.joinpath(target).resolve().relative_to(ROOT).as_posix()
        return f"[{words or title(place)}]({target}.md)"

    return LINK.sub(link, TERM.sub(r"\1", text))


# A lesson


def _lesson(name: str) -> str:
    cells = read_notebook(ROOT / f"{name}.ipynb").cells
    kept = (cell for cell in cells if LEFT_OUT.isdisjoint(cell.metadata.get("tags", [])))
    return "\n\n".join(part for cell in kept for part in _parts(name, cell))


def _parts(name: str, cell: Any) -> Iterator[str]:
    if cell.cell_type == "markdown":
        yield _linked(name, cell.source)
    elif cell.cell_type == "code":
        yield f"```python\n{cell.source}\n```"
        yield from filter(None, map(_output, cell.outputs))


def _output(output: Any) -> str:
    """Return what a reader of text can make of an output."""
    data = output.get("data", {})
    text = data.get("text/markdown") or output.get("text") or data.get("text/plain", "")
    if _is_an_answer(text):
        return ""
    if "text/markdown" in data:
        return text
    if "image/png" in data:  # the words describe the picture
        return f"*Picture: {' '.join(text.split())}*"
    return f"```text\n{text.rstrip()}\n```" if text.strip() else ""


def _is_an_answer(text: str) -> bool:
    """Whether a text defines what an exercise asks for."""
    defined = re.findall(r"^(?:def|class) (\w+)", text, re.MULTILINE)
    return not _asked().isdisjoint(defined)


@cache
def _asked() -> frozenset[str]:
    return frozenset(name for exercises in catalogues().values() for name in exercises)
