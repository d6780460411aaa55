"""The twelve broken models: the naive test passes each, and the tests of invariance catch it."""

import pandas as pd
import pytest
import torch

from transformer_course.examine.broken_models import TWELVE, broken, who_catches_whom
from transformer_course.examine.properties import TESTS, failed_tests, naive_test

from ..model.small import new_model, small_model

# What each must fail; fresh and trained models, and both norm orders, fail it alike.
CAUGHT_BY = {
    "no mask": {"sees_no_future", "ignores_padding", "reads_only_the_memory"},
    "inverted mask": {"sees_no_future", "sees_the_past", "reads_the_source", "ignores_padding"},
    "no scale": {"divides_by_root_d_k"},
    "softmax over queries": {"sees_no_future", "averages_the_values"},
    "no softmax": {"averages_the_values"},
    "wrong head view": {"sees_no_future", "ignores_memory_order"},
    "cross attention ignoring memory": {"reads_the_source"},
    "no residual": {"keeps_the_residual"},
    "no relu": {"is_not_linear"},
    "zero positional encoding": {"tells_positions_apart"},
    "detached decoder": {"trains_every_parameter"},
    "key projection for queries": {"trains_every_parameter"},
}


def test_there_are_twelve_each_with_a_sentence():
    assert list(TWELVE) == list(CAUGHT_BY)
    for break_model in TWELVE.values():
        (sentence,) = break_model.__doc__.splitlines()
        assert sentence.endswith(".")


@pytest.mark.parametrize(("make", "norm_first"), [(new_model, False), (small_model, True)])
@pytest.mark.parametrize("name", TWELVE)
def test_naive_test_passes_it_and_another_test_does_not(name, make, norm_first):
    model = broken(name, make(norm_first=norm_first))
    assert naive_test(model)
    assert failed_tests(model) >= CAUGHT_BY[name]


def test_the_right_model_stays_right():
    model = new_model()
    weights = {key: value.clone() for key, value in model.state_dict().items()}
    for name in TWELVE:
        broken(name, model)
    assert all(torch.equal(weights[key], value) for key, value in model.state_dict().items())
    assert failed_tests(model) == set()


def test_table_of_who_catches_whom():
    table = pd.DataFrame(who_catches_whom(new_model(seed=1)))
    assert list(table.index) == ["right model", *TWELVE]
    assert list(table.columns) == ["naive_test", *(test.__name__ for test in TESTS)]
    assert not table["naive_test"].any()
    assert not table.loc["right model"].any()
    for name, tests in CAUGHT_BY.items():
        assert table.loc[name, list(tests)].all()
