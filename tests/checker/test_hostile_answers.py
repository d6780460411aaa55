"""Whatever is handed in to a real exercise, the check says so in words and leaves no trace."""

import functools
import io
import math
import sys
import warnings

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from transformer_course.checker import exercise as engine
from transformer_course.checker.feedback import Verdict
from transformer_course.exercises import (
    attention,
    multi_head_attention,
    positional_encoding,
    start_here,
)

from .rejected import words

pytestmark = pytest.mark.usefixtures("nothing_is_left_behind")
softmax = start_here.softmax
split_heads = multi_head_attention.split_heads
causal_mask = attention.causal_mask
padding_mask = attention.padding_mask
attend = attention.scaled_dot_product_attention
Embeddings = positional_encoding.Embeddings
right_softmax, right_attention = softmax.task.answer, attend.task.answer
RightEmbeddings = Embeddings.task.answer


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
    assert "Wrong in 4 of 4 cases" in words(causal_mask, lambda length: torch.ones(length))
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
    assert "NumPy does not know gradients" in by_numpy

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


class ExitingError(Exception):
    def __str__(self):
        raise SystemExit


class NamelessType(type):
    __name__ = property(lambda kind: raising(ValueError("no name")))

    def __eq__(cls, other):
        raise ValueError("no comparison")

    __hash__ = type.__hash__


class OddError(LookupError, metaclass=NamelessType):
    pass


NamelessError = type("", (Exception,), {})


@pytest.mark.parametrize(
    ("answer", "complaint"),
    [
        (lambda scores: raising(ValueError("my own words")), "ValueError: my own words"),
        (lambda scores: raising(MuteError()), "It stopped with MuteError"),
        (lambda scores: raising(ExitingError()), "It stopped with ExitingError"),
        (lambda scores: raising(OddError("my words")), "It stopped with LookupError: my words"),
        (lambda scores: raising(NamelessError()), "It stopped with an exception without a name"),
        (lambda scores: raising(ValueError("\ud800")), r"It stopped with ValueError: \ud800"),
        (lambda scores: raising(SystemExit(3)), "This ends Python"),
        (lambda scores: raising(GeneratorExit()), "It stopped with GeneratorExit"),
        (lambda scores: torch.empty(10**14), "That is more memory than there is"),
        (eats_memory, "That is more memory than there is"),
        (stretches_memory, "That is more memory than there is"),
        (recurses, "The function never stops calling itself"),
        (lambda scores: scores and 1, "`if`, `and`, `or` and `not` want one True or False"),
        (lambda scores: math.exp(scores), "take one number"),
        (lambda scores: scores.max(dim=-1) - scores, "torch returns two tensors"),
        (lambda scores: scores[None].t() @ scores[None, None].t(), "transposes matrices only"),
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


def test_an_answer_that_calls_its_own_check():
    heard = []

    def checked(scores):
        heard.append(repr(softmax.check(checked)))
        return right_softmax(scores)

    assert softmax.check(checked).passed
    assert all("Another check is running" in feedback for feedback in heard)
    assert softmax.check(right_softmax).passed


# Results with code of their own


class Odd:
    def __init__(self, *inputs):
        pass

    def __repr__(self):
        raise SystemExit

    __float__ = __len__ = __iter__ = __repr__


class OddDict(dict):
    def keys(self):
        raise ValueError


class OddList(Odd, list):
    pass


class EndlessRepr:
    def __repr__(self):
        while True:
            pass


@pytest.mark.parametrize(
    ("make", "complaint"),
    [
        (Odd, "Yours: object of type Odd"),
        (lambda: [Odd()], "Yours: list of 1: [object of type Odd]"),
        (
            lambda: {"weights": EndlessRepr()},
            "Yours: dict of 1: {'weights': object of type EndlessRepr}",
        ),
        (OddDict, "Yours: object of type OddDict"),
        (OddList, "It stopped with SystemExit"),
        (lambda: 10**400, "Yours: 1000000"),
        (lambda: 10**5000, "Yours: object of type int"),
        (lambda: [10**400], "Yours: list of 1: [1000000"),
        (
            lambda: torch.nested.nested_tensor([torch.ones(2)]),
            "The check itself stopped with RuntimeError",
        ),
        (io.BytesIO, "Yours: object of type BytesIO"),
    ],
)
def test_results_with_code_of_their_own(make, complaint):
    assert complaint in words(softmax, lambda scores: make())


def test_a_candidate_with_code_of_its_own():
    class Unreadable:
        __signature__ = property(lambda self: raising(SystemExit()))

        def __call__(self, scores):
            return right_softmax(scores)

    assert "The check itself stopped with SystemExit" in words(softmax, Unreadable())


def test_what_is_done_with_a_right_answer_may_fail(monkeypatch):
    monkeypatch.setitem(engine.ON_SOLVED, "own", lambda exercise, answer: raising(SystemExit()))
    feedback = softmax.check(right_softmax)
    assert feedback.passed
    assert "It counts, but what comes after a right answer stopped with SystemExit" in repr(
        feedback
    )


def test_prints_are_shown_with_the_feedback_only(capfd):
    def chatty(scores):
        print("scores", scores.shape)
        print("to stderr", file=sys.stderr)
        return right_softmax(scores)

    assert "scores torch.Size([3])\n    to stderr" in repr(softmax.check(chatty))
    assert capfd.readouterr() == ("", "")


def test_closed_outputs_still_tell_what_was_printed():
    def closing(scores):
        print("half a character \ud800")
        sys.stdout.close()
        sys.stderr.close()
        return right_softmax(scores)

    feedback = softmax.check(closing)
    assert feedback.passed
    assert r"half a character \ud800" in repr(feedback)
