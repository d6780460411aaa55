"""How far the learner is in each lesson."""

from transformer_course.checker import progress
from transformer_course.exercises import catalogues
from transformer_course.syllabus import LESSONS


def solved_by_lesson() -> dict[str, tuple[int, int]]:
    """Return how many exercises are solved, and of how many, by the title of the lesson."""
    solved, by_lesson = progress.solved(), catalogues()
    counts = {}
    for notebook, title in LESSONS.items():
        lesson = notebook.partition("_")[2]
        if lesson in by_lesson:
            names = [f"{lesson}.{name}" for name in by_lesson[lesson]]
            counts[title] = (sum(name in solved for name in names), len(names))
    return counts
