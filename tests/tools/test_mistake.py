"""Trying a known mistake: the card, what it changes, and why one would not be named."""

import sys
from dataclasses import replace

import pytest

from tests.checker.doubling import double
from tools import mistake as tool
from transformer_course.checker.exercise import Exercise
from transformer_course.checker.records import Record
from transformer_course.exercises.attention import causal_mask

FILE = causal_mask.mistakes[0].record.file


def known(*edits, body=""):
    """Return double with its own mistakes, and one more."""
    more = Record(FILE, "new", "seen", "change", edits, body)
    return Exercise(double.task, {}, [*(each.record for each in double.mistakes), more])


@pytest.mark.parametrize(
    ("edit", "words"),
    [
        (("x * 2**times", "2**times * x"), "«new» is right in every case"),
        (("return x", "return (x"), "«new» makes an answer that is not Python any more: '('"),
        (("2**times", "2**tmies"), "«new» cannot run (name 'tmies' is not defined)"),
        (("2**times", "(4 - 1) ** times"), "«new» gets the name «tripled»: no case tells"),
    ],
)
def test_a_mistake_that_no_check_can_name(edit, words):
    (said,) = tool.not_named(known(edit))
    assert said.startswith(words)


def test_an_unless_that_fits_the_mistake_itself():
    tripled = replace(double.mistakes[0].record, unless="^")
    (said,) = tool.not_named(Exercise(double.task, {}, [tripled]))
    assert said == "«tripled» gets no name: its `unless` fits its own code. Narrow it."


def test_mistakes_that_are_told_apart():
    assert list(tool.not_named(known(("2**times", "5**times")))) == []


def test_the_lines_that_a_mistake_changes():
    assert tool.difference(double.mistakes[0]) == (
        "  -    return x * 2**times\n  +    return x * 3**times"
    )


def run(monkeypatch, *arguments):
    monkeypatch.setattr(sys, "argv", ["mistake", *arguments])
    return tool.main()


def test_the_card_that_a_learner_would_get(monkeypatch, capsys):
    assert run(monkeypatch, "causal_mask", "leans") == 0
    said = capsys.readouterr().out
    assert "Known mistake: the triangle leans to the other side" in said
    assert "What to change: Row i is True in the columns 0 to i" in said
    assert f"{len(causal_mask.mistakes)} of {len(causal_mask.mistakes)} mistakes in" in said


def test_without_words_what_is_not_committed_is_shown(monkeypatch, capsys):
    committed = {mistake.name for mistake in causal_mask.mistakes[1:]}
    monkeypatch.setattr(tool, "_committed", lambda file: committed)
    assert run(monkeypatch, "causal_mask") == 0
    assert capsys.readouterr().out.count("Known mistake: ") == 1


def test_outside_of_a_checkout_all_are_new(tmp_path):
    assert tool._committed(tmp_path / "none.toml") == set()


def test_a_name_that_is_not_there_gets_one_that_is(monkeypatch, capsys):
    with pytest.raises(SystemExit):
        run(monkeypatch, "casual_mask")
    assert "near: causal_mask" in capsys.readouterr().err
