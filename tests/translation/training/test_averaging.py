import pytest
import torch
from torch import nn

from transformer_course.translation.training.averaging import WeightAverage


def test_average_forgets_as_its_decay_says() -> None:
    model = nn.Linear(1, 1, bias=False)
    nn.init.zeros_(model.weight)
    average = WeightAverage(model, decay=0.5)
    nn.init.ones_(model.weight)
    seen = []
    for _ in range(3):
        average.update(step=1000)
        seen.append(average.tensors["weight"].item())
    assert seen == pytest.approx([0.5, 0.75, 0.875])
    assert model.weight.item() == 1


def test_first_weights_are_forgotten_soon() -> None:
    model = nn.Linear(1, 1, bias=False)
    nn.init.zeros_(model.weight)
    average = WeightAverage(model, decay=0.999)
    nn.init.ones_(model.weight)
    for step in range(1, 11):
        average.update(step)
    # By hand: the product of step / (step + 10) for the first ten steps is 1 / 184756.
    assert average.tensors["weight"].item() == pytest.approx(1, abs=1e-4)


def test_average_goes_on_with_what_was_kept() -> None:
    model = nn.Linear(2, 1)
    average, other = WeightAverage(model, 0.9), WeightAverage(model, 0.9)
    nn.init.ones_(model.weight)
    average.update(50)
    other.load({name: tensor.clone() for name, tensor in average.tensors.items()})
    for tensor, wanted in zip(other.tensors.values(), average.tensors.values(), strict=True):
        assert torch.equal(tensor, wanted)


def test_tied_weights_are_averaged_once() -> None:
    model = nn.Sequential(nn.Linear(2, 2, bias=False), nn.Linear(2, 2, bias=False))
    model[1].weight = model[0].weight
    assert list(WeightAverage(model, 0.9).tensors) == ["0.weight"]
