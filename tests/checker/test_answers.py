"""The text of a model answer, and what edits make of it."""

from types import SimpleNamespace

import pytest

from transformer_course.checker.answers import AnswerText


def keep(function):
    return function


@keep
def half(number):
    """Halve a number; it may be odd."""
    return number / 2


toys = SimpleNamespace(half=half, one=1)


def less_than_half(number):
    return toys.half(number) - toys.one


HALF = AnswerText(half, {})
LESS = AnswerText(less_than_half, {"toys.half": HALF})


def test_the_definition_is_the_source_without_decorators():
    assert HALF.definition == (
        'def half(number):\n    """Halve a number; it may be odd."""\n    return number / 2'
    )


def test_an_edit_touches_only_what_it_changes():
    edit = HALF.edit("return number / 2", "return number // 2")
    assert HALF.text[edit.start : edit.stop] == ""
    assert edit.new == "/"
    renamed = HALF.edit("number / 2", "numbers / 2")
    assert HALF.text[renamed.start : renamed.stop] == "number"


def test_an_edited_answer_computes_what_its_text_says():
    assert HALF.edited([HALF.edit("/ 2", "/ 4")])(12) == 3
    assert half(12) == 6


def test_several_edits_are_made_at_once():
    edits = [HALF.edit("/ 2", "* 2"), HALF.edit("return number", "return 1 + number")]
    assert HALF.edited(edits)(12) == 25


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("number / 3", "number", "is not in the answer; copy it"),
        ("number", "numbers", "occurs 3 times in the answer; take more"),
        ("/ 2", "/ 2", "stays as it is"),
    ],
)
def test_an_edit_must_change_what_occurs_once(old, new, words):
    with pytest.raises(ValueError, match=words):
        HALF.edit(old, new)


def test_an_edit_in_a_part_changes_the_whole():
    assert LESS.edited([LESS.edit("/ 2", "* 2")])(12) == 23
    assert less_than_half(12) == 5


@pytest.mark.parametrize(
    ("one", "other", "overlap"),
    [
        (("/ 2", "/ 4"), ("return number", "return -number"), False),
        (("number / 2", "0"), ("/ 2", "/ 4"), True),
        (("return number", "return -number"), ("return number", "return 3 * number"), True),
    ],
)
def test_edits_overlap_where_they_touch_the_same(one, other, overlap):
    assert HALF.edit(*one).overlaps(HALF.edit(*other)) is overlap
    assert HALF.edit(*other).overlaps(HALF.edit(*one)) is overlap
