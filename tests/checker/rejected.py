"""What a learner reads about a wrong answer."""

from transformer_course.checker.exercise import Exercise


def words(exercise: Exercise, candidate: object) -> str:
    """Check an answer that must not pass; return the feedback as text."""
    feedback = exercise.check(candidate)
    assert not feedback.passed
    assert feedback._repr_html_()
    return repr(feedback)
