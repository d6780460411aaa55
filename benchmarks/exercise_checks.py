"""How long a check takes at the worst: when no known mistake and no pair of them explains it."""

import os
import time
from collections.abc import Callable
from statistics import median
from tempfile import TemporaryDirectory
from unittest import mock

from torch import Tensor

from benchmarks.results_file import write_results
from transformer_course.checker.exercise import Exercise
from transformer_course.checker.feedback import Feedback
from transformer_course.exercises import catalogues


def unexplained(answer: Callable) -> Callable:
    """Return an answer whose results are a little off, in a way that nobody has catalogued."""
    if isinstance(answer, type):

        class Unexplained(answer):
            def forward(self, *inputs: Tensor | None) -> Tensor:
                return slightly_off(super().forward(*inputs))

        return Unexplained
    return lambda *inputs: slightly_off(answer(*inputs))


def slightly_off(value: object) -> object:
    """Change each number a little; ids move by one, truth values turn round."""
    if isinstance(value, Tensor):
        return value * 1.01 if value.is_floating_point() else value + 1
    if isinstance(value, tuple | list):
        return type(value)(map(slightly_off, value))
    if isinstance(value, dict):
        return {key: slightly_off(part) for key, part in value.items()}
    if isinstance(value, str):
        return f"{value}x"
    return not value if isinstance(value, bool) else value * 1.01


def main() -> None:
    """Time two checks of each exercise; print and write the seconds, note nothing as solved.

    The first one finds out what the known mistakes and their pairs do, each later one remembers it.
    """
    with (
        TemporaryDirectory() as home,
        mock.patch.dict(os.environ, {"TRANSFORMER_COURSE_HOME": home}),
    ):
        first, again = _times()
    write_results(
        "exercise_checks",
        {
            f"{when}_{what.__name__}": what(each.values())
            for when, each in (("first", first), ("again", again))
            for what in (median, max)
        }
        | {"first": first, "again": again},
    )


def _times() -> tuple[dict[str, float], dict[str, float]]:
    """Time both checks of each exercise; those that only change what they get have none."""
    first, again = {}, {}
    for lesson, exercises in catalogues().items():
        for name, exercise in exercises.items():
            answer, place = unexplained(exercise.task.answer), f"{lesson}.{name}"
            exercise.check(exercise.task.answer)  # pays for torch's own start
            feedback, spent = timed(exercise, answer)
            if not feedback.passed:
                first[place], (_, again[place]) = spent, timed(exercise, answer)
                print(f"{first[place]:6.3f} {again[place]:6.3f} s  {name}")
    return first, again


def timed(exercise: Exercise, answer: Callable) -> tuple[Feedback, float]:
    """Check an answer, and say how many seconds it took."""
    began = time.perf_counter()
    feedback = exercise.check(answer)
    return feedback, round(time.perf_counter() - began, 3)


if __name__ == "__main__":
    main()
