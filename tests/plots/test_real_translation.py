import json

import pandas as pd
import pytest
from matplotlib.colors import to_rgba

from transformer_course.plots import real_translation as pictures
from transformer_course.plots.theme import SERIES

CANDIDATE = ["a", "black", "dog", "runs", "on", "the", "green", "grass"]
REFERENCE = ["a", "black", "dog", "is", "running", "on", "the", "green", "grass"]
PIECES = ["▁a", "▁b", "ird"]
TABLE = pd.DataFrame(
    {
        "source": ["s"] * 3,
        "reference": ["r"] * 3,
        "translation": ["un chien", "un un un", "chat " * 99],
        "chrf": [90.0, 20.123, 10.0],
        "source_words": [2, 3, 4],
        "length_ratio": [1.0, 1.5, 0.5],
        "unseen_words": [0, 1, 0],
        "rare_words": [0, 0, 2],
        "unknown_pieces": [0, 0, 0],
        "repetition": ["", "un un", ""],
    },
    index=[5, 6, 7],
)


def filled(axes) -> list[bool]:
    """Say of each bar whether it has the full colour."""
    return [bar.get_facecolor() == to_rgba(SERIES[1]) for bar in axes.patches]


# Sub-words


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


# Batches


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


# Training


def test_the_profile_draws_the_shares():
    [axes] = pictures.step_profile({"a": 0.75, "b": 0.25}).figure.axes
    assert [bar.get_width() for bar in axes.patches] == [0.75, 0.25]
    assert [text.get_text() for text in axes.texts] == ["75%", "25%"]


def test_a_profile_is_of_a_whole():
    with pytest.raises(ValueError, match=r"add up to 1; got 75\.000"):
        pictures.step_profile({"a": 75})


def test_a_run_is_drawn_with_its_bleu():
    history = [
        {"step": 5, "train_loss": 3.0, "dev_loss": 2.0, "dev_bleu": 1.0},
        {"step": 9, "train_loss": 2.5, "dev_loss": 1.5, "dev_bleu": 7.0},
    ]
    picture = pictures.loss_and_bleu(history)
    above, below = picture.figure.axes
    assert [list(line.get_ydata()) for line in above.lines] == [[3.0, 2.5], [2.0, 1.5]]
    assert list(below.lines[0].get_ydata()) == [1.0, 7.0]
    # Measured figures differ from one computer to the next.
    assert not any(character.isdigit() for character in picture.description)


def test_a_run_without_bleu_is_refused():
    with pytest.raises(ValueError, match="lacks the column dev_bleu"):
        pictures.loss_and_bleu([{"step": 1, "train_loss": 1.0, "dev_loss": 1.0}])


def test_curves_are_drawn_against_minutes():
    curve = [{"minutes": 1.0, "dev_bleu": 20.0}, {"minutes": 4.0, "dev_bleu": 30.0}]
    picture = pictures.bleu_by_minutes({"one": curve, "two": curve[:1]})
    first, second = picture.figure.axes[0].lines
    assert list(first.get_xdata()) == [1.0, 4.0]
    assert list(second.get_ydata()) == [20.0]
    assert "at the end: one 30.0, two 20.0." in picture.description


# BLEU


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


# Failures


def test_bins_are_drawn_with_their_sizes():
    summary = pd.DataFrame(
        {"sentences": [1200, 3], "chrf": [70.4, 20.0]}, index=["up to 1", "over 1"]
    )
    picture = pictures.scores_by_bin({"length": summary, "again": summary})
    axes = picture.figure.axes[0]
    assert [bar.get_width() for bar in axes.patches] == [70.4, 20.0]
    assert [text.get_text() for text in axes.texts] == [
        "70   (1,200 sentences)",
        "20   (3 sentences)",
    ]
    assert "by length: up to 1 70, over 1 20; by again" in picture.description


@pytest.mark.parametrize("count", [0, 5])
def test_too_few_or_too_many_summaries(count):
    with pytest.raises(ValueError, match=f"1 to 4 summaries; got {count}"):
        pictures.scores_by_bin({str(number): TABLE for number in range(count)})


def test_a_point_knows_its_row_and_what_was_said():
    points = pictures.failure_chart(TABLE).to_dict()["data"]["values"]
    assert [point["number"] for point in points] == [5, 6, 7]
    assert points[1] == {
        "chrf": 20.12,
        "words": 3.0,
        "ratio": 1.5,
        "unseen": 1.0,
        "rare": 0.0,
        "unknown": 0.0,
        "said": "un un un",
        "number": 6,
        "repeats": True,
    }
    assert len(points[2]["said"]) == pictures.TEXT_LENGTH + 1


def test_the_chart_holds_neither_sources_nor_references():
    table = TABLE.assign(source="SECRET", reference="SECRET")
    assert "SECRET" not in json.dumps(pictures.failure_chart(table).to_dict())


def test_a_long_table_is_thinned_out():
    table = pd.concat([TABLE] * 300, ignore_index=True)
    points = pictures.failure_chart(table).to_dict()["data"]["values"]
    assert [point["number"] for point in points] == list(range(0, 900, 3))


@pytest.mark.parametrize(
    ("table", "complaint"),
    [
        (TABLE.iloc[:0], "no rows to draw"),
        (TABLE.drop(columns="repetition"), "lacks the column repetition"),
    ],
)
def test_tables_that_cannot_be_drawn(table, complaint):
    with pytest.raises(ValueError, match=complaint):
        pictures.failure_chart(table)
