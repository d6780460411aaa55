"""The course's pictures on the pages of the book, which MyST-NB builds from the notebooks."""

import json
from html import escape
from typing import Any, ClassVar

from transformer_course.plots.course_map import CLASS
from transformer_course.plots.renderer import PNG, VEGA_LITE


def chart_html(spec: dict[str, Any]) -> str:
    """Return the place of a chart on a page; the book's `charts.js` draws the chart in it.

    The chart's description is the figure's label for screen readers, and its text where there is
    no JavaScript.
    """
    description = escape(spec.get("description", "Chart"))
    return (
        f'<figure class="chart" aria-label="{description}">'
        f'<script type="application/json">{script_json(spec)}</script>'
        f"<noscript>{description}</noscript>"
        "</figure>"
    )


def script_json(content: Any) -> str:
    """Return JSON for a script element: "</script" would end it, "<!--" could keep it open."""
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":"))
    return text.replace("<", "\\u003c")


class PictureRenderer:
    """What MyST-NB does with stored charts and figures (entry point `myst_nb.mime_renderers`)."""

    mime_priority_overrides: ClassVar = [("html", VEGA_LITE, 0)]

    @staticmethod
    def handle_mime(renderer: Any, data: Any, inline: bool) -> list[Any] | None:
        """Return an output's document nodes, or None to leave it to MyST-NB.

        Parameters
        ----------
        renderer : myst_nb.core.render.NbElementRenderer
        data : myst_nb.core.render.MimeData
        inline
            Whether the output is within a sentence.
        """
        if data.mime_type == VEGA_LITE:
            return _raw(chart_html(data.content))
        if data.mime_type == "text/html" and f'class="{CLASS}"' in data.content:
            # The pages of the book lie side by side, as the notebooks do.
            return _raw(data.content.replace('.ipynb"', '.html"'))
        if data.mime_type == PNG and "alt" in data.output_metadata.get(PNG, {}):
            return _figure(renderer, data)
        return None


def _raw(html: str) -> list[Any]:
    # Only those who build the book have docutils.
    from docutils import nodes

    return [nodes.raw("", html, format="html")]


def _figure(renderer: Any, data: Any) -> list[Any]:
    (image,) = renderer.render_image(data)
    # MyST-NB drops the text alternative, and keeps a height that a narrow screen must not keep.
    image["alt"] = data.output_metadata[PNG]["alt"]
    image.attributes.pop("height", None)
    return [image]
