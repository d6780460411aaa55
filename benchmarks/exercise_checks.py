"""How long a check takes at the worst: when no known mistake and no pair of them explains it."""

import time
from collections.abc import Callable
from statistics import median

from torch import Tensor

from benchmarks.results_file import write_results
from transformer_course.checker.exercise import Exercise
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
    if isinstance(value, tuple):
        return tuple(slightly_off(part) for part in value)
    if isinstance(value, dict):
        return {key: slightly_off(part) for key, part in value.items()}
    return not value if isinstance(value, bool) else value * 1.01


def main() -> None:
    """Time two checks of each exercise; print and write the seconds.

    The first one finds out what the known mistakes and their pairs do, each later one remembers it.
    """
    first, again = {}, {}
    for lesson, exercises in catalogues().items():
        for name, exercise in exercises.items():
            answer = unexplained(exercise.task.answer)
            exercise.check(exercise.task.answer)  # pays for torch's own start
            first[f"{lesson}.{name}"] = seconds(exercise, answer)
            again[f"{lesson}.{name}"] = seconds(exercise, answer)
            print(f"{first[f'{lesson}.{name}']:6.3f} {again[f'{lesson}.{name}']:6.3f} s  {name}")
    write_results(
        "exercise_checks",
        {
            f"{when}_{what.__name__}": what(each.values())
            for when, each in (("first", first), ("again", again))
            for what in (median, max)
        }
        | {"first": first, "again": again},
    )


def seconds(exercise: Exercise, answer: Callable) -> float:
    """Time one check."""
    began = time.perf_counter()
    exercise.check(answer)
    return round(time.perf_counter() - began, 3)


if __name__ == "__main__":
    main()
