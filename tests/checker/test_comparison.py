"""What counts as equal, and how a difference is put into words."""

import numpy as np
import pytest
import torch

from transformer_course.checker.comparison import (
    describe,
    difference,
    size,
    snapshot,
    technical_difference,
)

ONES = torch.ones(2, 3)


class Unreadable(float):
    """A number that cannot be compared."""

    def __float__(self) -> float:
        raise ValueError


@pytest.mark.parametrize(
    ("expected", "received"),
    [
        (ONES, ONES * (1 + 1e-4)),
        (ONES, ONES.double()),
        (ONES, ONES.double() * (1 + 1e-4)),
        (ONES.double(), ONES * (1 + 1e-4)),
        (ONES.bool(), ONES),
        (torch.tensor([float("nan"), float("inf")]), torch.tensor([float("nan"), float("inf")])),
        (torch.zeros(0), torch.zeros(0)),
        (0.5, torch.tensor(0.5)),
        (0.5, np.float32(0.5)),
        (2, 2.0),
        (3, 0.1 * 30),
        (10**15, 10**15),
        (True, np.bool_(True)),
        ((ONES, 1), [ONES, 1]),
        ({"a": ONES, "b": 1}, {"b": 1, "a": ONES}),
        (None, None),
        ("word", "word"),
    ],
)
def test_equal(expected, received):
    assert difference(expected, received) is None


@pytest.mark.parametrize(
    ("expected", "received", "kind", "path"),
    [
        (ONES, ONES * 1.01, "values", ""),
        (ONES.double(), ONES.double() * 1.0001, "values", ""),
        (torch.tensor([1e-8, 1e-4]), torch.tensor([1e-8, 2e-4]), "values", ""),
        (torch.tensor([1.0, 1e5]), torch.tensor([2.0, 1e5]), "values", ""),
        (ONES, ONES.T, "shape", ""),
        (ONES, ONES * float("nan"), "nan", ""),
        (ONES, ONES.tolist(), "type", ""),
        (ONES, ONES.numpy(), "type", ""),
        (ONES, None, "type", ""),
        (ONES, ONES.to(torch.complex64), "type", ""),
        (0.5, 0.5001, "values", ""),
        (0.5, "0.5", "type", ""),
        (0.5, torch.ones(2), "type", ""),
        (0.5, torch.tensor([0.5]), "type", ""),
        (2_099_712, 2_099_713, "values", ""),
        (2_099_712, 2_099_713.0, "values", ""),
        (0.5, 1j, "type", ""),
        (1, 10**400, "type", ""),
        ((ONES, 1), ONES, "type", ""),
        ((ONES, 1), (ONES,), "length", ""),
        ((ONES, 1), (ONES, 2), "values", "[1]"),
        ({"a": ONES}, {"b": ONES}, "keys", ".keys()"),
        ([1, {"a": ONES}], [1, {}], "keys", "[1].keys()"),
        ({"a": [1, ONES]}, {"a": [1, ONES + 1]}, "values", "['a'][1]"),
        ({"a": ONES}, [ONES], "type", ""),
        ("word", "words", "values", ""),
        (0.5, Unreadable(0.5), "type", ""),
        (None, 0, "type", ""),
    ],
)
def test_different(expected, received, kind, path):
    found = difference(expected, received)
    assert (found.kind, found.path) == (kind, path)


@pytest.mark.parametrize(
    ("expected", "received", "words"),
    [
        (ONES, ONES.double(), "`float64` and `float32` is wanted"),
        ((1, ONES), (1, ONES.int()), "`int32` and `float32` is wanted"),
        ({"a": ONES}, {"a": ONES.clone().requires_grad_()}, "none is wanted"),
        (ONES.clone().requires_grad_(), ONES, "graph is lost"),
    ],
)
def test_technical_differences_have_words(expected, received, words):
    assert words in technical_difference(expected, received)


def test_no_technical_difference():
    assert technical_difference([ONES, {"a": 1}], (ONES, {"a": 1.0})) is None


def test_snapshot_is_not_changed_later():
    seen = {"list": [ONES.clone().requires_grad_() * 1, 2], "array": np.ones(2)}
    copied = snapshot(seen)
    seen["list"][0].data += 1
    seen["array"] += 1
    seen["list"].append(3)
    assert torch.equal(copied["list"][0], ONES)
    assert copied["list"][0].requires_grad
    assert len(copied["list"]) == 2
    assert copied["array"].tolist() == [1, 1]


def test_size_counts_numbers():
    assert size({"a": [ONES, 1], "b": (2.0, None)}) == 9


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (None, "None"),
        (ONES, "tensor of shape [2, 3], float32"),
        (np.ones(2), "NumPy array of shape [2], float64"),
        (1 / 3, "0.3333333 (float)"),
        (True, "True (bool)"),
        ([1, 2], "list of 2: [1, 2]"),
        (list(range(99)), f"list of 99: {str(list(range(99)))[:57]}..."),
        (object(), "object of type object"),
        ([object(), None, 2.5], "list of 3: [object of type object, None, 2.5]"),
        pytest.param(10**5000, "object of type int", id="too long to be written"),
    ],
)
def test_describe(value, words):
    assert describe(value) == words
