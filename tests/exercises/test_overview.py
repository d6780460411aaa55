from transformer_course.checker import progress
from transformer_course.exercises import catalogues, overview
from transformer_course.syllabus import LESSONS


def test_every_lesson_with_exercises_is_counted_in_the_order_of_the_course():
    counts = overview.solved_by_lesson()
    assert list(counts) == [title for title in LESSONS.values() if title in counts]
    assert sum(total for _, total in counts.values()) == sum(map(len, catalogues().values()))


def test_solved_exercises_are_counted_where_they_belong():
    before = overview.solved_by_lesson()
    assert progress.record("positional_encoding.wavelengths")
    assert progress.record("positional_encoding.renamed_since")
    assert overview.solved_by_lesson() == before | {
        "Positional encoding": (1, before["Positional encoding"][1])
    }
