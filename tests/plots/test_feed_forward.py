import pandas as pd
import pytest
import torch

from transformer_course import plots
from transformer_course.plots.feed_forward import MOST_COLUMNS

BENDS = {"ReLU": torch.relu, "tanh": torch.tanh}
FRAME = pd.DataFrame(
    {"unit": [3, 3, 8], "word": ["not", "do", "cat"], "activation": [2.0, 1.0, 0.5]}
)


def test_slopes_belong_to_the_curves_above():
    above, below = plots.activation_functions(BENDS, "Two bends").figure.axes
    assert len(above.lines) == len(below.lines) == len(BENDS)
    for curve, slope in zip(above.lines, below.lines, strict=True):
        (x, y), steepness = curve.get_data(), slope.get_ydata()
        right = (y[2:] - y[:-2]) / (x[2:] - x[:-2])
        assert abs(right - steepness[1:-1]).max() < 0.6  # ReLU's slope jumps at 0
        assert abs(right - steepness[1:-1])[:150].max() < 0.01


def test_diagram_names_tokens_and_widths():
    picture = plots.position_wise_diagram(["the", "cat"], 8, 32)
    words = " ".join(text.get_text() for text in picture.figure.axes[0].texts)
    assert all(word in words for word in ("the", "cat", "8 numbers", "32 numbers"))


@pytest.mark.parametrize("tokens", [[], ["a"] * (MOST_COLUMNS + 1)])
def test_diagram_that_does_not_fit(tokens):
    with pytest.raises(ValueError, match=f"got {len(tokens)}"):
        plots.position_wise_diagram(tokens, 8, 32)


def test_reader_chooses_among_the_units():
    spec = plots.unit_words(FRAME).to_dict()
    assert spec["params"][0]["bind"]["options"] == [3, 8]
    assert "unit 3: not; unit 8: cat" in spec["description"]


def test_the_strongest_word_is_named_in_any_order():
    shuffled = FRAME.sort_values("activation")
    assert "unit 3: not" in plots.unit_words(shuffled).to_dict()["description"]


def test_units_without_words():
    with pytest.raises(ValueError, match="no rows to draw"):
        plots.unit_words(FRAME[:0])
    with pytest.raises(ValueError, match="lacks the column word"):
        plots.unit_words(FRAME.drop(columns="word"))
