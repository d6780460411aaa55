"""The three verbs, and every kind of bad answer that a learner can give."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn

from transformer_course.checker import progress, sandbox
from transformer_course.checker.cases import Property
from transformer_course.checker.exercise import Exercise
from transformer_course.checker.feedback import Verdict

from .doubling import Scale, double
from .rejected import words

# Not attempted


def stub(x, times): ...


def documented_stub(x, times):
    """Double x."""


def passing_stub(x, times):
    pass


def returning_stub(x, times):
    return ...


def raising_stub(x, times):
    raise NotImplementedError


@pytest.mark.parametrize(
    "untouched", [stub, documented_stub, passing_stub, returning_stub, raising_stub]
)
def test_stub_gets_a_neutral_note(untouched):
    feedback = double.check(untouched)
    assert feedback.verdict is Verdict.NOT_ATTEMPTED
    assert repr(feedback) == (
        "Not attempted: double\n"
        "Write the function in place of `...`, run its cell, then this one. "
        "`exercise.double.hint()` helps, and `exercise.double.gaps()` shows an answer with gaps to "
        "fill."
    )


def test_module_stub_gets_a_neutral_note():
    class Stub(nn.Module):
        def __init__(self, width):
            super().__init__()
            ...

        def forward(self, x): ...

    assert Scale.check(Stub).verdict is Verdict.NOT_ATTEMPTED


def test_an_operation_that_torch_lacks_is_not_a_stub():
    def lacking(x, times):
        return torch.ops.aten.hardtanh(x.to(torch.complex64))

    assert double.check(lacking).verdict is Verdict.WRONG


# Right


def test_right_answer_is_praised_verified_and_recorded():
    feedback = double.check(lambda x, times: x * 2**times)
    assert feedback.passed
    assert "Well done: equal to the reference in 3 cases, and 2 properties hold." in repr(feedback)
    assert "double(x, times=1)" in feedback._repr_html_()
    assert "nothing is zero" in feedback._repr_html_()
    assert list(progress.solved()) == ["checker.double"]


def test_a_folder_that_cannot_be_written_does_not_block(monkeypatch, tmp_path):
    (tmp_path / "file").touch()
    monkeypatch.setenv("TRANSFORMER_COURSE_HOME", str(tmp_path / "file" / "folder"))
    feedback = double.check(lambda x, times: x * 2**times)
    assert feedback.passed
    assert "This is not saved" in repr(feedback)


def test_no_home_folder_does_not_block(monkeypatch):
    monkeypatch.delenv("TRANSFORMER_COURSE_HOME")

    def homeless():
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr("pathlib.Path.home", homeless)
    feedback = double.check(lambda x, times: x * 2**times)
    assert feedback.passed
    assert "This is not saved" in repr(feedback)


def test_wrong_answers_record_nothing():
    double.check(lambda x, times: x)
    assert progress.solved() == {}


def test_a_right_module_passes():
    assert Scale.check(Scale.task.answer).passed


def test_a_function_may_be_a_module_or_a_bound_method():
    class Doubling(nn.Module):
        def forward(self, x, times):
            return x * 2**times

    assert double.check(Doubling()).passed
    assert double.check(Doubling().forward).passed


def test_rounding_is_no_mistake():
    assert double.check(lambda x, times: x * 2**times * (1 + 1e-5)).passed


# Known and unknown mistakes


def test_known_mistake_gets_its_name_its_sign_and_the_change():
    feedback = double.check(lambda x, times: 3**times * x)
    assert feedback.mistakes == ("tripled",)
    assert repr(feedback) == (
        "Not yet: double\n"
        "For:\n"
        "    x = torch.tensor([1., 2., 3., 4., 5.])\n"
        "    double(x, times=3)\n"
        "Result (! marks what differs):\n"
        "  wanted            yours\n"
        "   8 16 24 32 40     27!  54!  81! 108! 135!\n"
        "Known mistake: tripled\n"
        "What shows it: 1 becomes 3.\n"
        "What to change: Use `2`."
    )


def test_two_mistakes_at_once_are_both_named():
    feedback = double.check(lambda x, times: x + 3**times)
    assert feedback.mistakes == ("tripled", "added")
    assert "Known mistake 1: tripled\nOn its own: 1 becomes 3." in repr(feedback)
    assert "For mistake 1: Use `2`.\nFor mistake 2: " in repr(feedback)


def test_a_mistake_is_known_by_its_exception_too():
    feedback = double.check(lambda x, times: x[:1].expand(7, 7, 7) * 2**times)
    assert feedback.mistakes == ("cut",)


def test_unknown_mistake_shows_the_smallest_case_and_the_properties():
    def wrong(x, times):
        result = x * 2**times
        result.flatten()[1] = 0
        return result

    assert words(double, wrong) == (
        "Not yet: double\n"
        "Wrong in 3 of 3 cases.\n"
        "For:\n"
        "    x = torch.tensor([1., 2., 3., 4., 5.])\n"
        "    double(x, times=3)\n"
        "Result (! marks what differs):\n"
        "  wanted            yours\n"
        "   8 16 24 32 40     8 0! 24 32 40\n"
        "Properties of a right answer:\n"
        "  - FAILS: no result is smaller\n"
        "  - FAILS: nothing is zero"
    )


# Bad answers, each with one explained sentence


def test_nothing_to_check():
    assert "There is nothing to check" in repr(double.check())


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        (None, "you gave None"),
        ("double", "you gave a text, in quotes"),
        (torch.ones(2), "you gave the result of a call, tensor of shape [2], float32"),
        (3, "you gave the result of a call, 3 (int)"),
        (Scale.task.answer, "you gave the class `Scale`"),
        (lambda x: x, "must accept `(x, times)`; yours accepts `(x)`"),
        (lambda x, y, z: x, "must accept `(x, times)`; yours accepts `(x, y, z)`"),
    ],
)
def test_what_is_no_fitting_function(given, complaint):
    assert complaint in words(double, given)


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        (None, "you gave None"),
        (Scale.task.answer(3), "You gave an object made from your class"),
        (stub, "you gave a function"),
        (dict, "must be a module: `class dict(nn.Module):`"),
        (nn.Identity, None),
        (nn.Bilinear, "`__init__` must accept `(width)`; yours accepts `(in1_features,"),
        (nn.MultiheadAttention, "`__init__` must accept"),
    ],
)
def test_what_is_no_fitting_class(given, complaint):
    if complaint:
        assert complaint in words(Scale, given)
    else:
        assert not Scale.check(given).passed


def test_forward_with_too_few_parameters():
    class NoInput(nn.Module):
        def __init__(self, width):
            super().__init__()

        def forward(self):
            return 0

    assert "`forward` must accept `(self, x)`; yours accepts `(self)`" in words(Scale, NoInput)


def test_parameters_with_other_names_and_shapes():
    class Other(nn.Module):
        def __init__(self, width):
            super().__init__()
            self.gain = nn.Parameter(torch.ones(width))

        def forward(self, x):
            return x * self.gain

    class Wide(Scale.task.answer):
        def __init__(self, width):
            super().__init__(1)

    assert "`gain` should be named `weight`." in words(Scale, Other)
    assert "`weight` has shape [1]; [3] is wanted" in words(Scale, Wide)


def test_of_many_wrong_parameters_a_few_are_named():
    class Stack(Scale.task.answer):
        def __init__(self, width):
            super().__init__(width)
            self.stack = nn.ParameterList(torch.ones(width) for _ in range(9))

    answer = words(Scale, Stack)
    assert "`stack.2` of shape [3] should not be there\n  - and 6 more like these" in answer
    assert "stack.3" not in answer


def test_exception_shows_the_learners_own_line():
    def helper(x):
        return x @ torch.ones(7)

    def crashing(x, times):
        return helper(x) * 2

    feedback = words(double, crashing)
    line = helper.__code__.co_firstlineno + 1
    assert "It stopped with RuntimeError: size mismatch" in feedback
    assert f"Your line {line}:\n    return x @ torch.ones(7)\n" in feedback
    assert feedback.index("double(x, times=1)") < feedback.index("Your line")


def test_small_result_of_another_shape_shows_its_numbers():
    feedback = words(double, lambda x, times: (x * 2**times).sum())
    assert "Wanted: tensor of shape [5], float32: [8., 16., 24., 32., 40.]" in feedback
    assert "Yours: tensor of shape [], float32: 120." in feedback
    endless = words(double, lambda x, times: torch.tensor([math.nan, math.inf]))
    assert "Yours: tensor of shape [2], float32: [nan, inf]" in endless


@pytest.mark.parametrize(
    ("code", "explanation"),
    [
        ("undefined_name", "This name has no value yet"),
        ("1 / 0", "divided by zero"),
        ("x[9]", "An index lies beyond the end"),
        ("x.sum(dim=5)", "A tensor has fewer axes than expected"),
        ("x + torch.ones(7)", "Two shapes do not fit"),
        ("print('a')['b']", "A value is None here"),
        ("print('a').shape", "A value is None here"),
        ("x.shapes", "no such name"),
        ("f(x, times)", "never stops calling itself"),
        ("exit(3)", "This ends Python"),
    ],
)
def test_exceptions_are_explained(code, explanation):
    names = {"torch": torch}
    exec(f"def f(x, times):\n    return {code}\n", names)
    assert explanation in words(double, names["f"])


def test_addresses_are_left_out_so_that_outputs_are_stable():
    def addressed(x, times):
        raise ValueError(object())

    feedback = words(double, addressed)
    assert "ValueError: <object object>" in feedback


def test_missing_super_init_is_explained():
    class Forgetful(nn.Module):
        def __init__(self, width):
            self.weight = nn.Parameter(torch.ones(width))

        def forward(self, x):
            return x * self.weight

    feedback = words(Scale, Forgetful)
    assert "`super().__init__()` must come first" in feedback
    assert "self.weight = nn.Parameter(torch.ones(width))" in feedback


@pytest.mark.parametrize(
    ("answer", "complaint"),
    [
        (lambda x, times: print(end=""), "Yours: None; is a `return` missing?"),
        (lambda x, times: (x * 2**times).tolist(), "A torch tensor is wanted, not a list"),
        (lambda x, times: (x * 2**times).numpy(), "A torch tensor is wanted, not a NumPy array"),
        (lambda x, times: (x, x), "Yours: tuple of 2"),
        (lambda x, times: (y for y in x), "Yours: object of type generator"),
        (lambda x, times: stub, "Yours: object of type function"),
        (lambda x, times: 2.0, "Yours: 2 (float)"),
        (lambda x, times: (x * 2**times)[:1], "Yours: tensor of shape [1], float32"),
        (lambda x, times: (x * 2**times).to(torch.complex64), "complex64"),
        (lambda x, times: (x * 2**times).to("meta"), "on meta"),
        (lambda x, times: (x * 2**times).double(), "dtype is `float64` and `float32` is wanted"),
        (lambda x, times: (x * 2**times).int(), "dtype is `int32` and `float32` is wanted"),
        (lambda x, times: x * float("nan"), "NaN comes from 0/0"),
        (lambda x, times: (x * 2**times).requires_grad_(), "they carry an autograd graph"),
        (lambda x, times: x.mul_(2**times), "changes its arguments in place"),
        (lambda x, times: x.mul_(7), "changes its arguments in place"),
        (lambda x, times: x + torch.rand(()), "drawn at random"),
        (lambda x, times: x + np.random.rand(), "drawn at random"),
    ],
)
def test_results_that_are_not_what_is_wanted(answer, complaint):
    assert complaint in words(double, answer)


def test_what_else_is_wrong_is_said_beside_a_change_in_place():
    said = words(double, lambda x, times: x.mul_(7))
    assert "changes its arguments in place" in said and "! marks what differs" in said


def test_a_change_in_place_is_said_beside_an_exception():
    def stopping(x, times):
        x.mul_(2)
        raise KeyError(times)

    said = words(double, stopping)
    assert "It stopped with KeyError" in said and "changes its arguments in place" in said


def test_a_change_in_place_is_said_beside_a_known_mistake():
    feedback = double.check(lambda x, times: x.mul_(3**times))
    assert feedback.mistakes == ("tripled",)
    assert "Apart from that: Your code changes its arguments in place" in repr(feedback)


def test_a_lost_graph_is_reported():
    class Detached(Scale.task.answer):
        def forward(self, x):
            return super().forward(x).detach()

    assert "the autograd graph is lost" in words(Scale, Detached)


def test_state_that_leaks_between_calls():
    calls = []

    def counting(x, times):
        calls.append(1)
        return x * 2**times * len(calls)

    assert "remembered between calls" in words(double, counting)


def test_state_that_leaks_through_the_returned_tensor():
    total = torch.zeros(2, 3)

    def accumulating(x, times):
        return total.add_(1)

    assert "remembered between calls" in words(double, accumulating)


def test_a_huge_integer_is_not_remembered():
    assert "remembered" not in words(double, lambda x, times: 10**400)


def test_a_long_list_is_not_called_a_loop(monkeypatch):
    assert "Wrong in 3 of 3 cases" in words(double, lambda x, times: [0.5] * 100_000)
    monkeypatch.setattr(sandbox, "TIME_LIMIT", 0.2)
    too_long = words(double, lambda x, times: [None] * 3_000_000)
    assert "is the result much longer than it should be?" in too_long
    assert "loop" not in too_long


@pytest.mark.parametrize("kind", [torch.float16, torch.bool, torch.int64])
def test_properties_are_not_asked_about_another_dtype(kind):
    def other(x, times):
        return (x * 2**times).to(kind)

    precise = Property("it is float32", lambda value, case: value.dtype == torch.float32)
    exercise = Exercise(replace(double.task, properties=(precise,)), {}, [])
    assert "it is float32" not in words(exercise, other)
    assert "it is float32" not in words(exercise, lambda x, times: other(x, times) * (times < 3))


def test_random_results_in_evaluation_mode():
    class Dropping(Scale.task.answer):
        def forward(self, x):
            return nn.functional.dropout(super().forward(x))

    assert "in evaluation mode" in words(Scale, Dropping)
    assert "evaluation mode" not in words(double, lambda x, times: x + torch.rand(()))


def test_what_is_found_by_random_changes_should_not_depend_on_them():
    found = replace(double.task, reference=lambda x, times: x > 0, properties=())
    exercise = Exercise(found, {}, [])
    said = words(exercise, lambda x, times: torch.rand(x.shape) > 0.5)
    assert "you may try changes drawn at random" in said


def test_prints_are_shown_once_and_cut(capsys):
    def chatty(x, times):
        print("shape", tuple(x.shape))
        print("y" * 1000)
        return x * 2**times

    feedback = double.check(chatty)
    assert feedback.passed
    assert repr(feedback).count("shape (") == 1
    assert "first such case, the beginning" in repr(feedback)
    assert len(repr(feedback)) < 1000
    assert capsys.readouterr() == ("", "")


def test_the_stop_button_still_works():
    def stopped(x, times):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        double.check(stopped)


# Hints and solution


def test_hints_go_from_mild_to_strong_and_stay_at_the_last():
    said = [repr(double.hint()) for _ in range(4)]
    assert said[0] == "Hint: double\n1 of 3: mild"
    assert said[1] == "Hint: double\n2 of 3: stronger"
    assert said[2].startswith("Hint: double\n3 of 3: `x * 2`\nThat was the last hint")
    assert said[3] == said[2]


def test_solution_is_the_source_without_the_decorator():
    assert double.solution().code == (
        "def double(x: Tensor, times: int) -> Tensor:\n"
        '    """Double x so many times."""\n'
        "    return x * 2**times"
    )
    assert Scale.solution().code.startswith("class Scale(nn.Module):\n")


def test_an_exercise_says_what_it_can_do():
    assert repr(double) == "Exercise double: .check(double), .hint(), .gaps(), .solution()"


def test_what_else_was_seen_is_not_the_evidence_of_a_crash():
    def crashes_at_three(x, times):
        if times == 3:
            raise KeyError("x")
        return (2**times * x).tolist()

    said = repr(double.check(crashes_at_three))
    assert "It stopped with KeyError" in said and "Besides: A torch tensor is wanted" in said
    assert "What shows it" not in said
