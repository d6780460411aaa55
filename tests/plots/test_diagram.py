import pytest

from transformer_course.plots import diagram
from transformer_course.plots.theme import matplotlib_theme


@matplotlib_theme()
def test_coordinates_are_pixels_from_the_upper_left():
    axes = diagram.canvas(200, "A title")
    height = axes.figure.get_size_inches()[1] * axes.figure.dpi
    x, y = axes.transData.transform((100, 50))
    assert x == pytest.approx(100, abs=0.5)
    assert height - y == pytest.approx(50 + diagram.HEADROOM, abs=0.5)


@matplotlib_theme()
def test_a_long_title_leaves_the_diagram_its_space():
    axes = diagram.canvas(100, "A title that is long enough to need both of the two lines above")
    axes.figure.canvas.draw()
    title = axes._left_title.get_window_extent()
    assert title.y1 <= axes.figure.bbox.y1
    assert title.y0 >= axes.bbox.y1
