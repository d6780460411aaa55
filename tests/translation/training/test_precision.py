import pytest
import torch

from transformer_course.translation.training.precision import choose_precision

CPU, CARD = torch.device("cpu"), torch.device("cuda")


@pytest.mark.parametrize("wanted", ["auto", "float32"])
def test_a_processor_computes_in_32_bits(wanted: str) -> None:
    assert choose_precision(wanted, CPU) == torch.float32


def test_16_bits_on_a_processor_are_refused() -> None:
    with pytest.raises(ValueError, match="bfloat16 is for graphics cards"):
        choose_precision("bfloat16", CPU)


@pytest.mark.parametrize(
    ("wanted", "supported", "chosen"),
    [
        ("auto", True, torch.bfloat16),
        ("auto", False, torch.float32),
        ("bfloat16", False, torch.bfloat16),
        ("float32", True, torch.float32),
    ],
)
def test_a_graphics_card_takes_16_bits_where_it_has_them(
    monkeypatch: pytest.MonkeyPatch, wanted: str, supported: bool, chosen: torch.dtype
) -> None:
    monkeypatch.setattr(
        torch.cuda,
        "is_bf16_supported",
        lambda including_emulation: supported and not including_emulation,
    )
    assert choose_precision(wanted, CARD) == chosen


def test_other_words_are_refused() -> None:
    with pytest.raises(ValueError, match=r"one of .*bfloat16.*; got 'half'"):
        choose_precision("half", CPU)
