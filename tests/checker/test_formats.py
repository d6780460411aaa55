"""Results in another format, with and without a mistake in them."""

import numpy as np
import pytest
import torch
from torch import nn

from transformer_course.checker.formats import conformed
from transformer_course.checker.outcomes import Outcome, same_behaviour
from transformer_course.exercises.attention import causal_mask
from transformer_course.exercises.multi_head_attention import attention_cost
from transformer_course.exercises.positional_encoding import Embeddings

MASK, FUTURE = "torch.ones(length, length).tril()", "torch.ones(length, length).triu(1)"


def causal(text):
    return eval(f"lambda length: {text}", {"torch": torch, "np": np})


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (f"{MASK}.bool()[None]", "There are too many axes of length 1: your shape is [1, 3, 3]"),
        (f"{MASK}.byte()[None]", "True and False are wanted, not 1 and 0 in uint8"),
        (f"{MASK}.bool().numpy()", "A torch tensor is wanted, not a NumPy array"),
        (f"{MASK}.bool().tolist()", "A torch tensor is wanted, not a list"),
    ],
)
def test_right_values_in_another_format_are_told_so(text, said):
    feedback = causal_mask.check(causal(text))
    assert not feedback.passed
    assert said in repr(feedback)


@pytest.mark.parametrize("change", ["[None]", ".numpy()", ".byte()[None]"])
def test_a_mistake_is_named_in_another_format_too(change):
    feedback = causal_mask.check(causal(f"({FUTURE}).bool(){change}"))
    assert feedback.mistakes == ("the future is True and the rest False",)
    assert "And its format" in repr(feedback)


@pytest.mark.parametrize(
    ("seen", "wanted", "said"),
    [
        (torch.ones(2, 3), torch.ones(2, 1, 1, 3), "There are too few axes of length 1"),
        (torch.ones(2, 1, 3), torch.ones(1, 2, 3), "The axis of length 1 is in another place"),
        (torch.tensor([0.0, -1e9]), torch.tensor([True, False]), "not numbers to be added to the"),
        (torch.tensor([3]), 3, "A plain number is wanted"),
        ([torch.ones(2), torch.ones(2)], torch.ones(2, 2), "A torch tensor is wanted, not a list"),
        (torch.tensor([1, 2]), [1, 2], "A list is wanted, not a tensor"),
        (
            {"weights": 1, "b weight": 2},
            {"weight": 1, "bias weight": 2},
            "`'weights'` should be `'weight'`, `'b weight'` should be `'bias weight'`",
        ),
    ],
)
def test_a_result_is_brought_into_the_format_that_is_wanted(seen, wanted, said):
    (outcome,), (remark,) = conformed([Outcome(value=seen)], [Outcome(value=wanted)])
    assert same_behaviour(Outcome(value=wanted), outcome)
    assert said in remark


def test_results_that_differ_in_more_than_format_stay_as_they_are():
    for seen in (torch.ones(2, 4), "words", None, torch.ones(3, 2)):
        outcomes, remarks = conformed([Outcome(value=seen)], [Outcome(value=torch.ones(2, 3))])
        assert outcomes[0].value is seen
        assert not remarks


def test_small_negative_numbers_are_no_mask():
    seen, wanted = torch.tensor([0.0, -2.0]), torch.tensor([True, False])
    (outcome,), remarks = conformed([Outcome(value=seen)], [Outcome(value=wanted)])
    assert outcome.value is seen
    assert not remarks


def test_parameters_of_equal_shape_get_one_name_each():
    seen, wanted = Outcome(parameters={"a": (2,), "b": (2,)}), {"gain": (2,), "bias": (2,)}
    (outcome,), remarks = conformed([seen], [Outcome(parameters=wanted)])
    assert outcome.parameters == wanted
    assert remarks == ["`a` should be named `gain`.", "`b` should be named `bias`."]


def test_keys_that_resemble_are_taken_for_those_that_are_wanted():
    def renamed(*sizes):
        cost = attention_cost.task.answer(*sizes)
        return {name.replace(" ", "_"): count for name, count in cost.items()}

    said = repr(attention_cost.check(renamed))
    assert "`'stored_weights'` should be `'stored weights'`" in said


def test_parameters_under_other_names_get_the_weights_that_fit():
    class Lut(nn.Module):
        def __init__(self, vocab, d_model, pad_id):
            super().__init__()
            self.lut = nn.Embedding(vocab, d_model, padding_idx=pad_id)
            nn.init.normal_(self.lut.weight, std=d_model**-0.5)
            nn.init.zeros_(self.lut.weight[pad_id].detach())
            self.factor = d_model**0.5

        def forward(self, ids):
            return self.lut(ids) * self.factor

    class Unscaled(Lut):
        def forward(self, ids):
            return self.lut(ids)

    assert "`lut` should be named `table`." in repr(Embeddings.check(Lut))
    feedback = Embeddings.check(Unscaled)
    assert feedback.mistakes == ("the factor sqrt(d_model) is missing",)
    assert "`lut` should be named `table`." in repr(feedback)
