import pytest
import torch

from transformer_course.translation.training import precision
from transformer_course.translation.training.precision import choose_precision

CPU = torch.device("cpu")


@pytest.mark.parametrize(
    ("wanted", "chosen"), [("float32", torch.float32), ("bfloat16", torch.bfloat16)]
)
def test_what_is_asked_for_is_taken(wanted: str, chosen: torch.dtype) -> None:
    assert choose_precision(wanted, CPU) == chosen


@pytest.mark.parametrize(("of_16_bits", "chosen"), [(0.5, torch.bfloat16), (2.0, torch.float32)])
def test_auto_takes_the_faster(
    monkeypatch: pytest.MonkeyPatch, of_16_bits: float, chosen: torch.dtype
) -> None:
    seconds = {torch.float32: 1.0, torch.bfloat16: of_16_bits}
    monkeypatch.setattr(precision, "_seconds", lambda dtype, device: seconds[dtype])
    assert choose_precision("auto", CPU) == chosen


def test_trial_takes_time() -> None:
    assert precision._seconds(torch.float32, CPU) > 0


def test_other_words_are_refused() -> None:
    with pytest.raises(ValueError, match="one of auto, float32, bfloat16; got 'half'"):
        choose_precision("half", CPU)
