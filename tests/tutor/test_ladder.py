"""What is open after so many tries."""

import pytest

from transformer_course.tutor.ladder import Ladder


@pytest.mark.parametrize(
    ("tries", "hints", "change", "gaps", "solution", "next_rung"),
    [
        (0, 0, False, False, False, "hint 1"),
        (1, 1, False, False, False, "hint 2"),
        (2, 2, False, False, False, "hint 3, and what to change"),
        (3, 3, True, False, False, "the answer with gaps"),
        (4, 3, True, True, False, "the solution"),
        (5, 3, True, True, True, ""),
        (9, 3, True, True, True, ""),
    ],
)
def test_each_try_opens_one_rung(tries, hints, change, gaps, solution, next_rung):
    ladder = Ladder(tries, 3)
    assert (ladder.hints, ladder.change, ladder.gaps) == (hints, change, gaps)
    assert (ladder.solution, ladder.next_rung) == (solution, next_rung)


def test_a_right_answer_may_be_compared_with_the_solution_and_opens_no_hint():
    ladder = Ladder(0, 3, solved=True)
    assert ladder.solution and not ladder.gaps
    assert (ladder.hints, ladder.next_rung) == (0, "")
