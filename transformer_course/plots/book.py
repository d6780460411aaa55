"""Charts on the pages of the book."""

import json
from html import escape
from typing import Any, ClassVar

VEGA_LITE = "application/vnd.vegalite.v5+json"


def chart_html(spec: dict[str, Any]) -> str:
    """Return the place of a chart on a page; the book's `charts.js` draws the specification in it.

    The chart's description is the figure's label for screen readers, and its text where there is
    no JavaScript.
    """
    description = escape(spec.get("description", "Chart"))
    # Inside a script element only "</" could end it early.
    data = json.dumps(spec, ensure_ascii=False).replace("</", "<\\/")
    return (
        f'<figure class="chart" aria-label="{description}">'
        f'<script type="application/json">{data}</script>'
        f"<noscript>{description}</noscript>"
        "</figure>"
    )


class VegaLiteRenderer:
    """Tell MyST-NB, which builds the book, what to do with a stored Vega-Lite chart."""

    mime_priority_overrides: ClassVar = [("html", VEGA_LITE, 0)]

    @staticmethod
    def handle_mime(renderer: object, data: Any, inline: bool) -> list[Any] | None:
        """Return the chart as raw HTML, or None for what is not a chart."""
        if inline or data.mime_type != VEGA_LITE:
            return None
        # Only who builds the book has docutils.
        from docutils import nodes

        return [nodes.raw("", chart_html(data.content), format="html")]
