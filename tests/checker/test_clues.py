"""What is said of wrong answers that no known mistake explains."""

import torch
from torch import nn

from transformer_course.checker.cases import Case
from transformer_course.exercises.feed_forward import FeedForward, feed_forward_parameters

from .doubling import without_known_mistakes

X = torch.arange(1.0, 7.0).reshape(2, 3)


@without_known_mistakes(
    cases=[
        Case((X, 2.0, True)),
        Case((X[:1], 3.0, False)),
        Case((X, 0.5, True)),
        Case((X, 4.0, False)),
    ],
)
def scaled(x, factor, turned):
    """Multiply, and turn round."""
    return -x * factor if turned else x * factor


def clues(wrong, of=scaled):
    feedback = of.check(wrong)
    assert not feedback.mistakes
    return repr(feedback)


def test_what_separates_wrong_cases_from_right_ones():
    said = clues(lambda x, factor, turned: x * factor)
    assert "Both cases with `turned=False` are right, the other 2 are wrong." in said


def test_arguments_in_another_order():
    said = clues(lambda x, turned, factor: scaled.task.answer(x, factor, turned))
    assert "in another order; it should be `(x, factor, turned)`" in said


def test_an_argument_without_influence():
    said = clues(lambda x, factor, turned: -x * 7 if turned else x * 7)
    assert "Your result does not depend on `factor`." in said


def test_nothing_has_an_influence():
    said = clues(lambda x, factor, turned: torch.ones(x.shape))
    assert "Your result is the same whatever the arguments are." in said


def test_a_missing_return_says_enough():
    assert "whatever the arguments are" not in clues(lambda x, factor, turned: None)


@without_known_mistakes(
    cases=[
        Case((X, torch.tensor([[True, True, False], [True, False, True]]))),
        Case((X, torch.tensor([[False, True, False], [True, True, True]]))),
    ],
)
def visible(x, mask):
    """Clear what is hidden."""
    return x * mask


def test_a_mask_counts_where_any_other_mask_gives_something_else():
    """Rows in which anything is hidden may look alike, whatever it is."""
    said = clues(lambda x, mask: x * mask.all(), visible)
    assert "does not depend on `mask`" not in said
    assert "does not depend on `mask`" in clues(lambda x, mask: x + 1, visible)


def test_influence_is_no_matter_where_the_reference_has_none():
    said = clues(lambda x, factor, turned: scaled.task.answer(x, factor, turned) + 1)
    assert "does not depend" not in said


def test_a_constant_factor_and_a_constant_difference():
    right = scaled.task.answer
    assert "Yours is -1 times what is wanted." in clues(lambda *a: -right(*a))
    assert "Yours is what is wanted plus 1." in clues(lambda *a: right(*a) + 1)


def test_the_right_numbers_in_wrong_places():
    right = scaled.task.answer
    assert "in reverse order along axis 1" in clues(lambda *a: right(*a).flip(1))
    assert "moved by one along axis 1" in clues(lambda *a: right(*a).roll(1, 1))
    mixed = clues(lambda *a: right(*a)[:, [1, 0, 2]])
    assert "The numbers are the right ones, in other places." in mixed


def test_no_relation_is_said_of_one_number():
    assert "Yours is" not in clues(lambda d_model, d_ff: d_model + 7, feed_forward_parameters)


def test_what_is_counted_too_often_is_written_with_the_arguments():
    def wrong(d_model, d_ff):
        return feed_forward_parameters.task.answer(d_model, d_ff) + 3 * d_model * d_model

    assert "You count `3 * d_model * d_model` too many." in clues(wrong, feed_forward_parameters)


class Wrong(FeedForward.task.answer):
    def forward(self, x):
        return self.contract(self.expand(x * 1.5).relu())


class Unused(FeedForward.task.answer):
    def forward(self, x):
        return self.expand(x).relu().mean(-1, keepdim=True).expand(*x.shape)


class Afterwards(FeedForward.task.answer):
    def forward(self, x):
        return nn.functional.normalize(super().forward(x), dim=-1)


def test_the_part_that_gets_something_wrong_first():
    assert "What goes into `expand` is not what it should be." in clues(Wrong, FeedForward)


def test_a_part_that_is_never_called():
    assert "`contract` is never called." in clues(Unused, FeedForward)


def test_parts_that_get_what_is_right():
    said = clues(Afterwards, FeedForward)
    assert "What goes into `expand`, `contract` is right; what is done afterwards is not." in said
