"""Mistakes, alone and in pairs."""

from transformer_course.checker.mistakes import combined, diagnose, pairs

from .doubling import double

TRIPLED, ADDED, SQUARED, CUT = double.mistakes


def names(mistakes):
    return tuple(mistake.name for mistake in mistakes)


def diagnosis(candidate, mistakes):
    seen, wanted = (
        [double.run_case(code, number) for number in range(len(double.task.cases))]
        for code in (candidate, double.task.reference)
    )
    return names(diagnose(seen, wanted, mistakes, double.run_case))


def test_pairs_override_different_steps():
    assert [names(pair) for pair in pairs(double.mistakes)] == [
        ("tripled", "added"),
        ("tripled", "squared"),
        ("tripled", "cut"),
    ]


def test_a_mistake_makes_no_pair_with_one_that_it_extends():
    class Worse(TRIPLED.steps):
        def combine(self, x, factor):
            return x - factor

    worse = type(TRIPLED)("worse", "seen", "change", Worse)
    assert pairs([TRIPLED, worse]) == []


def test_a_pair_holds_both_wrong_steps():
    assert combined(TRIPLED, ADDED).candidate(1, 2) == 1 + 3**2


def test_diagnosis_is_the_mistake_that_computes_the_same():
    assert diagnosis(lambda x, times: x * 3**times, double.mistakes) == ("tripled",)
    assert diagnosis(lambda x, times: x + 3**times, double.mistakes) == ("tripled", "added")


def raises(kind):
    raise kind("in other words")


def test_crashes_count_as_equal_only_beside_wrong_values():
    class Crashes(TRIPLED.steps.__base__):
        def factor(self, times):
            return raises(ValueError) if times == 3 else self.small(times)

        def small(self, times):
            return 3**times

    class OnlyCrashes(Crashes):
        def small(self, times):
            return 2**times

    mistakes = [
        type(TRIPLED)(steps.__name__, "seen", "change", steps) for steps in (Crashes, OnlyCrashes)
    ]

    def power(base):
        return lambda x, times: raises(RuntimeError) if times == 3 else x * base**times

    assert diagnosis(power(3), mistakes) == ("Crashes",)
    assert diagnosis(power(2), mistakes) == ()


def test_only_the_first_of_many_pairs_are_tried(monkeypatch):
    monkeypatch.setattr("transformer_course.checker.mistakes.PAIRS_TRIED", 2)
    assert [names(pair) for pair in pairs(double.mistakes)] == [
        ("tripled", "added"),
        ("tripled", "squared"),
    ]


def test_no_diagnosis_is_guessed():
    assert diagnosis(lambda x, times: x * 5, double.mistakes) == ()
    assert diagnosis(lambda x, times: x * 3**times if times < 3 else x, double.mistakes) == ()


def test_two_pairs_that_compute_the_same_are_not_named():
    class AlsoTripled(TRIPLED.steps.__base__):
        def factor(self, times):
            return 3**times

    again = type(TRIPLED)("tripled again", "seen", "change", AlsoTripled)
    wrong = combined(TRIPLED, ADDED).candidate
    assert diagnosis(wrong, [TRIPLED, ADDED]) == ("tripled", "added")
    assert diagnosis(wrong, [TRIPLED, ADDED, again]) == ()
