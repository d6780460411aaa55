import pytest

from transformer_course import plots


def test_bars_are_as_long_as_the_counts():
    picture = plots.progress_bars({"Attention": (2, 5), "Layers": (0, 4)})
    widths = [bar.get_width() for bar in picture.figure.axes[0].patches]
    assert widths == [5, 2, 4, 0]
    assert "Attention 2 of 5; Layers 0 of 4" in picture.description
    assert "2 of 9" in picture.figure.axes[0].get_title(loc="left")


def test_nothing_to_draw():
    with pytest.raises(ValueError, match="no lesson"):
        plots.progress_bars({})
