"""How often each known mistake was made stands in its record."""

from tools.seen import counted, with_seen
from transformer_course.exercises import catalogues

TEXT = """# What can go wrong.

[[mistake]]
name = "one"
seen = 7

# A section

[[mistake]]
name = "two"
edits = [['''

# of
three lines''', '']]
"""


def test_numbers_are_written_and_taken_away():
    lines = with_seen(TEXT, [0, 2])
    assert lines == TEXT.replace("seen = 7\n", "") + "seen = 2\n"
    assert with_seen(lines, [0, 2]) == lines


def test_each_record_says_how_often_its_mistake_was_made():
    """After a new round of answers: ``python -m tools.seen``."""
    times = counted()
    known = {
        (name, mistake.name): mistake.record.seen
        for exercises in catalogues().values()
        for name, exercise in exercises.items()
        for mistake in exercise.mistakes
    }
    assert {key: seen for key, seen in known.items() if seen} == times
