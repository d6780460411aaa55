import pytest
from matplotlib.colors import to_rgba

from transformer_course.plots import bleu as pictures
from transformer_course.plots.theme import SERIES

CANDIDATE = ["a", "black", "dog", "runs", "on", "the", "green", "grass"]
REFERENCE = ["a", "black", "dog", "is", "running", "on", "the", "green", "grass"]


def filled(axes) -> list[bool]:
    """Say of each bar whether it has the full colour."""
    return [bar.get_facecolor() == to_rgba(SERIES[1]) for bar in axes.patches]


def test_ngrams_are_filled_where_the_reference_has_them():
    picture = pictures.ngram_matches(CANDIDATE, REFERENCE)
    [axes] = picture.figure.axes
    assert filled(axes)[:8] == [word != "runs" for word in CANDIDATE]
    labels = [label.get_text() for label in axes.get_yticklabels()]
    assert labels == ["n = 1\n7 of 8", "n = 2\n5 of 7", "n = 3\n3 of 6", "n = 4\n1 of 5"]
    assert len(axes.patches) == 8 + 7 + 6 + 5


def test_a_repeated_word_is_filled_as_often_as_the_reference_has_it():
    picture = pictures.ngram_matches(["the"] * 7, ["the", "cat", "the"], max_n=1)
    assert filled(picture.figure.axes[0]) == [True] * 2 + [False] * 5


@pytest.mark.parametrize("words", [3, 15])
def test_candidates_that_do_not_fit(words):
    with pytest.raises(ValueError, match=f"4 to 14 words; got {words}"):
        pictures.ngram_matches(["a"] * words, ["a"])


def test_curves_are_drawn_against_minutes():
    curve = [{"minutes": 1.0, "dev_bleu": 20.0}, {"minutes": 4.0, "dev_bleu": 30.0}]
    picture = pictures.bleu_by_minutes({"one": curve, "two": curve[:1]})
    first, second = picture.figure.axes[0].lines
    assert list(first.get_xdata()) == [1.0, 4.0]
    assert list(second.get_ydata()) == [20.0]
    assert "at the end: one 30.0, two 20.0." in picture.description
