"""What the book's pages take from elsewhere is all there."""

import re

import pytest

from tools import book_text
from tools.sources import ROOT, lesson_sources
from transformer_course.exercises import catalogues


def test_every_placeholder_of_a_page_has_a_text():
    for page in (ROOT / "book").glob("*.md"):
        assert "{{ " not in book_text.filled(page.read_text(encoding="utf-8"))


def test_an_unknown_placeholder_is_an_error():
    with pytest.raises(KeyError, match="nonsense"):
        book_text.filled("{{ nonsense }}")


@pytest.mark.parametrize("name", ["lessons", "questions", "timing"])
def test_every_lesson_is_linked(name):
    text = book_text.TEXTS[name]()
    for source in lesson_sources():
        assert f"[](../notebooks/{source.stem}.ipynb)" in text


def test_the_map_leads_to_pages_of_the_book():
    pages = set(re.findall(r'href="\.\./notebooks/(\w+)\.html"', book_text.course_map()))
    assert pages == {source.stem for source in lesson_sources()[:8]}


def test_every_question_has_its_answer():
    text = book_text.questions()
    asked = len(re.findall(r"^\d+\. ", text, re.MULTILINE))
    answers = text.count("<details><summary>Answer</summary>")
    # An answer may itself begin with a number and a full stop.
    assert asked >= answers >= 60
    assert answers == sum(
        source.read_text(encoding="utf-8").partition("## Questions")[2].count("<summary>Answer")
        for source in lesson_sources()
    )


def test_the_tables_count_what_the_catalogues_hold():
    exercises = [e for lesson in catalogues().values() for e in lesson.values()]
    rows = [line.split(" | ") for line in book_text.timing().splitlines()[2:]]
    assert sum(int(row[2]) for row in rows) == len(exercises)
    assert sum(int(row[3].rstrip(" |")) for row in rows) == sum(len(e.mistakes) for e in exercises)
    listed = book_text.mistakes()
    assert all(mistake.name in listed for exercise in exercises for mistake in exercise.mistakes)
