import pytest

from transformer_course.plots import decoding as pictures


def test_cells_hold_the_words_and_the_description_says_where_rows_end():
    picture = pictures.batch_endings([["a", "<eos>", "<pad>"], ["b", "c", "d"]], "They end")
    [axes] = picture.figure.axes
    at = {text.get_position(): text.get_text() for text in axes.texts}
    assert at[1, 0] == "<eos>"
    assert at[2, 1] == "d"
    assert len(at) == len(axes.patches) == 6
    assert "end at step: 2, never;" in picture.description


@pytest.mark.parametrize("rows", [[["a"], ["a", "b"]], [["a"] * 13], []])
def test_rows_that_make_no_readable_grid_are_refused(rows):
    with pytest.raises(ValueError, match="all rows need one length, from 1 to 12"):
        pictures.batch_endings(rows, "They end")


def test_grids_count_what_is_computed():
    picture = pictures.cache_grids(steps=7)
    without, with_cache = picture.figure.axes
    assert len(without.patches) == len(with_cache.patches) == 28
    assert without.get_xlabel() == "position\n28 computed"
    assert with_cache.get_xlabel() == "position\n7 computed"
    dotted = [patch for patch in with_cache.patches if patch.get_hatch()]
    assert len(dotted) == 21
    assert not any(patch.get_hatch() for patch in without.patches)


def test_grids_need_a_step():
    with pytest.raises(ValueError, match="at least 1; got 0"):
        pictures.cache_grids(steps=0)
