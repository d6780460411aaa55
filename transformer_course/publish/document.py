"""Pages in one file without network: what all have, and headings, paragraphs, tables, pictures."""

import base64
import html
from collections.abc import Iterable, Sequence
from pathlib import Path
from string import Template

import matplotlib as mpl
from jaxtyping import Float
from matplotlib.colors import to_hex, to_rgb
from torch import Tensor

from transformer_course import __version__
from transformer_course.files import write_text
from transformer_course.plots.renderer import Picture
from transformer_course.plots.theme import SEQUENTIAL

WEB = Path(__file__).parent / "web"
"""The folder with scripts, styles and HTML, which the course's book uses too."""
SUFFIXES = (".html", ".htm")
SHARED_STYLE, STYLE = "page.css", "document.css"
"""The styles of all pages, and of those to be read."""

SHADES = 101
"""Colours of the attention weights 0.00, 0.01 ... 1.00."""

Cell = str | int | float


def check_page(path: Path) -> None:
    """Raise ValueError unless a page can be written there, and its name ends as that of a page.

    Browsers show other files as text; and whoever mixes names up loses no file of another kind.
    """
    if path.suffix.lower() not in SUFFIXES:
        raise ValueError(f"the name of a page must end in .html; got {path.name!r}.")
    check_place(path)


def check_place(path: Path) -> None:
    """Raise ValueError unless a file can be there: before anything is computed for it."""
    if path.is_dir():
        raise ValueError(f"{path} is a folder: name a file.")
    if not path.parent.is_dir():
        raise ValueError(
            f"there is no folder {path.parent} for {path.name}: make it, or name another."
        )


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
    write_text(path, framed(title, STYLE, "\n".join(parts)))


def framed(
    title: str, style: str, content: str, origin: str = "", scripts: Sequence[str] = ()
) -> str:
    """Return a whole page: the head, the heading and the foot that all pages have, and its own.

    Parameters
    ----------
    title
        Its title, which is its heading too.
    style
        The file of its own styles, in :data:`WEB`.
    content
        HTML below the heading.
    origin
        What it was made from, in a sentence.
    scripts
        JavaScript; a page without any forbids all.
    """
    made = f"Made with the Transformer course, version {__version__}."
    return Template(web_file("page.html")).substitute(
        title=html.escape(title),
        script_source="script-src 'unsafe-inline'; " if scripts else "",
        style="\n".join(map(web_file, (SHARED_STYLE, style))),
        content=content.strip(),
        origin=f"{html.escape(origin)} {made}" if origin else made,
        scripts="".join(f"<script>\n{script}</script>\n" for script in scripts),
    )


def web_file(name: str) -> str:
    """Read a file of :data:`WEB`."""
    return (WEB / name).read_text(encoding="utf-8")


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
    return _in_a_table(caption, head, body)


def _in_a_table(caption: str, head: str, body: str) -> str:
    """Return a table that a keyboard can scroll."""
    return (
        f'<div class="table" tabindex="0" role="region" aria-label="{html.escape(caption)}">'
        f"<table><caption>{html.escape(caption)}</caption>"
        f"<thead><tr>{head}</tr></thead>\n"
        f"<tbody>{body}</tbody></table></div>"
    )


def _written(cell: Cell) -> str:
    return f"{cell:,}" if isinstance(cell, int) else str(cell)


def weights_table(
    caption: str,
    rows: Sequence[str],
    columns: Sequence[str],
    weights: Float[Tensor, "rows columns"],
) -> str:
    """Return attention weights, 0 to 1, as a table with coloured cells.

    A browser writes the tokens of any script, which drawn pictures do not.
    """
    colours = shades()

    def cell(weight: float) -> str:
        colour, figures = colours[round(weight * (SHADES - 1))]
        style = f"background-color: {colour}; color: {figures}"
        return f'<td class="weight" style="{style}">{weight:.2f}</td>'

    head = "".join(f'<th scope="col" dir="auto">{html.escape(token)}</th>' for token in columns)
    body = "\n".join(
        f'<tr><th scope="row" dir="auto">{html.escape(token)}</th>{"".join(map(cell, row))}</tr>'
        for token, row in zip(rows, weights.tolist(), strict=True)
    )
    return _in_a_table(caption, f"<td></td>{head}", body)


def shades() -> list[tuple[str, str]]:
    """Return the colour of a cell for each weight, and the colour of figures on it.

    On the course's ink or white, figures on the middle shades would fall short of a contrast of
    4.5 (WCAG AA); black or white always reaches it.
    """
    colours = [to_hex(colour) for colour in mpl.colormaps[SEQUENTIAL].resampled(SHADES).colors]
    return [(colour, _figures_on(colour)) for colour in colours]


def _figures_on(colour: str) -> str:
    # Relative luminance as in WCAG 2; black and white are equally far from 0.179.
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in to_rgb(colour)]
    luminance = sum(w * c for w, c in zip((0.2126, 0.7152, 0.0722), linear, strict=True))
    return "#000000" if luminance > 0.179 else "#ffffff"
