import json

import pandas as pd
import pytest

from transformer_course.plots import failures as pictures

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


def test_a_table_from_a_csv_file_repeats_no_more_than_before(tmp_path):
    TABLE.to_csv(tmp_path / "table.csv")
    again = pd.read_csv(tmp_path / "table.csv", index_col=0)
    points = pictures.failure_chart(again).to_dict()["data"]["values"]
    assert [point["repeats"] for point in points] == [False, True, False]


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
