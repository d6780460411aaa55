"""A picture of what the learner has solved."""

from collections.abc import Mapping

from transformer_course.plots.renderer import Picture
from transformer_course.plots.theme import (
    INK,
    MUTED,
    SERIES,
    blank_axes,
    entitle,
    matplotlib_theme,
)

BAR_HEIGHT = 30
"""Pixels for each lesson."""


@matplotlib_theme()
def progress_bars(lessons: Mapping[str, tuple[int, int]]) -> Picture:
    """Draw a bar for each lesson: solved exercises filled, the others empty.

    Parameters
    ----------
    lessons
        Solved exercises and all exercises by the lesson's title, as
        :func:`~transformer_course.exercises.overview.solved_by_lesson` counts them.

    Raises
    ------
    ValueError
        If there is no lesson.
    """
    if not lessons:
        raise ValueError("there is no lesson to draw; give at least one, with its two counts.")
    [axes] = blank_axes(height=90 + BAR_HEIGHT * len(lessons))
    for row, (solved, total) in enumerate(lessons.values()):
        axes.barh(row, total, height=0.6, facecolor="none", edgecolor=MUTED)
        axes.barh(row, solved, height=0.6, color=SERIES[1])
        axes.text(total + 0.1, row, f"{solved} of {total}", va="center", color=INK)
    axes.set_yticks(range(len(lessons)), lessons)
    axes.invert_yaxis()
    axes.set(xlabel="exercises", ylabel="lesson")
    axes.set_xlim(0, max(total for _, total in lessons.values()) + 1)
    axes.xaxis.get_major_locator().set_params(integer=True)
    axes.grid(visible=False, axis="y")
    done, every = map(sum, zip(*lessons.values(), strict=True))
    entitle(axes, f"You have solved {done} of {every} exercises")
    counts = "; ".join(f"{title} {solved} of {total}" for title, (solved, total) in lessons.items())
    return Picture(axes.figure, f"Bars of solved exercises: {counts}.")
