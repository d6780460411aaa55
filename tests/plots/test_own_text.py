"""Pictures of a text of one's own."""

import pytest

from transformer_course.plots import sentence_lengths


def test_sentences_beyond_the_axis_are_not_drawn_at_its_end():
    lengths = [5] * 600 + [6] * 395 + [80] * 5
    [axes] = sentence_lengths({"English": lengths}).figure.axes
    [line] = axes.lines
    shares = dict(zip(line.get_xdata(), line.get_ydata(), strict=True))
    assert (shares[5], shares[6]) == (0.6, 0.395)


def test_no_text_is_refused():
    with pytest.raises(ValueError, match="no text to draw"):
        sentence_lengths({})
