import re

import pytest
import torch

from transformer_course.plots.temperature import softmax_temperature

SCORES = torch.tensor([4.0, 1.0, -2.0])
KEYS = ["a", "b", "c"]


@pytest.mark.parametrize("d_k", [1, 4, 64])
def test_the_bars_are_the_softmax(drawn, d_k):
    svg = drawn(softmax_temperature(SCORES, KEYS, d_k))
    bars = dict(re.findall(r'aria-label="key: (\w); weight: ([\d.]+);', svg))
    weights = (SCORES / d_k**0.5).softmax(dim=0)
    assert [float(bars[key]) for key in KEYS] == pytest.approx(weights.tolist(), abs=1e-6)


def test_masked_keys_get_nothing_and_equal_ones_a_bar_each(drawn):
    scores = torch.tensor([1.0, -torch.inf, 1.0])
    svg = drawn(softmax_temperature(scores, ["the", "cat", "the"], 1))
    bars = dict(re.findall(r'aria-label="key: ([^;]+); weight: ([\d.e-]+);', svg))
    assert {key: float(weight) for key, weight in bars.items()} == pytest.approx(
        {"the (1)": 0.5, "cat": 0.0, "the (2)": 0.5}
    )


@pytest.mark.parametrize("d_k", [1, 4, 64])
def test_the_point_is_the_size_of_the_jacobian(drawn, d_k):
    svg = drawn(softmax_temperature(SCORES, KEYS, d_k))
    [(divisor, size)] = re.findall(r'divisor: ([\d.]+); size: ([\d.]+)"', svg)
    scaled = SCORES / d_k**0.5
    jacobian = torch.func.jacrev(lambda scores: scores.softmax(dim=0))(scaled)
    assert float(divisor) == d_k**0.5
    assert float(size) == pytest.approx(float(jacobian.norm()), rel=5e-3)


def test_the_picture_starts_at_the_root():
    params = {p["name"]: p for p in softmax_temperature(SCORES, KEYS, 64).to_dict()["params"]}
    assert params["exponent"]["value"] == 3


@pytest.mark.parametrize(
    ("keys", "d_k", "message"),
    [
        (KEYS[:2], 64, "got 3 scores, 2 keys"),
        (KEYS, 8192, "from 1 to 4096; got 8192"),
        (KEYS, 0, "from 1 to 4096; got 0"),
    ],
)
def test_the_picture_refuses(keys, d_k, message):
    with pytest.raises(ValueError, match=message):
        softmax_temperature(SCORES, keys, d_k)
