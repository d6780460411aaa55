import pytest

from transformer_course.plots import training_step as pictures


def test_batches_are_drawn_to_scale_with_their_padding():
    picture = pictures.batch_rectangles({"mixed": [(1, 4), (3, 2)], "even": [(2, 2)]})
    mixed, even = picture.figure.axes
    assert [(box.get_width(), box.get_height()) for box in mixed.patches[:2]] == [(3, 2), (4, 2)]
    assert [box.get_width() for box in mixed.patches[2:]] == [1, 4, 3, 2]
    assert mixed.get_xlabel() == "mixed\n29% padding"  # 4 of 14 positions
    assert even.get_xlabel() == "even\n0% padding"


@pytest.mark.parametrize("batches", [{"empty": []}, {str(n): [(1, 1)] for n in range(5)}])
def test_batches_that_cannot_be_drawn(batches):
    with pytest.raises(ValueError, match="1 to 4 batches with a pair or more"):
        pictures.batch_rectangles(batches)


def test_the_profile_draws_the_shares():
    [axes] = pictures.step_profile({"a": 0.75, "b": 0.25}).figure.axes
    assert [bar.get_width() for bar in axes.patches] == [0.75, 0.25]
    assert [text.get_text() for text in axes.texts] == ["75%", "25%"]


def test_a_profile_is_of_a_whole():
    with pytest.raises(ValueError, match=r"add up to 1; got 75\.000"):
        pictures.step_profile({"a": 75})


def test_no_batch_is_refused():
    with pytest.raises(ValueError, match="1 to 4 batches"):
        pictures.batch_rectangles({})
