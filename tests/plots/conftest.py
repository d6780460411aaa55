from collections.abc import Callable

import altair as alt
import pytest
import vl_convert

MINUS = "\N{MINUS SIGN}"


@pytest.fixture
def drawn() -> Callable[[alt.TopLevelMixin], str]:
    """Return a function that draws a chart as SVG, in which every mark says what it shows."""

    def draw(chart: alt.TopLevelMixin) -> str:
        svg = vl_convert.vegalite_to_svg(chart.to_dict(), vl_version="5.20")
        return svg.replace(MINUS, "-")

    return draw
