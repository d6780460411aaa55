import pytest
import torch

from transformer_course.model import FeedForward

from .small import noise, randomise


@pytest.fixture
def feed_forward() -> FeedForward:
    module = FeedForward(d_model=4, d_ff=10).double()
    randomise(module)
    return module


def test_it_follows_equation_2(feed_forward: FeedForward) -> None:
    x = noise(2, 3, 4)
    w_1, b_1 = feed_forward.expand.weight.T, feed_forward.expand.bias
    w_2, b_2 = feed_forward.contract.weight.T, feed_forward.contract.bias
    assert w_1.shape == (4, 10)
    expected = torch.maximum(torch.tensor(0.0), x @ w_1 + b_1) @ w_2 + b_2
    torch.testing.assert_close(feed_forward(x), expected)


def test_each_position_is_treated_alike_and_alone(feed_forward: FeedForward) -> None:
    x = noise(2, 3, 4)
    alone = torch.stack([feed_forward(x[:, i : i + 1])[:, 0] for i in range(3)], dim=1)
    torch.testing.assert_close(feed_forward(x), alone)


def test_base_model_has_two_million_parameters_per_feed_forward() -> None:
    with torch.device("meta"):
        module = FeedForward(512, 2048)
    assert sum(p.numel() for p in module.parameters()) == 2 * 512 * 2048 + 2048 + 512
