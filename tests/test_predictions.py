"""Predictions are noted, answered and listed, and can be read without being run."""

import pytest

from transformer_course.predictions import Predictions, predict, written_in


def test_prediction_and_outcome_stand_side_by_side(capsys):
    guess = predict("Which rows change?", "the last | two")
    guess.turned_out("all of them")
    told = capsys.readouterr().out
    assert "Noted: the last | two" in told
    assert "You expected:  the last | two\nIt turned out: all of them" in told
    table = Predictions({"a": guess})._repr_markdown_()
    assert table.splitlines()[2] == r"| Which rows change? | the last \| two | all of them |"


def test_two_answers_to_a_question_of_two_parts(capsys):
    predict("Undivided, divided?", 0.5, 0.2).turned_out("0.98 and 0.29")
    assert "You expected:  0.5, 0.2\n" in capsys.readouterr().out


def test_dots_ask_for_a_prediction_and_stop_nobody(capsys):
    predict("How many?", ...).turned_out(3)
    told = capsys.readouterr().out
    assert "in the place of the dots" in told
    assert "You expected" not in told and "It turned out: 3" in told


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ('guess = predict("Which?", "the first")', [("Which?", "the first")]),
        ('predict("How many?", 3)', [("How many?", "3")]),
        ('predict("How many?", 2 + 1)', [("How many?", "2 + 1")]),
        ('predict("Which?", ["a", "b"])', [("Which?", "['a', 'b']")]),
        ('predict("Undivided, divided?", 0.5, "less")', [("Undivided, divided?", "0.5, less")]),
        ('predict("Which?", ...)', []),
        ('predict("Undivided, divided?", 0.5, ...)', []),
        ("predict(question, 3)", []),
        ("predict(", []),
        ("%%time\npredict('a', 3)", []),
    ],
)
def test_predictions_are_read_without_running_them(source, found):
    assert list(written_in(source)) == found


def test_a_token_in_the_table_is_no_html():
    guess = predict("Which token?", "<eos>")
    assert r"| \<eos> |" in Predictions({"a": guess})._repr_markdown_()
