"""The softmax of lesson 0 is the learner's own, not torch's."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from transformer_course.exercises.start_here import softmax

BORROWED = {
    "F.softmax": lambda scores: F.softmax(scores, dim=-1),
    "torch.softmax": lambda scores: torch.softmax(scores, -1),
    "torch.special": lambda scores: torch.special.softmax(scores, dim=-1),
    "the method": lambda scores: scores.softmax(dim=-1),
    "the module": nn.Softmax(dim=-1),
    "the logarithm": lambda scores: scores.log_softmax(-1).exp(),
}


@pytest.mark.parametrize("answer", BORROWED.values(), ids=BORROWED)
def test_what_torch_computes_is_not_accepted(answer):
    assert softmax.judge(answer).mistakes == ("torch's own softmax does the work",)


def test_who_uses_it_wrongly_is_told_what_is_wrong():
    along_axis_0 = softmax.judge(lambda scores: scores.softmax(dim=0))
    assert along_axis_0.mistakes == ("the softmax runs along the first axis",)


@pytest.mark.parametrize("number", range(10))
def test_the_model_answer_is_torchs(number):
    (scores,) = softmax.task.cases[number].inputs
    torch.testing.assert_close(softmax.task.answer(scores), scores.softmax(dim=-1))
