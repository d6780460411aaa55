"""Pictures of a text of one's own."""

import pytest

from transformer_course.plots import sentence_lengths


def test_sentences_beyond_the_axis_are_not_drawn_at_its_end():
    lengths = [5] * 600 + [6] * 395 + [80] * 5
    [axes] = sentence_lengths({"English": lengths}).figure.axes
    [stairs] = axes.patches
    shares, edges, _ = stairs.get_data()
    assert [*edges[5:8]] == [4.5, 5.5, 6.5]
    assert [*shares[5:7]] == [0.6, 0.395]


def test_each_length_lies_on_the_step_that_counts_it():
    """Of 400 lengths up to 400, one comes 4,000 times."""
    [axes] = sentence_lengths({"English": [111] * 4000 + [*range(1, 401)]}).figure.axes
    [stairs] = axes.patches
    shares, edges, _ = stairs.get_data()
    highest = shares.argmax()
    assert edges[highest] < 111 < edges[highest + 1]


def test_no_text_is_refused():
    with pytest.raises(ValueError, match="no text to draw"):
        sentence_lengths({})
