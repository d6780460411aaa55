from itertools import permutations
from statistics import fmean

import pytest

from transformer_course.translation import exchange_p


def test_three_seeds_a_side_reach_a_tenth_at_best() -> None:
    assert exchange_p([30.0, 31.5, 33.0], [1.0, 2.0, 2.5]) == 2 / 20


def test_sides_that_are_equal_are_as_far_as_any() -> None:
    assert exchange_p([1.0, 2.0], [2.0, 1.0]) == 1


@pytest.mark.parametrize(
    ("first", "second"),
    [([20.3, 21.1, 19.7], [18.9, 20.5, 19.1]), ([1.7, 4.1], [2.2, 0.3, 3.9, 0.1])],
)
def test_all_orders_say_the_same(first: list[float], second: list[float]) -> None:
    """Each way to choose a side comes in equally many orders of all scores."""

    def distance(scores: tuple[float, ...]) -> float:
        return abs(fmean(scores[: len(first)]) - fmean(scores[len(first) :]))

    found = distance((*first, *second))
    orders = [distance(order) >= found - 1e-9 for order in permutations([*first, *second])]
    assert exchange_p(first, second) == pytest.approx(fmean(orders))


def test_side_without_a_score_is_refused() -> None:
    with pytest.raises(ValueError, match="train at least one seed of each"):
        exchange_p([], [1.0])


def test_a_score_that_is_no_number_is_refused() -> None:
    with pytest.raises(ValueError, match="not a number"):
        exchange_p([float("nan")], [1.0])
