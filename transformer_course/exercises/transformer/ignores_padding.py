"""A test of the padding masks that looks only at what a model computes."""

from dataclasses import replace

import torch
import torch.nn.functional as F
from torch import nn

from transformer_course.checker.exercise import exercise
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
from transformer_course.exercises.transformer.sees_no_future import sees_no_future
from transformer_course.invariance import properties as invariance


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
    """Tell whether padding behind source and target leaves the logits of words alone."""
    network.eval()
    source, target = torch.tensor([[4, 5, 6]]), torch.tensor([[6, 7]])
    behind, pad_id = (0, 2), network.config.pad_id
    before = network(source, target)
    after = network(F.pad(source, behind, value=pad_id), F.pad(target, behind, value=pad_id))
    return torch.allclose(before, after[:, :2], atol=1e-5)


ignores_padding.mistake(
    "0 is taken for the padding",
    edits=[("(0, 2), network.config.pad_id", "(0, 2), 0")],
    observed="A right model with `pad_id=3` fails: there, 0 is a word, and words may be read.",
    change="Use `network.config.pad_id`.",
)
ignores_padding.mistake(
    "the padding is put in front",
    edits=[("(0, 2)", "(2, 0)"), ("after[:, :2]", "after[:, -2:]")],
    observed="A right model fails: padding in front moves the words to other positions, which are "
    "read. A model without positional encodings passes.",
    change="Append the padding after the words.",
)
ignores_padding.mistake(
    "the words of the source change too",
    edits=[("F.pad(source, behind", "F.pad(source[:, :-1], behind")],
    observed="A right model fails, and a model that never reads the source passes: more than "
    "padding is changed there, such as a word that gives way to it.",
    change="Keep all words, and append tokens of `network.config.pad_id` after them.",
)
ignores_padding.mistake(
    "no padding stands behind the target's tokens",
    edits=[("F.pad(target, behind, value=pad_id)", "target")],
    observed="A model without masks for the target passes: its words attend to the target's "
    "padding, and you gave it none.",
    change="Pad the target too, along its tokens, and compare the logits of its words.",
)
ignores_padding.mistake(
    "no padding stands behind the source's tokens",
    edits=[("F.pad(source, behind, value=pad_id)", "source")],
    observed="A model without a mask in the encoder passes, and so does one without a mask in "
    "cross-attention.",
    change="Pad the source too, along its tokens: with `F.pad(source, (0, 2), value=pad_id)`, or "
    "`torch.cat([source, padding], dim=1)`; without `dim=1` the padding becomes more sentences.",
)
ignores_padding.mistake(
    "only the memory is compared",
    edits=[
        ("before = network(source, target)", "before = network.encode(source)"),
        ("after = network(F", "after = network.encode(F"),
        (", F.pad(target, behind, value=pad_id))", ")"),
        ("after[:, :2]", "after[:, :3]"),
    ],
    observed="A model without a mask in cross-attention passes: its memory is right, and its "
    "decoder reads the padding.",
    change="Compare the logits, which is what the whole model makes of it.",
)
ignores_padding.mistake(
    "it is enough if one side ignores its padding",
    edits=[
        (
            "return torch.allclose(before, after[:, :2], atol=1e-5)",
            "return any(\n"
            "        torch.allclose(before, network(*ids)[:, :2], atol=1e-5)\n"
            "        for ids in [\n"
            "            (source, F.pad(target, behind, value=pad_id)),\n"
            "            (F.pad(source, behind, value=pad_id), target),\n"
            "        ]\n"
            "    )",
        )
    ],
    observed="Models that read the padding of the source, or that of the target, pass as long as "
    "they ignore that of the other side.",
    change="Ask for both: combine the two comparisons with `and`, not with `or`.",
)
ignores_padding.mistake(
    "rounding counts as a difference",
    edits=[("torch.allclose(before", "torch.equal(before"), (", atol=1e-5", "")],
    observed="A right model whose last digits depend on the length fails: sums of another length "
    "are added in another order.",
    change="Allow for rounding: `torch.allclose(before, after, atol=1e-5)`.",
)
ignores_padding.shares(
    sees_no_future,
    "dropout stays on",
    "the answer is the wrong way round",
)
ignores_padding.mistake(
    "every model passes",
    edits=[("torch.allclose(before, after[:, :2], atol=1e-5)", "True")],
    observed="Even a model without masks passes. Is there padding after the words of the sentences "
    "that you compare? `F.pad(ids, (0, 2))` appends two tokens to each sentence, `(0, 0, 0, 2)` "
    "appends two sentences. A `return` in a loop ends it with the first comparison.",
    change="Append tokens of `network.config.pad_id` along axis 1, and compare with the logits of "
    "the same sentences without them.",
    # Who appends padding and compares words, or looks at one side alone, has another fault.
    unless=r"cat\(|argmax",
)
ignores_padding.shares(
    sees_no_future,
    "no model passes",
    edits=[("torch.allclose(before, after[:, :2], atol=1e-5)", "False")],
)
ignores_padding.shares(
    sees_no_future, "the tolerance is too wide", "the test asserts instead of returning"
)
ignores_padding.shares(
    sees_no_future,
    "the difference has a sign",
    edits=[
        (
            "torch.allclose(before, after[:, :2], atol=1e-5)",
            "bool((before - after[:, :2]).max() < 1e-5)",
        )
    ],
)
ignores_padding.shares(
    sees_no_future,
    "there is no answer for a right model",
    edits=[
        (
            "return torch.allclose(before, after[:, :2], atol=1e-5)",
            "if not torch.allclose(before, after[:, :2], atol=1e-5):\n        return False",
        )
    ],
)
ignores_padding.shares(
    sees_no_future,
    "only the best words are compared",
    edits=[("before, after[:, :2]", "before.argmax(dim=-1), after[:, :2].argmax(dim=-1)")],
)
