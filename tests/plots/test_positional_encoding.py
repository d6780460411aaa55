import re

import pandas as pd
import pytest
import torch

from transformer_course.model.positional_encoding import sinusoidal_encoding
from transformer_course.plots import positional_encoding as pictures


def tips(svg: str) -> torch.Tensor:
    """Return (sine, cosine) of each hand's tip as drawn."""
    found = re.findall(r'aria-label="sine: ([-\d.]+); cosine: ([-\d.]+)"', svg)
    # A hand and the point at its tip say the same.
    return torch.tensor([(float(sine), float(cosine)) for sine, cosine in dict.fromkeys(found)])


def test_the_heatmap_is_the_encoding():
    figure = pictures.encoding_heatmap(length=20, d_model=8).figure
    [image] = figure.axes[0].images
    assert torch.equal(torch.tensor(image.get_array()), sinusoidal_encoding(20, 8))
    assert image.get_clim() == (-1, 1)


@pytest.mark.parametrize(("length", "calm"), [(20, True), (5000, False)])
def test_the_heatmap_says_what_is_seen_on_its_right(length, calm):
    picture = pictures.encoding_heatmap(length, d_model=16)
    assert ("almost one colour" in picture.description) == calm


@pytest.mark.parametrize("d_model", [16, 512])
def test_the_dot_product_is_the_encodings_and_the_rise_is_found(d_model):
    picture = pictures.dot_product_by_offset(d_model)
    line = picture.figure.axes[0].lines[0]
    encoding = sinusoidal_encoding(101, d_model)
    products = encoding @ encoding[0]
    assert torch.allclose(torch.tensor(line.get_ydata()).float(), products, atol=1e-3)
    rise = 1 + int((products.diff() > 0).nonzero()[0])
    assert f"rises again at an offset of {rise}." in picture.description


def test_a_dot_product_that_only_falls_is_not_said_to_rise():
    picture = pictures.dot_product_by_offset(512, max_offset=20)
    assert "rises" not in picture.description


def test_the_clock_hands_show_the_encoding_of_the_position(drawn):
    encoding = sinusoidal_encoding(8, 8)[7].view(4, 2)
    hands = tips(drawn(pictures.clock_hands(8, length=8, position=7)))
    assert torch.allclose(hands, encoding, atol=1e-3)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"d_model": 64}, "room for 16 clocks; use d_model <= 32"),
        ({"d_model": 7}, "even"),
        ({"length": 10, "position": 10}, "positions 0 to 9; got 10"),
    ],
)
def test_clocks_refuse(arguments, message):
    with pytest.raises(ValueError, match=message):
        pictures.clock_hands(**arguments)


def test_the_rotation_shows_two_positions_and_the_angle_between(drawn):
    offset, pair, d_model = 5, 1, 8
    chart = pictures.rotation_of_one_pair(offset, pair, d_model)
    encoding = sinusoidal_encoding(100, d_model)[:, 2 * pair : 2 * pair + 2]
    assert torch.allclose(tips(drawn(chart)), encoding[[3, 3 + offset]], atol=1e-3)
    angle = offset * 10000 ** (-2 * pair / d_model)
    assert f"{angle:.2f} radians" in chart.description


def test_rotation_refuses_a_pair_that_is_not_there():
    with pytest.raises(ValueError, match="d_model=8 has pairs 0 to 3; got pair 4"):
        pictures.rotation_of_one_pair(pair=4, d_model=8)


def test_accuracy_draws_a_line_for_each_encoding():
    frame = pd.DataFrame(
        {"encoding": ["a", "a", "b", "b"], "length": [8, 16, 8, 16], "accuracy": [1, 0.5, 1, 0.2]}
    )
    axes = pictures.accuracy_by_length(frame, 8, 0.1, "It falls").figure.axes[0]
    lines = {line.get_label(): list(line.get_ydata()) for line in axes.lines}
    assert lines["a"] == [1, 0.5]
    assert lines["b"] == [1, 0.2]
    with pytest.raises(ValueError, match="lacks the column encoding"):
        pictures.accuracy_by_length(frame.drop(columns="encoding"), 8, 0.1, "It falls")
