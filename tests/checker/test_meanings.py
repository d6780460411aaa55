"""What an exception usually means: the example of each record raises one that gets its meaning."""

import math

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from transformer_course.checker.meanings import meaning, meanings


@pytest.mark.parametrize("record", meanings(), ids=lambda record: record["example"])
def test_the_exception_of_an_example_gets_its_meaning(record):
    names = {"math": math, "torch": torch, "nn": nn, "F": F}
    with pytest.raises(BaseException) as raised:
        exec(record["example"], names)
    message = str(raised.value).partition("\n")[0]
    assert meaning(raised.type, message) == " ".join(record["meaning"].split())


def test_a_record_has_no_other_keys():
    assert {key for record in meanings() for key in record} == {
        *("error", "says", "example", "meaning")
    }


def test_no_meaning_is_guessed():
    assert meaning(RuntimeError, "something that nobody has met") is None
