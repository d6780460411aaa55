import json
from base64 import b64encode
from types import SimpleNamespace

import pytest
from bs4 import BeautifulSoup
from docutils import nodes

from transformer_course.plots.book import PictureRenderer, chart_html
from transformer_course.plots.course_map import course_map
from transformer_course.plots.renderer import PNG, VEGA_LITE

SPEC = {"description": 'Says "5 < 6"', "title": "</script><b>"}


def output(mime_type, content, metadata=None):
    return SimpleNamespace(
        mime_type=mime_type, content=content, output_metadata={mime_type: metadata or {}}
    )


class ImageMaker:
    """Stands for MyST-NB's renderer, which sizes images and forgets their text."""

    def render_image(self, data):
        return [nodes.image(uri="picture.png", width="300", height="200")]


def test_chart_keeps_its_specification_and_description():
    figure = BeautifulSoup(chart_html(SPEC), "html.parser").figure
    assert json.loads(figure.script.string) == SPEC
    assert figure["aria-label"] == figure.noscript.string == SPEC["description"]


def test_chart_is_written_as_html():
    (node,) = PictureRenderer.handle_mime(None, output(VEGA_LITE, SPEC), inline=False)
    assert node["format"] == "html"
    assert node.astext() == chart_html(SPEC)


def test_chart_goes_before_its_png_in_html():
    assert ("html", VEGA_LITE, 0) in PictureRenderer.mime_priority_overrides


def test_figure_gets_its_text_alternative_and_follows_the_width_of_the_page():
    data = output(PNG, b64encode(b"..."), {"alt": "A rising line.", "width": 300, "height": 200})
    (image,) = PictureRenderer.handle_mime(ImageMaker(), data, inline=False)
    assert image["alt"] == "A rising line."
    assert image["width"] == "300"
    assert "height" not in image


def test_the_map_leads_to_the_pages_of_the_book():
    html = course_map(lambda lesson: f"{lesson}.ipynb").html
    (node,) = PictureRenderer.handle_mime(None, output("text/html", html), inline=False)
    assert 'href="05_layers.html"' in node.astext()
    assert ".ipynb" not in node.astext()


@pytest.mark.parametrize("data", [output(PNG, b""), output("text/html", "<b>")])
def test_other_outputs_are_left_to_myst_nb(data):
    assert PictureRenderer.handle_mime(ImageMaker(), data, inline=False) is None
