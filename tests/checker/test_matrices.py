"""Two tensors side by side."""

import pytest
import torch

from transformer_course.checker.matrices import COLUMNS, ROWS, side_by_side


def test_small_matrix_is_shown_whole():
    expected = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    received = torch.tensor([[1.0, 2.5], [3.0, 4.0]])
    assert side_by_side(expected, received).text() == (
        "Result (! marks what differs):\n"
        "  wanted    yours\n"
        "  1 2          1 2.5!\n"
        "  3 4          3    4"
    )


@pytest.mark.parametrize(
    ("shape", "wrong", "place"),
    [
        ((), (), "Result"),
        ((3,), (2,), "Result"),
        ((30,), (20,), "Result [14:22]"),
        ((30,), (29,), "Result [22:30]"),
        ((20, 30), (0, 0), "Result [0:1, 0:8]"),
        ((20, 30), (10, 29), "Result [10:11, 22:30]"),
        ((4, 2, 3), (1, 0, 2), "Result [1, 0:2, 0:3]"),
        ((2, 4, 2, 3), (1, 3, 0, 2), "Result [1, 3, 0:2, 0:3]"),
    ],
)
def test_window_holds_the_first_wrong_element(shape, wrong, place):
    expected = torch.zeros(shape)
    received = expected.clone()
    received[wrong] = 7
    shown = side_by_side(expected, received)
    assert shown.place == place
    assert [cell.words for row in shown.yours for cell in row].count("7!") == 1
    assert len(shown.yours) <= ROWS
    assert len(shown.yours[0]) <= COLUMNS


def test_close_numbers_get_the_digits_that_tell_them_apart():
    expected, received = torch.tensor([0.123456, 0.5]), torch.tensor([0.123956, 0.5])
    shown = side_by_side(expected.double(), received.double())
    assert [cell.words for cell in shown.wanted[0]] == ["0.1235", "0.5"]
    assert [cell.words for cell in shown.yours[0]] == ["0.124!", "0.5"]
    shown = side_by_side(expected.double(), expected.double() + 2e-6)
    assert shown.wanted[0][0].words != shown.yours[0][0].words.rstrip("!")


def test_nan_and_infinity_are_shown():
    shown = side_by_side(torch.ones(3), torch.tensor([1.0, float("nan"), float("-inf")]))
    assert [cell.words for cell in shown.yours[0]] == ["1", "nan!", "-inf!"]
    assert shown.html().count("!</td>") == 2


def test_shade_follows_the_number():
    shown = side_by_side(torch.tensor([2.0, -1.0]), torch.tensor([2.0, 1.0]))
    assert [cell.share for cell in shown.wanted[0]] == [1.0, -0.5]
