"""What a lesson says about its exercises, and which one is next."""

import pytest

from tools.sources import lesson_sources, read_source
from transformer_course.checker import progress
from transformer_course.exercises import catalogues
from transformer_course.workspace import outline

LESSONS = [source.stem for source in lesson_sources()]
ATTENTION = "02_attention"
PADDING_MASK = outline.Exercise("padding_mask", "Exercise 2: padding_mask", 5)


def solve(*names: str) -> None:
    for name in names:
        progress.record(f"attention.{name}")


@pytest.mark.parametrize("lesson", LESSONS)
def test_a_lesson_says_name_and_minutes_of_every_exercise(lesson):
    exercises = outline.exercises_of(lesson)
    assert [each.name for each in exercises] == list(catalogues()[lesson.partition("_")[2]])
    assert all(0 < each.minutes <= 30 for each in exercises)


def test_an_exercise_is_read_from_its_heading():
    assert outline.exercises_of(ATTENTION)[1] == PADDING_MASK
    assert PADDING_MASK.title == "exercise 2, padding_mask"
    assert outline.exercises_of("00_start_here")[0].title == "exercise softmax"


@pytest.mark.parametrize(
    ("solved", "words"),
    [
        ((), "0 of 5 solved; next: exercise 1, scaled_dot_product_attention, 15 minutes."),
        (("padding_mask",), "1 of 5 solved; next: exercise 1, scaled_dot_product"),
        (("scaled_dot_product_attention",), "1 of 5 solved; next: exercise 2, padding_mask, 5 min"),
    ],
)
def test_the_first_unsolved_exercise_is_next(solved, words):
    solve(*solved)
    assert str(outline.standing(ATTENTION)).startswith(f"Ready. Attention: {words}")


def test_a_lesson_that_is_done_has_nothing_next():
    solve(*(each.name for each in outline.exercises_of(ATTENTION)))
    assert str(outline.standing(ATTENTION)) == "Ready. Attention: 5 of 5 solved."


def test_the_next_exercise_is_a_link_in_jupyterlab_alone(monkeypatch):
    monkeypatch.delenv("JPY_SESSION_NAME", raising=False)
    standing = outline.standing(ATTENTION)
    assert standing._repr_html_() is None
    monkeypatch.setenv("JPY_SESSION_NAME", "02_attention.ipynb")
    link = '<a href="#Exercise-1:-scaled_dot_product_attention">exercise 1, scaled_dot'
    assert link in standing._repr_html_()


@pytest.mark.parametrize("lesson", LESSONS)
def test_a_lesson_gives_its_name_to_the_set_up(lesson):
    cells = read_source(outline.lessons_folder() / "text" / f"{lesson}.md").cells
    (setup,) = (cell for cell in cells if "install" in cell.metadata.get("tags", []))
    assert f'setup("{lesson}")' in setup.source


def test_the_first_lesson_with_something_unsolved():
    assert outline.next_lesson() == "00_start_here"
    progress.record("start_here.softmax")
    assert outline.next_lesson() == "01_positional_encoding"
