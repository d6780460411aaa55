"""A page to be read: headings, paragraphs, tables and pictures in one file without network."""

import base64
import html
from collections.abc import Iterable, Sequence
from pathlib import Path
from string import Template

from transformer_course import __version__
from transformer_course.files import write_text
from transformer_course.plots.renderer import Picture

WEB = Path(__file__).parent / "web"
"""The folder with scripts, styles and HTML, which the course's book uses too."""
SUFFIXES = (".html", ".htm")
STYLES = ("page.css", "document.css")

Cell = str | int | float


def check_page(path: Path) -> None:
    """Raise ValueError unless a page's name ends as that of a page.

    Browsers show other files as text; and whoever mixes names up loses no file of another kind.
    """
    if path.suffix.lower() not in SUFFIXES:
        raise ValueError(f"the name of a page must end in .html; got {path.name!r}.")


def write_document(path: Path, title: str, parts: Iterable[str]) -> None:
    """Write a page; one that is already there is replaced.

    Parameters
    ----------
    path
        The page.
    title
        Its title.
    parts
        HTML, as the functions below make it.

    Raises
    ------
    ValueError
        If the page's name does not end in ``.html``.
    OSError
        If it cannot be written; what was there before is untouched.
    """
    check_page(path)
    text = Template((WEB / "document.html").read_text(encoding="utf-8")).substitute(
        title=html.escape(title),
        style="\n".join((WEB / name).read_text(encoding="utf-8") for name in STYLES),
        content="\n".join(parts),
        origin=f"Made with the Transformer course, version {__version__}.",
    )
    write_text(path, text)


def heading(text: str) -> str:
    """Return the heading of a section."""
    return f"<h2>{html.escape(text)}</h2>"


def paragraph(text: str) -> str:
    """Return a paragraph."""
    return f"<p>{html.escape(text)}</p>"


def code(text: str) -> str:
    """Return lines of code, which a keyboard can scroll."""
    return f'<pre tabindex="0"><code>{html.escape(text)}</code></pre>'


def figure(picture: Picture) -> str:
    """Return a picture with its text alternative."""
    data = base64.b64encode(picture.png()).decode("ascii")
    alternative = html.escape(picture.description, quote=True)
    return f'<figure><img alt="{alternative}" src="data:image/png;base64,{data}"></figure>'


def table(caption: str, columns: Sequence[str], rows: Iterable[Sequence[Cell]]) -> str:
    """Return a table; numbers stand at the right.

    Sentences of any language keep their own direction.
    """
    rows = list(rows)
    numbers = [all(not isinstance(row[n], str) for row in rows) for n in range(len(columns))]

    def line(tag: str, cells: Sequence[Cell], scope: str = "") -> str:
        kinds = [' class="number"' if number else ' dir="auto"' for number in numbers]
        return "".join(
            f"<{tag}{scope}{kind}>{html.escape(_written(cell))}</{tag}>"
            for cell, kind in zip(cells, kinds, strict=True)
        )

    head = line("th", columns, ' scope="col"')
    body = "\n".join(f"<tr>{line('td', row)}</tr>" for row in rows)
    return (
        f'<div class="table" tabindex="0" role="region" aria-label="{html.escape(caption)}">'
        f"<table><caption>{html.escape(caption)}</caption>"
        f"<thead><tr>{head}</tr></thead>\n"
        f"<tbody>{body}</tbody></table></div>"
    )


def _written(cell: Cell) -> str:
    return f"{cell:,}" if isinstance(cell, int) else str(cell)
