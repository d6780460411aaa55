"""What the book needs beside its pages, so that no page asks another host for anything.

The chart and formula libraries come out of two Python packages of the group `book`; their versions
are those of `constraints.txt`.
"""

import importlib.util
import shutil
import tomllib
from pathlib import Path
from typing import Any

import altair
import vl_convert
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.config import Config

ROOT = Path(__file__).parents[2]
# The package's name holds hyphens: it can be found, but not imported by a statement.
MATHJAX_PACKAGE = "sphinx-mathjax-offline"
# All that pages load: the library, the packages of LaTeX commands that it loads on demand, fonts.
MATHJAX_PARTS = ("tex-chtml.js", "input/tex/extensions/*.js", "output/chtml/fonts/woff-v2/*.woff")


def set_repository_address(app: Sphinx, config: Config) -> None:
    """Give the theme the repository's address, which stands in `pyproject.toml` alone."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    config.html_theme_options["repository_url"] = project["urls"]["repository"]


def write_libraries(app: Sphinx) -> None:
    """Put the chart and formula libraries among the site's files."""
    libraries = Path(app.outdir) / "_static" / "vendor"
    libraries.mkdir(parents=True, exist_ok=True)
    (libraries / "vega.js").write_text(chart_library(), encoding="utf-8")
    copy_mathjax(libraries / "mathjax")


def chart_library() -> str:
    """Return one script with Vega, Vega-Lite and Vega-Embed, for the stored charts' version."""
    vega_lite_version = altair.SCHEMA_VERSION.removeprefix("v").rpartition(".")[0]
    bundle = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;", vega_lite_version)
    # A function of its own: the bundle's short global names would meet those of other scripts.
    return f"(() => {{{bundle}}})();"


def copy_mathjax(destination: Path) -> None:
    """Copy the parts of MathJax that pages load."""
    package = importlib.util.find_spec(MATHJAX_PACKAGE)
    if package is None:
        raise ModuleNotFoundError(
            f"The book needs the package {MATHJAX_PACKAGE} for its formulas: "
            "install the group `book` of pyproject.toml (`make book` does)."
        )
    source = Path(package.origin).parent / "static" / "mathjax"
    for part in MATHJAX_PARTS:
        for file in source.glob(part):
            copy = destination / file.relative_to(source)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, copy)


def load_chart_library(
    app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: nodes.document | None
) -> None:
    """Load the chart library, which is large, on the pages that have charts."""
    if 'class="chart"' in context.get("body", ""):
        app.add_js_file("vendor/vega.js", defer="defer")
        app.add_js_file("charts.js", defer="defer")


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    app.connect("config-inited", set_repository_address)
    app.connect("builder-inited", write_libraries)
    app.connect("html-page-context", load_chart_library)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
