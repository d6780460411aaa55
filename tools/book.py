"""The Sphinx extension of the book: what it needs beside its pages, so that it works offline.

The libraries for charts and formulas come out of two Python packages of the group ``book``, in the
versions of ``constraints.txt``; no page asks another host for anything.
"""

import importlib.util
import json
import re
import shutil
from collections.abc import Collection
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import nbformat
import vl_convert
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.config import Config

from tools.book_markdown import write_pages
from tools.book_text import filled
from tools.glossary_links import link_first_uses
from tools.live_translator import MIRRORED, WIDGET, data_files
from tools.sources import cell_key, lesson_sources, outcomes_of
from tools.stamp import documentation, repository
from transformer_course.exercises import catalogues
from transformer_course.publish import SCRIPTS, WEB

# The name holds hyphens: the package can be found, but not imported by a statement.
MATHJAX_PACKAGE = "sphinx-mathjax-offline"
# All that pages load: what the configuration names, the packages of commands that are loaded on
# demand, the fonts.
MATHJAX_PARTS = (
    "startup.js",
    "core.js",
    "input/tex.js",
    "input/tex/extensions/*.js",
    "output/chtml.js",
    "output/chtml/fonts/tex.js",
    "output/chtml/fonts/woff-v2/*.woff",
    "a11y/assistive-mml.js",
)
CHECK = re.compile(r"exercise\.(\w+)\.check\(\w+\)")
ICON = re.compile(r"\bfa-([a-z0-9-]+)")
DRAWING = re.compile(
    r'(?P<name>"[\w-]+"|[\w$]+):\[\d+,\d+,\[(?P<others>[^\]]*)\],"\w+",'
    r'(?:"[^"]*"|\["[^"]*","[^"]*"\])\],?'
)
LIVE_PAGES = ("book/index", "book/live_translator")
LIVE_STYLE = "translator.css"


def set_addresses(app: Sphinx, config: Config) -> None:
    """Tell the repository's address, for links to Colab, and the book's own.

    A shared link and the page that is shown for one that does not exist need whole addresses.
    """
    config.html_theme_options["repository_url"] = repository()
    config.ogp_site_url = f"{documentation()}/"
    config.notfound_urls_prefix = f"{urlsplit(documentation()).path}/"


def fill(app: Sphinx, page: str, source: list[str]) -> None:
    """Put what stands elsewhere into the book's own pages."""
    if page.startswith("book/"):
        source[0] = filled(source[0])
        for file in (*lesson_sources(), *MIRRORED, WIDGET):
            app.env.note_dependency(str(file))


def show_outcomes(app: Sphinx, page: str, source: list[str]) -> None:
    """Give the cells that answer a prediction their outputs back, folded."""
    kept = outcomes_of(Path(page))
    if not page.startswith("notebooks/") or not kept.exists():
        return
    app.env.note_dependency(str(kept))
    outcomes = json.loads(kept.read_text(encoding="utf-8"))
    notebook = nbformat.reads(source[0], as_version=4)
    for cell in notebook.cells:
        if "outcome" in cell.metadata.get("tags", []):
            cell.outputs = nbformat.from_dict(outcomes[cell_key(cell)])
            if "hide-input" in cell.metadata.tags:  # one fold for both
                cell.metadata.tags.remove("hide-input")
                cell.metadata.tags.append("hide-cell")
            else:
                cell.metadata.tags.append("hide-output")
    source[0] = nbformat.writes(notebook)


def write_live_translator(app: Sphinx) -> None:
    """Put the weights and words of the translators among the site's files, and what shows them."""
    folder = Path(app.outdir) / "_static" / "live"
    folder.mkdir(parents=True, exist_ok=True)
    for name, script in data_files().items():
        (folder / name).write_text(script, encoding="utf-8")
    for name in (LIVE_STYLE, *SCRIPTS):
        shutil.copyfile(WEB / name, folder / name)


def write_libraries(app: Sphinx) -> None:
    """Put the libraries for charts and formulas among the site's files."""
    libraries = Path(app.outdir) / "_static" / "vendor"
    libraries.mkdir(parents=True, exist_ok=True)
    (libraries / "vega.js").write_text(chart_library(), encoding="utf-8")
    copy_mathjax(libraries / "mathjax")


def chart_library() -> str:
    """Return one script that holds Vega, Vega-Lite and Vega-Embed."""
    bundle = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;")
    # In a function, because the bundle's short global names would meet those of other scripts.
    return f"(() => {{{bundle}}})();"


def copy_mathjax(destination: Path) -> None:
    """Copy the parts of MathJax that pages load.

    Raises
    ------
    ModuleNotFoundError
        If the Python package that carries MathJax is not installed.
    """
    package = importlib.util.find_spec(MATHJAX_PACKAGE)
    if package is None or package.origin is None:
        raise ModuleNotFoundError(
            f"{MATHJAX_PACKAGE} is not installed, so the book would have no formulas: "
            "run `make book`, which installs it"
        )
    source = Path(package.origin).parent / "static" / "mathjax"
    for part in MATHJAX_PARTS:
        for file in source.glob(part):
            copy = destination / file.relative_to(source)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, copy)


def keep_formulas(app: Sphinx, page: nodes.document) -> None:
    r"""Hand formulas to MathJax as they are written, which is what JupyterLab does.

    Sphinx would put the environment ``split`` around several lines, where ``\tag`` is an error.
    """
    for formula in page.findall(nodes.math_block):
        formula["nowrap"] = True
        formula.children = [nodes.Text(rf"\[{formula.astext()}\]")]


def open_gaps(app: Sphinx, page: nodes.document) -> None:
    """Put the gaps of an exercise in the place of its check, which needs Python."""
    exercises = catalogues().get(Path(app.env.docname).name.partition("_")[2], {})
    for cell in list(page.findall(nodes.container)):
        call = CHECK.fullmatch(cell.astext().partition("\n")[0])
        if call and call[1] in exercises and "cell" in cell["classes"]:
            gaps = exercises[call[1]].gaps()
            cell.replace_self(nodes.raw("", gaps._repr_html_(), format="html"))


def load_chart_library(
    app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: nodes.document | None
) -> None:
    """Load the chart library, which is large, on the pages that have charts."""
    if 'class="chart"' in context.get("body", ""):
        app.add_js_file("vendor/vega.js", defer="defer")
        app.add_js_file("charts.js", defer="defer")


def load_live_translator(
    app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: nodes.document | None
) -> None:
    """Load the live translator where it is shown, and nowhere else."""
    if page in LIVE_PAGES:
        app.add_css_file(f"live/{LIVE_STYLE}")
        for script in ("toy.js", *SCRIPTS):
            app.add_js_file(f"live/{script}", defer="defer")


def drop_unused_icons(app: Sphinx, error: Exception | None) -> None:
    """Take those icons out of the theme's script that no page shows, which are nearly all."""
    if error or app.builder.format != "html":
        return
    site = Path(app.outdir)
    script = site / "_static" / "scripts" / "fontawesome.js"
    users = [*site.rglob("*.html"), *(p for p in site.rglob("*theme*.js") if p != script)]
    used = {name for user in users for name in ICON.findall(user.read_text(encoding="utf-8"))}
    script.write_text(with_icons(script.read_text(encoding="utf-8"), used), encoding="utf-8")


def with_icons(script: str, used: Collection[str]) -> str:
    """Return Font Awesome's script without the drawings of icons that are not in ``used``.

    A drawing is ``name: [width, height, [other names], code, paths]``.
    """

    def kept(match: re.Match[str]) -> str:
        names = {match["name"].strip('"'), *re.findall(r'"([^"]*)"', match["others"])}
        return match[0] if names & set(used) else ""

    return DRAWING.sub(kept, script)


def name_markdown(
    app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: nodes.document | None
) -> None:
    """Say in the head of a page where it is as Markdown."""
    if doctree is not None:
        address = f"{Path(page).name}.md"
        context["metatags"] += f'<link rel="alternate" type="text/markdown" href="{address}" />'


def write_markdown(app: Sphinx, error: Exception | None) -> None:
    """Put each page as Markdown beside its HTML, once that is there."""
    if error is None:
        write_pages(Path(app.outdir))


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    # Before the extensions look at what is set.
    app.connect("config-inited", set_addresses, priority=100)
    app.connect("builder-inited", write_libraries)
    app.connect("builder-inited", write_live_translator)
    app.connect("source-read", fill)
    app.connect("source-read", show_outcomes)
    app.connect("doctree-read", keep_formulas)
    app.connect("doctree-read", open_gaps)
    app.connect("doctree-resolved", link_first_uses)
    app.connect("html-page-context", load_chart_library)
    app.connect("html-page-context", load_live_translator)
    app.connect("build-finished", drop_unused_icons)
    app.connect("html-page-context", name_markdown)
    app.connect("build-finished", write_markdown)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
