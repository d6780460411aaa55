"""A test of the causal mask that looks only at what a model computes."""

from dataclasses import replace

import torch
from torch import nn

from transformer_course.checker.exercise import exercise
from transformer_course.examine import properties as invariance
from transformer_course.exercises.transformer.models import (
    FOR_EITHER_TEST,
    EachTokenAlone,
    FallsWithLaterIds,
    HintsAfterTheFirstPosition,
    HintsAtNextWord,
    NoMasks,
    OffByOne,
    OwnShift,
    RepeatsNextWord,
    RisesWithLaterIds,
    one_of_many_verdicts,
    tried_on,
    tried_on_either,
)


@exercise(
    reference=invariance.sees_no_future,
    cases=[
        *FOR_EITHER_TEST,
        tried_on(OwnShift, "a right model that begins the target with a token of its own"),
        tried_on(EachTokenAlone, "a model in which target tokens do not see one another"),
        tried_on(OffByOne, "a model that sees one word too many"),
        tried_on(RepeatsNextWord, "a model that repeats the next word"),
        tried_on(HintsAtNextWord, "a model that finds the next word somewhat more probable"),
        tried_on(HintsAfterTheFirstPosition, "a model that does so at all positions but the first"),
        tried_on_either(
            RisesWithLaterIds,
            FallsWithLaterIds,
            "two models whose logits all rise, or all fall, with the ids of later words",
        ),
        replace(
            tried_on(NoMasks, "a model without masks"),
            observe=one_of_many_verdicts,
            looks_at="tried up to 20 times: no answer is True",
        ),
    ],
    hints=[
        "Two targets that begin alike and end differently: what do you know about the logits of "
        "their common beginning?",
        "Switch dropout off with `network.eval()`, run the network on both targets with the same "
        "source, and compare only positions before the first difference.",
        "With targets `[[1, 2, 3, 4, 5]]` and `[[1, 2, 3, 6, 7]]` compare `logits[:, :3]` by "
        "`torch.allclose(..., atol=1e-5)`.",
    ],
)
def sees_no_future(network: nn.Module) -> bool:
    """Tell whether later target tokens leave the logits of earlier positions alone."""
    network.eval()
    source = torch.tensor([[1, 2, 3]])
    one = network(source, torch.tensor([[1, 2, 3, 4, 5]]))
    other = network(source, torch.tensor([[1, 2, 3, 6, 7]]))
    return torch.allclose(one[:, :3], other[:, :3], atol=1e-5)
