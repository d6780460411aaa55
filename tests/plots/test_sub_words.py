import pandas as pd
import pytest

from transformer_course.plots import sub_words as pictures

PIECES = ["▁a", "▁b", "ird"]


def test_each_piece_is_a_box_as_wide_as_its_letters():
    picture = pictures.subword_cuts({"few": list("▁a▁bird"), "many": PIECES})
    [axes] = picture.figure.axes
    boxes = [box for box in axes.patches if round(box.get_y()) == 1]
    assert [round(box.get_width()) for box in boxes] == [2, 2, 3]
    assert "".join(text.get_text() for text in axes.texts) == 2 * "▁a▁bird"
    assert "few 7 tokens, many 3 tokens." in picture.description


@pytest.mark.parametrize(
    ("cuts", "complaint"),
    [
        ({"a": ["▁a"], "b": ["▁b"]}, "of one sentence; got 2"),
        ({"a": ["a" * 61]}, "at most 60 characters; got 61"),
    ],
)
def test_cuts_that_cannot_be_drawn(cuts, complaint):
    with pytest.raises(ValueError, match=complaint):
        pictures.subword_cuts(cuts)


def test_the_tradeoff_draws_both_columns():
    frame = pd.DataFrame({"pieces": [10, 100], "tokens": [9.0, 3.0], "parameters": [2e6, 4e6]})
    above, below = pictures.vocabulary_tradeoff(frame, words=2.5).figure.axes
    assert list(above.lines[0].get_ydata()) == [9.0, 3.0]
    assert set(above.lines[1].get_ydata()) == {2.5}
    assert list(below.lines[0].get_ydata()) == [2.0, 4.0]


def test_the_tradeoff_names_a_missing_column():
    with pytest.raises(ValueError, match="lacks the column parameters"):
        pictures.vocabulary_tradeoff(pd.DataFrame({"pieces": [1], "tokens": [1]}))
