import math

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from transformer_course.translation.training.loss import masked_mean, smoothed_cross_entropy

PAD = 0
VOCAB = 10


def test_padding_does_not_count_in_the_mean() -> None:
    loss = torch.tensor([[1.0, 2.0, 50.0], [3.0, 50.0, 50.0]])
    mask = torch.tensor([[True, True, False], [True, False, False]])
    assert masked_mean(loss, mask).item() == 2.0


def test_every_token_weighs_the_same_in_sentences_of_all_lengths() -> None:
    loss = torch.tensor([[1.0, 1.0, 1.0, 1.0], [5.0, 0.0, 0.0, 0.0]])
    mask = torch.tensor([[True, True, True, True], [True, False, False, False]])
    assert masked_mean(loss, mask).item() == pytest.approx(9 / 5)  # mean of means would be 3


def test_nothing_but_padding_costs_nothing() -> None:
    assert masked_mean(torch.ones(2, 3), torch.zeros(2, 3, dtype=torch.bool)).item() == 0.0


def test_padding_that_is_not_a_number_is_harmless() -> None:
    loss = torch.tensor([[1.0, math.nan], [3.0, math.inf]], requires_grad=True)
    mean = masked_mean(loss, torch.tensor([[True, False], [True, False]]))
    mean.backward()
    assert mean.item() == 2.0
    assert loss.grad.tolist() == [[0.5, 0.0], [0.5, 0.0]]


@pytest.fixture
def logits() -> Tensor:
    generator = torch.Generator().manual_seed(0)
    return 3 * torch.randn(7, VOCAB, generator=generator, dtype=torch.float64)


@pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.5])
def test_value_and_gradient_are_those_of_torch(logits: Tensor, smoothing: float) -> None:
    targets = torch.tensor([4, PAD, 9, 1, PAD, 1, 3])
    ours, theirs = logits.clone().requires_grad_(), logits.clone().requires_grad_()
    loss = smoothed_cross_entropy(ours, targets, smoothing, PAD)
    expected = F.cross_entropy(theirs, targets, ignore_index=PAD, label_smoothing=smoothing)
    loss.backward()
    expected.backward()
    torch.testing.assert_close(loss, expected, rtol=0, atol=1e-12)
    torch.testing.assert_close(ours.grad, theirs.grad, rtol=0, atol=1e-12)


def test_smoothing_sets_a_floor(logits: Tensor) -> None:
    """The entropy of the smoothed targets: .5003 nats for 10 types and smoothing .1."""
    smoothing = 0.1
    best = torch.full((1, VOCAB), smoothing / VOCAB, dtype=torch.float64)
    best[0, 3] += 1 - smoothing
    target = torch.tensor([3])
    floor = smoothed_cross_entropy(best.log(), target, smoothing, PAD).item()
    assert floor == pytest.approx(0.5003, abs=5e-5)
    surer = best.clone()
    surer[0, 3] = 10.0
    assert smoothed_cross_entropy(surer.log(), target, smoothing, PAD).item() > floor
    assert all(
        smoothed_cross_entropy(row[None], target, smoothing, PAD).item() > floor for row in logits
    )
