import re

import altair as alt
import pytest
import torch

from transformer_course.plots import token_grid

VALUE = alt.Tooltip("value:Q", title="weight", format=".2f")


def grid(matrix: torch.Tensor, rows: list[str], columns: list[str]) -> alt.Chart:
    return token_grid.token_grid({"it": matrix}, rows, columns, ("query", "key"), VALUE)


def labels(svg: str) -> list[str]:
    return re.findall(r"<text[^>]*>([^<]+)</text>", svg)


def test_every_cell_is_drawn_in_its_place(drawn):
    matrix = torch.tensor([[0.1, 0.2, 0.3], [0.4, 0.5, 0.6]])
    svg = drawn(grid(matrix, ["a", "b"], ["x", "y", "z"]).mark_rect())
    places = re.findall(r'aria-label="key: (\d); query: (\d);[^"]* weight: ([\d.]+)"', svg)
    assert [(int(q), int(k), float(w)) for k, q, w in places] == [
        (row, column, round(float(matrix[row, column]), 2)) for row in (0, 1) for column in range(3)
    ]


def test_a_token_that_comes_twice_keeps_two_rows_in_order(drawn):
    sentence = ["the", "cat", "sat", "on", "the", "mat"]
    svg = drawn(grid(torch.eye(6), sentence, sentence).mark_rect())
    assert labels(svg) == [*sentence, "key", *sentence, "query"]


def test_tokens_with_quotes_backslashes_and_accents_are_written_as_they_are(drawn):
    tokens = ["l'homme", '"', "\\n", "été", "日本"]
    svg = drawn(grid(torch.eye(5), tokens, tokens).mark_rect())
    assert labels(svg)[:5] == ["l'homme", '"', "\\n", "été", "日本"]


def test_numbers_are_written_where_there_is_room(drawn):
    few = token_grid.numbers(grid(torch.eye(3), list("abc"), list("abc")), dark="false")
    many = token_grid.numbers(grid(torch.eye(30), ["a"] * 30, ["b"] * 30), dark="false")
    assert labels(drawn(few)).count("1.00") == 3
    assert "1.00" not in labels(drawn(many))


def test_numbers_are_white_on_dark_cells_only(drawn):
    svg = drawn(
        token_grid.numbers(grid(torch.eye(2), ["a", "b"], ["a", "b"]), dark="datum.value < 0.5")
    )
    fills = dict(re.findall(r'weight: ([\d.]+)"[^>]*fill="([^"]+)"', svg))
    assert fills == {"1.00": "#1F2328", "0.00": "#FFFFFF"}


def test_a_long_sentence_stays_within_the_column():
    chart = grid(torch.rand(60, 60), ["q"] * 60, ["k"] * 60)
    assert chart.width <= token_grid.GRID_WIDTH


@pytest.mark.parametrize("shape", [(2, 3), (3, 2)])
def test_token_counts_must_match(shape):
    with pytest.raises(ValueError, match=r"it: 3 tokens down and 3 across do not fit .*\("):
        grid(torch.zeros(shape), list("abc"), list("abc"))


def test_too_many_matrices_are_refused():
    many = {str(number): torch.eye(60) for number in range(6)}
    with pytest.raises(ValueError, match="6 matrices of 60 x 60 would make a notebook slow"):
        token_grid.token_grid(many, ["q"] * 60, ["k"] * 60, ("query", "key"), VALUE)


def test_a_rounded_zero_has_no_sign(drawn):
    svg = drawn(grid(torch.tensor([[-0.001]]), ["a"], ["b"]).mark_rect())
    assert "weight: 0.00" in svg


@pytest.mark.parametrize("count", [0, 61])
def test_no_tokens_or_too_many_are_refused(count):
    with pytest.raises(ValueError, match="needs 1 to 60 tokens on each axis"):
        grid(torch.zeros(count, count), ["t"] * count, ["t"] * count)
