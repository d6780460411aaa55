"""How pictures reach the reader, in each place where notebooks are read.

A chart is stored as its Vega-Lite specification (JupyterLab and the book draw it), as a PNG
(GitHub and PDF show it) and as the sentence that says what it shows (screen readers speak it).
HTML is left out on purpose: JupyterLab would prefer it, and stay blank without a network.
"""

import base64
import io
import sys
from dataclasses import dataclass
from typing import Any

import altair as alt
from matplotlib.figure import Figure
from matplotlib.text import Text
from PIL import Image

from transformer_course.hosted import hosted
from transformer_course.plots.theme import NAME, PIXELS_PER_INCH

VEGA_LITE = "application/vnd.vegalite.v5+json"
PNG = "image/png"
SCALE = 1.5
"""Stored pixels per pixel on the page: sharp enough for most screens, and small."""

MimeBundle = tuple[dict[str, Any], dict[str, Any]]


def enable() -> None:
    """Give all Altair charts the course's theme, and the renderer that fits this place."""
    alt.theme.enable(NAME)
    alt.renderers.register(NAME, mime_bundle)
    # Notebooks on Colab and Kaggle draw charts from HTML.
    alt.renderers.enable("default" if hosted() else NAME)


def in_notebook() -> bool:
    """Whether this runs in a notebook's kernel, so that what is displayed can be written over."""
    ipython = sys.modules.get("IPython")
    return getattr(ipython and ipython.get_ipython(), "kernel", None) is not None


def mime_bundle(spec: dict[str, Any], **options: Any) -> MimeBundle:
    """Return a chart in the formats of the module's description; the PNG needs vl-convert.

    ``options`` are Altair's, such as ``embed_options``, and go to the chart's metadata.
    """
    description = spec.get("description", "A chart without a description.")
    data = {VEGA_LITE: spec, "text/plain": description}
    metadata = {VEGA_LITE: options} if options else {}
    try:
        import vl_convert
    except ImportError:
        return data, metadata
    version = alt.SCHEMA_VERSION.removeprefix("v").rpartition(".")[0]
    png = vl_convert.vegalite_to_png(spec, vl_version=version, scale=SCALE)
    return _with_png(data, metadata, png, description)


def _with_png(
    data: dict[str, Any], metadata: dict[str, Any], png: bytes, description: str
) -> MimeBundle:
    # A palette of 256 colours looks the same and takes a fraction of the space.
    image = Image.open(io.BytesIO(png)).convert("RGB").quantize(dither=Image.Dither.NONE)
    small = io.BytesIO()
    image.save(small, format="png", optimize=True)
    size = {"width": round(image.width / SCALE), "height": round(image.height / SCALE)}
    return (
        data | {PNG: base64.b64encode(small.getvalue()).decode()},
        metadata | {PNG: size | {"alt": description}},
    )


@dataclass(frozen=True, repr=False)
class Picture:
    """A static matplotlib figure that carries its text alternative into the notebook.

    Parameters
    ----------
    figure
        What to see.
    description
        The sentence for those who cannot see it.
    """

    figure: Figure
    description: str

    def png(self) -> bytes:
        """Return the figure as a PNG; the same figure gives the same bytes."""
        for text in self.figure.findobj(Text):  # somebody's dollars are no formulas
            if "$" in text.get_text() and "\\mathdefault" not in text.get_text():
                text.set_parse_math(False)
        file = io.BytesIO()
        # Without the default entry, the version of matplotlib would be part of the file.
        metadata = {"Software": None}
        dpi = SCALE * PIXELS_PER_INCH
        self.figure.savefig(file, format="png", dpi=dpi, metadata=metadata)
        return file.getvalue()

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> MimeBundle:
        return _with_png({"text/plain": self.description}, {}, self.png(), self.description)

    def __repr__(self) -> str:
        return self.description


@dataclass(frozen=True)
class HtmlPicture:
    """A picture made of boxes and words, as a piece of HTML.

    Attributes
    ----------
    html
        What a notebook shows.
    text
        What is said where there is no HTML.
    """

    html: str
    text: str

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return {"text/html": self.html, "text/plain": self.text}

    def __repr__(self) -> str:
        return self.text
