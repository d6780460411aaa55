import base64
import io
import sys

import altair as alt
import matplotlib as mpl
import pytest
from matplotlib.figure import Figure
from PIL import Image

from transformer_course.hosted import HOSTED
from transformer_course.plots import renderer
from transformer_course.plots.renderer import PNG, SCALE, VEGA_LITE, Picture


@pytest.fixture
def chart() -> alt.Chart:
    data = alt.Data(values=[{"x": 1, "y": 2}])
    return alt.Chart(data, description="One point.").mark_point().encode(x="x:Q", y="y:Q")


@pytest.fixture
def picture() -> Picture:
    figure = Figure(figsize=(4, 3), dpi=100)
    figure.subplots().plot([1, 2, 3])
    return Picture(figure, "A rising line.")


@pytest.fixture
def place(monkeypatch):
    """Enable the renderer as in a given place, and leave it as at home afterwards."""
    for variable in HOSTED:
        monkeypatch.delenv(variable, raising=False)

    def enable(variable: str | None) -> None:
        if variable:
            monkeypatch.setenv(variable, "1")
        renderer.enable()

    yield enable
    monkeypatch.undo()
    renderer.enable()


def test_in_jupyterlab_a_chart_is_specification_image_and_sentence(place, chart):
    place(None)
    data, metadata = chart._repr_mimebundle_()
    assert set(data) == {VEGA_LITE, PNG, "text/plain"}
    assert data[VEGA_LITE] == chart.to_dict()
    assert data["text/plain"] == metadata[PNG]["alt"] == "One point."


@pytest.mark.parametrize("variable", HOSTED)
def test_on_colab_and_kaggle_a_chart_is_html(place, chart, variable):
    place(variable)
    assert "text/html" in chart._repr_mimebundle_()


def test_without_vl_convert_a_chart_has_no_image(place, chart, monkeypatch):
    place(None)
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    data, metadata = chart._repr_mimebundle_()
    assert set(data) == {VEGA_LITE, "text/plain"}
    assert metadata == {}


def test_altairs_display_options_reach_the_front_end(chart):
    _, metadata = renderer.mime_bundle(chart.to_dict(), embed_options={"actions": False})
    assert metadata[VEGA_LITE] == {"embed_options": {"actions": False}}


def test_a_foreign_chart_without_description_is_shown_too(chart):
    spec = {key: value for key, value in chart.to_dict().items() if key != "description"}
    data, _ = renderer.mime_bundle(spec)
    assert data["text/plain"] == "A chart without a description."


def test_images_say_how_large_they_are_on_the_page(picture):
    data, metadata = picture._repr_mimebundle_()
    image = Image.open(io.BytesIO(base64.b64decode(data[PNG])))
    assert image.size == (400 * SCALE, 300 * SCALE)
    assert (metadata[PNG]["width"], metadata[PNG]["height"]) == (400, 300)


def test_a_picture_carries_its_sentence(picture):
    data, metadata = picture._repr_mimebundle_()
    assert set(data) == {PNG, "text/plain"}
    assert data["text/plain"] == metadata[PNG]["alt"] == repr(picture) == "A rising line."


def test_a_pictures_bytes_hold_no_date_and_no_version(picture):
    assert picture.png() == picture.png()
    assert mpl.__version__.encode() not in picture.png()
    assert Image.open(io.BytesIO(picture.png())).info.keys() <= {"dpi"}


def test_dollars_are_no_formulas_and_powers_still_are():
    figure = Figure(figsize=(4, 3), dpi=100)
    axes = figure.subplots()
    axes.semilogy([1, 1000])
    axes.set_title("It costs $5_$.")
    assert Picture(figure, "A price.").png()
    assert not axes.title.get_parse_math()
    assert all(label.get_parse_math() for label in axes.get_yticklabels())
