"""A test of the padding masks that looks only at what a model computes."""

from dataclasses import replace

import torch
import torch.nn.functional as F
from torch import nn

from transformer_course.checker.exercise import exercise
from transformer_course.examine import properties as invariance
from transformer_course.exercises.transformer.models import (
    FOR_EITHER_TEST,
    TRIED,
    FallsWithLength,
    NoEncoderMask,
    NoMemoryMask,
    NoPositions,
    NoTargetMask,
    Right,
    RisesWithLength,
    RoundsByLength,
    TellsLength,
    tried_on,
    tried_on_either,
)


@exercise(
    reference=invariance.ignores_padding,
    cases=[
        *FOR_EITHER_TEST,
        tried_on(Right, "a right model with pad_id=3", config=replace(TRIED, pad_id=3)),
        tried_on(RoundsByLength, "a right model whose rounding depends on the length"),
        tried_on(NoPositions, "a model without positional encodings"),
        tried_on(NoEncoderMask, "a model without a mask in the encoder"),
        tried_on(NoMemoryMask, "a model without a mask in cross-attention"),
        tried_on(NoTargetMask, "a model without masks for the target"),
        tried_on(TellsLength, "a model that counts the source, padding included"),
        tried_on_either(
            RisesWithLength,
            FallsWithLength,
            "two models whose logits all rise, or all fall, with the length, padding included",
        ),
    ],
    hints=[
        "The same sentences with and without padding at their ends: what should be equal?",
        "`F.pad(ids, (0, 2), value=pad_id)` appends two tokens of padding. Pad source and target, "
        "and compare the logits of the tokens that both targets have.",
        "`network.eval()`; `before = network(source, target)`; `after` from both padded with "
        "`network.config.pad_id`; then `torch.allclose(before, after[:, :length], atol=1e-5)`.",
    ],
)
def ignores_padding(network: nn.Module) -> bool:
    """Tell whether padding after source and target leaves the logits of words alone."""
    network.eval()
    source, target = torch.tensor([[4, 5, 6]]), torch.tensor([[6, 7]])
    two_more, pad_id = (0, 2), network.config.pad_id
    before = network(source, target)
    after = network(F.pad(source, two_more, value=pad_id), F.pad(target, two_more, value=pad_id))
    return torch.allclose(before, after[:, :2], atol=1e-5)
