"""A test of the causal mask that looks only at what a model computes."""

from dataclasses import replace

import torch
from torch import nn

from transformer_course.checker.exercise import exercise
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
from transformer_course.invariance import properties as invariance


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


sees_no_future.mistake(
    "the position that was changed is compared too",
    edits=[("one[:, :3]", "one[:, :4]"), ("other[:, :3]", "other[:, :4]")],
    observed="A right model fails. A token may well move the logits at its own position, since it "
    "is what they are made of.",
    change="Compare only positions before the first token that you change.",
)
sees_no_future.mistake(
    "an earlier token is changed",
    edits=[
        ("[[1, 2, 3, 6, 7]]", "[[6, 2, 3, 4, 5]]"),
        ("one[:, :3]", "one[:, 1:]"),
        ("other[:, :3]", "other[:, 1:]"),
    ],
    observed="A right model fails, because later positions may read earlier tokens. Only a model "
    "in which tokens do not see one another passes.",
    change="Change a later token, and look at earlier positions.",
)
sees_no_future.mistake(
    "the source is changed",
    edits=[
        ("other = network(source,", "other = network(source.flip(1),"),
        ("3, 6, 7]]", "3, 4, 5]]"),
    ],
    observed="A right model fails, because every position may read the whole source. Only a model "
    "that never reads the source passes.",
    change="Leave the source as it is, and change the target.",
)
sees_no_future.mistake(
    "the position just before the changed token is not compared",
    edits=[("one[:, :3]", "one[:, :1]"), ("other[:, :3]", "other[:, :1]")],
    observed="A model that sees one word too many passes: there, a changed token moves the logits "
    "just before it, and no earlier ones.",
    change="Compare all positions before the first token that you change, the last of them too. A "
    "`return True` within a loop ends it with the first of them.",
)
sees_no_future.mistake(
    "now and then nothing is changed",
    edits=[("3, 6, 7]]", "3, torch.randint(1, 7, ()), 5]]")],
    observed="A model without masks fails nearly always, but not in each of 20 trials: a token "
    "drawn at random is sometimes the one that was there.",
    change="Make sure that the token is another one: `changed[:, -1] = target[:, -1] % 7 + 1`.",
)
sees_no_future.mistake(
    "dropout stays on",
    edits=[("    network.eval()\n", "")],
    observed="A right model in training mode fails: dropout draws new numbers in each run, so no "
    "two runs agree.",
    change="Call `network.eval()` first.",
)
sees_no_future.mistake(
    "the answer is the wrong way round",
    edits=[("return torch.allclose", "return not torch.allclose")],
    observed="Right models get False and broken ones True.",
    change="Return True where nothing changes.",
)
sees_no_future.mistake(
    "every model passes",
    edits=[("torch.allclose(one[:, :3], other[:, :3], atol=1e-5)", "True")],
    observed="Even a model without masks passes. Do the two inputs really differ? A shape says "
    "nothing, `changed = ids` followed by `changed[:, -1] = 6` changes `ids` too, and a `return` "
    "in a loop ends it with the first comparison.",
    change="Compare logits of two different inputs; make the second from `ids.clone()`, and say "
    "`return True` only after the loop.",
    unless="argmax",  # who compares words alone has another fault
)
sees_no_future.mistake(
    "no model passes",
    edits=[("torch.allclose(one[:, :3], other[:, :3], atol=1e-5)", "False")],
    observed="Even a right model fails, and so do all others: what you compare is meant to differ.",
    change="Compare only logits which the change must not reach, all of them after "
    "`network.eval()`.",
)
sees_no_future.mistake(
    "the tolerance is too wide",
    edits=[("atol=1e-5", "atol=0.1")],
    observed="A model whose logits move by 0.01 to 0.02 passes. Rounding moves them by less than "
    "0.00001, in single precision too.",
    change="Use a tolerance such as `atol=1e-5`.",
)
sees_no_future.mistake(
    "only the best words are compared",
    edits=[
        ("one[:, :3]", "one[:, :3].argmax(dim=-1)"),
        ("other[:, :3]", "other[:, :3].argmax(dim=-1)"),
    ],
    observed="The models tried here have a favourite word: they put it first everywhere, whatever "
    "they read. Only a model whose best word changes fails.",
    change="Compare the logits themselves, neither their `argmax` nor their softmax.",
)
sees_no_future.mistake(
    "the tolerance is far too wide",
    edits=[("atol=1e-5", "atol=1.0")],
    observed="Even a model without masks passes: its logits move by less than your tolerance. "
    "Only models that give the next word away loudly fail.",
    change="Use a tolerance such as `atol=1e-5`; `rtol` should be small too.",
)
sees_no_future.mistake(
    "the difference has a sign",
    edits=[
        (
            "torch.allclose(one[:, :3], other[:, :3], atol=1e-5)",
            "bool((one[:, :3] - other[:, :3]).max() < 1e-5)",
        )
    ],
    observed="A model whose logits all move in one direction passes: the largest difference is "
    "then negative.",
    change="Take `.abs()` of the difference first, or use `torch.allclose`.",
)
sees_no_future.mistake(
    "the test asserts instead of returning",
    edits=[("return torch.allclose", "assert torch.allclose")],
    observed="A broken model raises AssertionError and a right one gives None; False and True are "
    "wanted.",
    change="Write `return` in place of `assert`.",
)
sees_no_future.mistake(
    "there is no answer for a right model",
    edits=[
        (
            "return torch.allclose(one[:, :3], other[:, :3], atol=1e-5)",
            "if not torch.allclose(one[:, :3], other[:, :3], atol=1e-5):\n        return False",
        )
    ],
    observed="A broken model gets False. A right one gets None: the function ends without "
    "`return`.",
    change="End the function with `return True`.",
)
sees_no_future.mistake(
    "only the first position is compared",
    edits=[
        ("[[1, 2, 3, 6, 7]]", "[[1, 6, 7, 6, 7]]"),
        ("one[:, :3]", "one[:, :1]"),
        ("other[:, :3]", "other[:, :1]"),
    ],
    observed="A model passes that gives the next word away at all positions but the first.",
    change="Change later tokens too, and compare all positions before the first change. A `return` "
    "within a loop ends it with the first of them.",
)
sees_no_future.mistake(
    "the logits are added up first",
    edits=[
        ("one[:, :3]", "one[:, :3].sum()"),
        ("other[:, :3]", "other[:, :3].sum()"),
    ],
    observed="A model passes that moves one logit up for one that it moves down: the sum stays.",
    change="Compare each logit, and take the largest difference: `torch.allclose` does.",
)
