"""Whatever is handed in to a real exercise, the check says so in words and leaves no trace."""

import contextlib
import functools
import math
import os
import random
import signal
import subprocess
import sys
import textwrap
import warnings

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from transformer_course.checker import sandbox
from transformer_course.checker.feedback import Verdict
from transformer_course.checker.originals import NAMESPACES
from transformer_course.exercises import (
    attention,
    multi_head_attention,
    positional_encoding,
    start_here,
)

softmax = start_here.softmax
split_heads = multi_head_attention.split_heads
causal_mask = attention.causal_mask
padding_mask = attention.padding_mask
attend = attention.scaled_dot_product_attention
Embeddings = positional_encoding.Embeddings
right_softmax, right_attention = softmax.task.answer, attend.task.answer
RightEmbeddings = Embeddings.task.answer


def words(exercise, candidate):
    feedback = exercise.check(candidate)
    assert not feedback.passed
    assert feedback._repr_html_()
    return repr(feedback)


def settings():
    return {
        "random numbers of torch": torch.get_rng_state().tolist(),
        "random numbers of Python": random.getstate(),
        "random numbers of NumPy": np.random.get_state()[1].tolist(),
        "dtype": torch.get_default_dtype(),
        "device": torch.get_default_device(),
        "threads": torch.get_num_threads(),
        "gradients": torch.is_grad_enabled(),
        "warnings": warnings.filters[:],
        "output": (sys.stdout, sys.stderr),
        "alarm": signal.getsignal(signal.SIGALRM),
    }


def functions():
    return [(name, id(f)) for namespace in NAMESPACES for name, f in vars(namespace).items()]


@pytest.fixture(autouse=True)
def nothing_is_left_behind(monkeypatch):
    monkeypatch.setattr(sandbox, "TIME_LIMIT", 0.3)
    before, functions_before = settings(), functions()
    yield
    after = settings()
    assert [name for name in after if after[name] != before[name]] == []
    assert set(functions()) ^ set(functions_before) == set()


# What is handed in


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        ("softmax", "you gave a text, in quotes"),
        (b"softmax", "you gave the result of a call"),
        (softmax, "you gave the exercise itself; write `exercise.softmax.check(softmax)`"),
        (start_here, "you gave a module"),
        (nn.Softmax, "you gave the class `Softmax`"),
        (torch.ones(3).softmax(0), "you gave the result of a call, tensor of shape [3], float32"),
        (lambda: 0, "must accept `(scores)`; yours accepts `()`"),
        (lambda scores, dim: 0, "must accept `(scores)`; yours accepts `(scores, dim)`"),
        (right_attention, "must accept `(scores)`; yours accepts `(query, key, value, mask)`"),
    ],
)
def test_what_is_no_function_for_this_exercise(given, complaint):
    assert complaint in words(softmax, given)


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        (RightEmbeddings(7, 4, 0), "You gave an object made from your class; give the class"),
        (Embeddings, "A class is wanted and you gave the exercise itself"),
        (RightEmbeddings.forward, "A class is wanted and you gave a function"),
        (int, "Your class must be a module: `class int(nn.Module):`"),
    ],
)
def test_what_is_no_class_for_this_exercise(given, complaint):
    assert complaint in words(Embeddings, given)


@pytest.mark.parametrize("exercise", [softmax, Embeddings])
def test_nothing(exercise):
    assert "There is nothing to check" in repr(exercise.check())


def test_the_function_of_another_exercise_is_wrong_here():
    assert "Wrong in 3 of 3 cases" in words(causal_mask, lambda length: torch.ones(length))
    assert "It stopped with" in words(causal_mask, right_softmax)
    assert not attention.target_mask.check(padding_mask.task.answer).passed


def test_odd_forms_of_right_functions_pass():
    class Callable:
        def __call__(self, scores):
            return right_softmax(scores)

    assert softmax.check(Callable()).passed
    assert softmax.check(Callable().__call__).passed
    assert softmax.check(functools.partial(lambda first, scores: right_softmax(scores), 1)).passed
    assert softmax.check(lambda *scores: right_softmax(*scores)).passed
    assert attend.check(lambda *inputs, **options: right_attention(*inputs, **options)).passed


# What comes out


def generator_function(scores):
    yield from scores


async def coroutine_function(scores):
    return scores


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (lambda y: y.numpy(), "A torch tensor is wanted, not a NumPy array"),
        (lambda y: y.tolist(), "A torch tensor is wanted, not a list"),
        (lambda y: (row for row in y), "Yours: object of type generator"),
        (lambda y: y.to("meta"), "Yours: tensor of shape [3], float32, on meta"),
        (lambda y: y.double().float().half(), "dtype is `float16`"),
        (lambda y: y.to(torch.complex64), "complex64"),
        (lambda y: y.to_sparse() * 2, "what differs"),
        (lambda y: y.long(), "Yours: tensor of shape [3], int64"),
        (lambda y: y[..., :0], "Yours: tensor of shape [0], float32"),
        (lambda y: y.sum(), "Yours: tensor of shape [], float32"),
        (lambda y: (y, y), "Yours: tuple of 2"),
        (lambda y: {"weights": y}, "Yours: dict of 1"),
        (lambda y: y * nn.Parameter(torch.ones(())), "they carry an autograd graph"),
        (lambda y: nn.Parameter(y), "no gradient passes"),
        (lambda y: y * math.nan, "NaN comes from"),
        (lambda y: F.softmax, "Yours: object of type function"),
        (lambda y: softmax, "Yours: object of type Exercise"),
    ],
)
def test_results_that_are_no_right_tensor(change, complaint):
    assert complaint in words(softmax, lambda scores: change(right_softmax(scores)))


def test_generators_and_coroutines_instead_of_functions():
    assert "object of type generator" in words(softmax, generator_function)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Python's own remark that nobody awaited it
        assert "object of type coroutine" in words(softmax, coroutine_function)


def test_results_made_under_inference_mode_or_sparse_pass():
    assert split_heads.check(torch.inference_mode()(split_heads.task.answer)).passed
    assert softmax.check(lambda scores: right_softmax(scores).to_sparse()).passed


def detached(attended):
    return tuple(part.detach() for part in attended)


def test_a_result_cut_off_from_the_graph():
    for cut_off in (torch.inference_mode(), torch.no_grad()):
        assert softmax.check(cut_off(right_softmax)).mistakes == ("no gradient passes",)
    by_numpy = words(softmax, lambda scores: torch.from_numpy(right_softmax(scores).numpy()))
    assert "NumPy knows no gradients" in by_numpy

    class Detached(RightEmbeddings):
        def forward(self, ids):
            return super().forward(ids).detach()

    assert "cut off from query, key and value" in words(
        attend, lambda *inputs: detached(right_attention(*inputs))
    )
    assert "cut off from query, key and value" in words(attend, torch.no_grad()(right_attention))
    assert not Embeddings.check(Detached).passed


@pytest.mark.parametrize("number", [0.0, 1.0, -1.0, math.nan, math.inf])
def test_no_mistake_is_made_up_for_results_that_are_all_the_same(number):
    assert softmax.check(lambda scores: torch.full_like(scores, number)).mistakes == ()

    def constant(query, key, value, mask=None):
        return tuple(torch.full_like(x, number) for x in right_attention(query, key, value, mask))

    assert attend.check(constant).mistakes == ()


# What goes wrong on the way


class MuteError(Exception):
    def __str__(self):
        raise ValueError


def raising(error):
    raise error


def eats_memory(scores):
    return [scores] * 10**14


def stretches_memory(scores):
    return torch.zeros(1).expand(10**14)


def recurses(scores):
    return recurses(scores)


@pytest.mark.parametrize(
    ("answer", "complaint"),
    [
        (lambda scores: raising(ValueError("my own words")), "ValueError: my own words"),
        (lambda scores: raising(MuteError()), "It stopped with MuteError"),
        (lambda scores: raising(SystemExit(3)), "This ends Python"),
        (lambda scores: raising(GeneratorExit()), "It stopped with GeneratorExit"),
        (lambda scores: torch.empty(10**14), "That is more memory than there is"),
        (eats_memory, "That is more memory than there is"),
        (stretches_memory, "That is more memory than there is"),
        (recurses, "The function calls itself without end"),
        (lambda scores: scores and 1, "`if`, `and`, `or` and `not` want one True or False"),
        (lambda scores: math.exp(scores), "take one number"),
        (lambda scores: scores.max(dim=-1) - scores, "torch returns two tensors"),
        (lambda scores: scores[None].t() @ scores[None, None].t(), "turns matrices only"),
        (lambda scores: (scores > 0) & scores, "take booleans"),
    ],
)
def test_crashes_are_explained(answer, complaint):
    assert complaint in words(softmax, answer)


def test_an_operation_that_torch_lacks_is_not_a_stub():
    feedback = softmax.check(lambda scores: (scores > 0) & scores)
    assert feedback.verdict is Verdict.WRONG
    assert softmax.check(lambda scores: raising(NotImplementedError())).verdict is (
        Verdict.NOT_ATTEMPTED
    )


class CrashingConstructor(nn.Module):
    def __init__(self, vocab, d_model, pad_id):
        super().__init__()
        self.table = nn.Embedding(vocab, d_model, padding_idx=vocab)

    def forward(self, ids):
        return self.table(ids)


class ForgottenForward(nn.Module):
    def __init__(self, vocab, d_model, pad_id):
        super().__init__()
        self.table = nn.Embedding(vocab, d_model)


class NoConstructor(nn.Module):
    def forward(self, ids):
        return ids


class ForwardIsNone(RightEmbeddings):
    forward = None


@pytest.mark.parametrize(
    ("answer", "complaint"),
    [
        (CrashingConstructor, "self.table = nn.Embedding(vocab, d_model, padding_idx=vocab)"),
        (ForgottenForward, 'missing the required "forward" function'),
        (NoConstructor, "takes 1 positional argument but 4 were given"),
        (ForwardIsNone, "It stopped with TypeError"),
    ],
)
def test_classes_that_cannot_be_made_or_called(answer, complaint):
    assert complaint in words(Embeddings, answer)


def endless(scores):
    while True:
        scores = scores + 1


def endless_and_deaf(scores):
    while True:
        with contextlib.suppress(Exception):
            scores = scores + 1


class EndlessConstructor(RightEmbeddings):
    def __init__(self, vocab, d_model, pad_id):
        while True:
            pass


@pytest.mark.parametrize(
    ("exercise", "answer"),
    [(softmax, endless), (softmax, endless_and_deaf), (Embeddings, EndlessConstructor)],
)
def test_endless_loops_end(exercise, answer):
    assert "It did not end within" in words(exercise, answer)


def test_prints_are_shown_with_the_feedback_only(capfd):
    def chatty(scores):
        print("scores", scores.shape)
        print("to stderr", file=sys.stderr)
        return right_softmax(scores)

    assert "scores torch.Size([3])\n    to stderr" in repr(softmax.check(chatty))
    assert capfd.readouterr() == ("", "")


# What it changes outside


def changes_settings(scores):
    torch.manual_seed(7)
    random.seed(7)
    np.random.seed(7)
    torch.set_default_dtype(torch.float64)
    torch.set_num_threads(torch.get_num_threads() + 1)
    torch.set_default_device("meta")
    warnings.simplefilter("error")
    sys.stdout = sys.stderr = None
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    return right_softmax(scores)


def switches_gradients_off(scores):
    torch.set_grad_enabled(False)
    return right_softmax(scores)


def changes_settings_and_crashes(scores):
    changes_settings(scores)
    raise ValueError


def test_changed_settings_neither_disturb_nor_stay():
    assert softmax.check(changes_settings).passed
    assert "It stopped with ValueError" in words(softmax, changes_settings_and_crashes)
    assert softmax.check(switches_gradients_off).mistakes == ("no gradient passes",)


def broken(*inputs, **options):
    raise AssertionError("a function of torch was replaced")


def replace_functions():
    torch.softmax = F.softmax = Tensor.softmax = F.linear = broken
    torch.exp = Tensor.exp = Tensor.sum = torch.isclose = Tensor.clone = broken
    Tensor.__matmul__ = Tensor.__sub__ = Tensor.detach = broken
    nn.Linear.forward = nn.Module.__call__ = math.sqrt = broken


def test_replaced_functions_of_torch_do_not_disturb_the_judgement():
    def right_then_sabotage(scores):
        shares = right_softmax(scores)
        replace_functions()
        return shares

    def wrong_then_sabotage(scores):
        shares = scores.softmax(dim=0)
        replace_functions()
        return shares

    assert softmax.check(right_then_sabotage).passed
    assert softmax.check(wrong_then_sabotage).mistakes == ("the softmax runs along the first axis",)
    assert torch.ones(2).softmax(0).sum() == 1


def test_a_function_of_torch_replaced_by_the_wrong_answer_helps_nobody():
    def along_axis_0(scores):
        Tensor.softmax = torch.softmax = lambda scores, dim: scores.log_softmax(0).exp()
        return scores.softmax(dim=-1)

    assert softmax.check(along_axis_0).mistakes == ("the softmax runs along the first axis",)


def test_functions_replaced_before_the_check_come_back_after_it(monkeypatch):
    def mine(scores):
        return scores * 0

    with monkeypatch.context() as patch:
        patch.setattr(Tensor, "exp", mine)
        patch.setattr(torch, "mine", mine, raising=False)
        assert softmax.check(right_softmax).passed
        assert not softmax.check(lambda scores: scores * 0).passed
        assert Tensor.exp is mine
        assert torch.mine is mine


def test_answers_that_keep_what_they_got():
    kept = []

    def keeping(scores):
        kept.append(scores)
        return right_softmax(kept[0])

    assert not softmax.check(keeping).passed
    assert not softmax.check(lambda scores: scores).passed
    assert "changes its arguments in place" in words(
        softmax, lambda scores: scores.copy_(right_softmax(scores))
    )


# Where it runs


def test_a_bare_python_without_widgets_and_without_a_home_for_progress():
    program = """
        import sys
        sys.modules["ipywidgets"] = None
        from transformer_course.exercises import start_here
        feedback = start_here.softmax.check(lambda x: (x - x.logsumexp(-1, True)).exp())
        assert feedback.passed and feedback._repr_html_()
        print(feedback)
    """
    surroundings = {k: v for k, v in os.environ.items() if k != "TRANSFORMER_COURSE_HOME"}
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        env={**surroundings, "HOME": os.devnull, "USERPROFILE": os.devnull},
        capture_output=True,
        text=True,
        check=True,
    )
    assert "Well done" in done.stdout
    assert "This is not saved" in done.stdout


def test_a_home_folder_that_is_read_only(monkeypatch):
    def denied(*inputs, **options):
        raise PermissionError

    monkeypatch.setattr("pathlib.Path.mkdir", denied)
    feedback = softmax.check(right_softmax)
    assert feedback.passed
    assert "This is not saved" in repr(feedback)
