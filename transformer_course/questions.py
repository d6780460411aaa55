"""The numbers of the starred questions at the end of each lesson.

They are computed here and not in the lesson, so that nobody reads them by accident.
"""

import math
from collections.abc import Callable
from types import EllipsisType

import torch
import torch.nn.functional as F
from torch import nn

from transformer_course import model, translation
from transformer_course.model import variants
from transformer_course.translation.corpora.splits import held_out

CLOSE = 0.01
"""Largest relative difference that counts as right, where the number is not a whole one."""


def check_numbers(lesson: str, numbers: dict[int, float | EllipsisType]) -> None:
    """Say which of the reader's numbers are right.

    Parameters
    ----------
    lesson
        Name of its file, such as ``"02_attention"``.
    numbers
        By the number of the question; ``...`` for those that are not answered yet.

    Raises
    ------
    ValueError
        If there is no such lesson or question, or what is given is no number.
    """
    if lesson not in RIGHT_NUMBERS:
        raise ValueError(
            f"no lesson {lesson!r} asks for numbers; these do: {', '.join(RIGHT_NUMBERS)}."
        )
    right = RIGHT_NUMBERS[lesson]()
    for question, number in numbers.items():
        if question not in right:
            starred = ", ".join(map(str, right))
            raise ValueError(f"question {question} asks for no number; these do: {starred}.")
        if number is ...:
            continue
        good = _is_right(number, right[question], question)
        print(f"question {question}: {'right' if good else 'not yet'}")


def _is_right(number: float, right: float, question: int) -> bool:
    tolerance = 0 if isinstance(right, int) else CLOSE
    try:
        return math.isclose(number, right, rel_tol=tolerance)
    except (TypeError, ValueError, OverflowError, RuntimeError):
        raise ValueError(f"question {question} asks for a number; got {number!r}.") from None


def _start_here() -> dict[int, float]:
    return {2: math.e / (math.e + 1)}


def _positional_encoding() -> dict[int, float]:
    return {2: 37_000 * 512, 5: float(model.wavelengths(8)[3])}


def _attention() -> dict[int, float]:
    return {
        2: math.sqrt(256),
        3: _softmax(1, 1, 0, 1)[2],
        4: 4**2,
        5: sum(_softmax(2, 0, 0)[1:]),
    }


def _multi_head_attention() -> dict[int, float]:
    projections = model.MultiHeadAttention(512, heads=8).children()
    weights = [projection.weight.numel() for projection in projections]
    return {3: sum(weights[:3]), 5: 8 * 7 * 9}


def _feed_forward() -> dict[int, float]:
    return {2: _parameters(model.FeedForward(256, 1024))}


def _layers() -> dict[int, float]:
    return {
        2: F.layer_norm(torch.tensor([4.0, 2.0, 2.0, 0.0]), (4,), eps=0)[0].item(),
        4: 1 + 2 * 6,
    }


def _transformer() -> dict[int, float]:
    return {1: math.log(8000), 2: 10 * 20 * 202}


def _toy_translation() -> dict[int, float]:
    return {3: math.log(200), 5: 0.003, 6: translation.noam(4000, d_model=512, warmup=4000)}


def _decoding() -> dict[int, float]:
    at_temperature_2 = _softmax(2 / 2, 1 / 2, 0)[0]
    return {1: 0.7 * 0.4, 3: -2 / 2, 4: 5 * 10_000, 6: at_temperature_2, 7: 4, 8: 99 * 100 // 2}


def _real_translation() -> dict[int, float]:
    candidate, reference = ["a", "dog", "a", "dog"], ["a", "dog", "and", "a", "cat"]
    return {
        1: translation.clipped_counts(candidate, reference, n=1)[0],
        2: translation.brevity_penalty(900, 1000),
        3: 100 * (0.8 * 0.4 * 0.2 * 0.1) ** (1 / 4),
        6: 3 + 6,
        8: (29 + 1) / (999 + 1),
    }


def _variants() -> dict[int, float]:
    return {
        1: variants.rotary_frequencies(4)[1].item(),
        3: 4 / 64,
        5: variants.rms_norm(torch.tensor([6.0, 8.0]), torch.ones(2))[0].item(),
        6: 2 * 3072 // 3,
        7: 10 * (100 - 1),
        8: variants.cache_bytes_per_token(64, groups=8, d_k=128) // 1024,
    }


def _pretrained() -> dict[int, float]:
    return {2: 59_514 - 1, 5: 512 // 2, 6: F.silu(torch.tensor(1.0)).item()}


def _when_it_does_not_work() -> dict[int, float]:
    return {1: math.log(8000), 4: 30, 7: (1 - 0.01) ** 100}


def _your_own_text() -> dict[int, float]:
    return {3: held_out(30_000), 5: 1 / math.comb(4 + 3, 3), 6: (11 + 1) / (999 + 1)}


def _parameters(module: nn.Module) -> int:
    return sum(parameter.numel() for parameter in module.parameters())


def _softmax(*scores: float) -> list[float]:
    return torch.tensor(scores, dtype=torch.float64).softmax(dim=0).tolist()


RIGHT_NUMBERS: dict[str, Callable[[], dict[int, float]]] = {
    "00_start_here": _start_here,
    "01_positional_encoding": _positional_encoding,
    "02_attention": _attention,
    "03_multi_head_attention": _multi_head_attention,
    "04_feed_forward": _feed_forward,
    "05_layers": _layers,
    "06_transformer": _transformer,
    "07_toy_translation": _toy_translation,
    "08_decoding": _decoding,
    "09_real_translation": _real_translation,
    "10_variants": _variants,
    "11_pretrained": _pretrained,
    "12_when_it_does_not_work": _when_it_does_not_work,
    "13_your_own_text": _your_own_text,
}
