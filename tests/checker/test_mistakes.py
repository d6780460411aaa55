"""Mistakes, alone, in pairs and in threes."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from transformer_course.checker.cases import Case
from transformer_course.checker.diagnosis import Evidence, diagnose
from transformer_course.checker.exercise import Exercise
from transformer_course.checker.mistakes import Catalogue, Mistake, Several, pairs
from transformer_course.checker.records import Record, RecordError

from .doubling import double

TRIPLED, ADDED, SQUARED, CUT = double.mistakes


def names(mistakes):
    return tuple(mistake.name for mistake in mistakes)


def mistake(name, *edits, body=""):
    record = Record(Path("doubling.toml"), name, "seen", "change", edits, body)
    return Mistake(record, double.answer)


def diagnosis(candidate, mistakes):
    catalogue = Catalogue(mistakes, double.observer.run_case)
    seen, wanted = (
        [double.observer.run_case(code, number) for number in range(len(double.task.cases))]
        for code in (candidate, double.task.reference)
    )
    found = diagnose(catalogue, Evidence(seen, wanted, "", range(len(seen))))
    return names(found.mistakes) if found else ()


def test_pairs_edit_different_places():
    assert [names(pair.mistakes) for pair in pairs(double.mistakes)] == [
        ("tripled", "added"),
        ("tripled", "cut"),
        ("added", "cut"),
    ]


def test_a_whole_body_makes_no_pair():
    assert pairs([TRIPLED, mistake("alone", body="without")]) == []


def test_what_cannot_be_made_is_said_with_file_and_name():
    twice = r"doubling.toml: the mistake «twice» has an edit .* 'x' occurs \d times"
    with pytest.raises(RecordError, match=twice):
        _ = mistake("twice", ("x", "y")).candidate
    with pytest.raises(RecordError, match=r"«none» has a body that is not there: .*'absent'"):
        _ = mistake("none", body="absent").candidate


def test_a_broken_record_is_not_called_the_learners_fault():
    broken = Exercise(double.task, {}, [mistake("twice", ("x", "y")).record])
    with pytest.raises(RecordError, match="«twice»"):
        broken.check(lambda x, times: x)


def test_a_pair_holds_both_edits():
    assert Several((TRIPLED, ADDED)).candidate(1, 2) == 1 + 3**2


def test_diagnosis_is_the_mistake_that_computes_the_same():
    assert diagnosis(lambda x, times: x * 3**times, double.mistakes) == ("tripled",)
    assert diagnosis(lambda x, times: x + 3**times, double.mistakes) == ("tripled", "added")


def raises(kind):
    raise kind("in other words")


def power(base):
    return lambda x, times: raises(RuntimeError) if times == 3 else x * base**times


def test_crashes_count_as_equal_only_beside_wrong_values():
    crash = ("return x", "assert times != 3; return x")
    crashes = mistake("crashes", crash, ("2**times", "3**times"))
    only_crashes = mistake("only crashes", crash)
    assert diagnosis(power(3), [crashes, only_crashes]) == ("crashes",)
    assert diagnosis(power(2), [crashes, only_crashes]) == ()


def test_beyond_the_commonest_pairs_one_mistake_must_show_alone(monkeypatch):
    monkeypatch.setattr("transformer_course.checker.diagnosis.PAIRS_TRIED", 1)
    once = mistake("once", ("return x", "return (times == 3) + x"))
    always = mistake("always", ("return x", "return 1 + x"))
    known = [TRIPLED, ADDED, once, always]
    assert diagnosis(lambda x, times: x + 3**times, known) == ("tripled", "added")
    assert diagnosis(lambda x, times: x + 2**times + (times == 3), known) == ("added", "once")
    assert diagnosis(lambda x, times: x * 3**times + 1, known) == ()


def test_three_are_named_where_two_of_them_show_without_the_third():
    once = mistake("once", ("return x", "return (times == 3) + x"))
    always = mistake("always", ("return x", "return 1 + x"))
    three = (TRIPLED, ADDED, once)
    assert diagnosis(Several(three).candidate, three) == names(three)
    three = (TRIPLED, ADDED, always)
    assert diagnosis(Several(three).candidate, three) == ()


def test_no_diagnosis_is_guessed():
    assert diagnosis(lambda x, times: x * 5, double.mistakes) == ()
    assert diagnosis(lambda x, times: x * 3**times if times > 2 else x, double.mistakes) == ()


def test_a_mistake_that_explains_most_wrong_cases_is_named():
    cases = [Case((torch.arange(1.0, 4.0), times)) for times in range(1, 6)]
    many = Exercise(replace(double.task, cases=tuple(cases)), {}, [TRIPLED.record])
    feedback = many.check(lambda x, times: x if times == 5 else x * 3**times)
    assert feedback.mistakes == ("tripled",)
    assert "In 4 of 5 wrong results" in repr(feedback)


def test_of_pairs_that_compute_the_same_what_they_share_is_named():
    again = mistake("tripled again", ("2**times", "(4 - 1) ** times"))
    wrong = Several((TRIPLED, ADDED)).candidate
    assert diagnosis(wrong, [TRIPLED, ADDED]) == ("tripled", "added")
    assert diagnosis(wrong, [TRIPLED, ADDED, again]) == ("added",)


def test_a_pair_that_is_no_python_explains_nothing():
    opened = mistake("opened", ("return x", "return (x"))
    closed = mistake("closed", ("**times", "**times)"))
    assert diagnosis(lambda x, times: x + 3**times, [opened, TRIPLED]) == ()
    assert diagnosis(lambda x, times: x * 2**times + 1, [opened, closed]) == ()
    with pytest.raises(SyntaxError):
        _ = opened.candidate


def test_what_a_mistake_does_is_found_out_once():
    runs = []
    catalogue = Catalogue([TRIPLED], lambda candidate, number: runs.append(number))
    assert catalogue.outcome(TRIPLED, 1) is catalogue.outcome(TRIPLED, 1)
    assert runs == [1]


def test_beside_a_crash_each_hint_stands_once():
    feedback = double.check(power(3))
    assert feedback.mistakes == ("tripled",)
    assert "Apart from that: It stopped with RuntimeError: in other words" in repr(feedback)
    page = feedback._repr_html_()
    assert [page.count(f"Hint {number} of 3") for number in (1, 2, 3)] == [1, 1, 0]


def test_what_a_third_mistake_does_is_known_at_the_next_check():
    catalogue = Catalogue(double.mistakes, double.observer.run_case)
    for _ in range(3):
        for several in Several((TRIPLED, CUT)).and_one_more(double.mistakes):
            catalogue.outcome(several, 0)
        for several in pairs(double.mistakes):
            catalogue.outcome(several, 0)
    assert len(catalogue._outcomes) == 4
