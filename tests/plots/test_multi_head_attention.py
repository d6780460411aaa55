import pandas as pd
import pytest
import torch
from matplotlib.colors import to_hex
from matplotlib.patches import Rectangle

from transformer_course.model import split_heads
from transformer_course.plots import multi_head_attention as pictures
from transformer_course.plots.theme import SHADES

ABLATION = pd.DataFrame(
    [
        ("encoder", 0, 1.0, 0.96),
        ("encoder", 1, 0.25, 0.95),
        ("decoder", 0, 0.5, 0.94),
        ("decoder", 1, 0.75, 0.93),
    ],
    columns=["layer", "head", "right", "aligned"],
)
BOTH = ["right", "aligned"]


def words(picture) -> list[str]:
    return [text.get_text() for axes in picture.figure.axes for text in axes.texts]


def test_the_split_without_transpose_shows_what_torch_does():
    x = torch.arange(16.0).view(1, 4, 4)
    expected = [x, split_heads(x, 2), x.view(1, 2, 4, 2)]
    picture = pictures.split_without_transpose()
    drawn = [int(word) for word in words(picture) if word.isdigit()]
    assert drawn == [number for part in expected for number in part.flatten().tolist()]


def test_numbers_have_the_colour_of_the_position_that_they_come_from():
    [axes] = pictures.split_without_transpose().figure.axes
    numbers = [int(text.get_text()) for text in axes.texts if text.get_text().isdigit()]
    for number, cell in zip(numbers, axes.patches, strict=True):
        assert to_hex(cell.get_facecolor()).upper() == SHADES[number // 4]


def test_the_split_shows_every_cell_three_times():
    [axes] = pictures.split_and_merge().figure.axes
    cells = [patch for patch in axes.patches if isinstance(patch, Rectangle)]
    assert len(cells) == 3 * 4 * 6


def test_the_ablation_writes_each_share_into_its_cell():
    left, right = pictures.head_ablation(ABLATION, BOTH, "Title").figure.axes
    assert [text.get_text() for text in left.texts] == ["100%", "25%", "50%", "75%"]
    assert [text.get_text() for text in right.texts] == ["96%", "95%", "94%", "93%"]


def test_the_layers_keep_their_order():
    axes = pictures.head_ablation(ABLATION, BOTH, "Title").figure.axes[0]
    assert [tick.get_text() for tick in axes.get_yticklabels()] == ["encoder", "decoder"]


def test_the_description_names_the_head_that_is_missed_most():
    description = pictures.head_ablation(ABLATION, BOTH, "Title").description
    assert "fewest right, 25%, without head 1 of encoder" in description


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (ABLATION.drop(columns="right"), "lacks the column right"),
        (ABLATION.replace({"right": {0.5: 50}}), "'right' needs a share from 0 to 1"),
        (ABLATION[:3], "'right' needs a share from 0 to 1 for each head of each layer"),
    ],
)
def test_the_ablation_refuses(frame, message):
    with pytest.raises(ValueError, match=message):
        pictures.head_ablation(frame, BOTH, "Title")
