"""A test that finds out which outputs of a layer depend on later inputs."""

import math
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from transformer_course import model
from transformer_course.checker.cases import Case, Property, vectors
from transformer_course.checker.exercise import exercise


class _Layer:
    """A layer with a name, which the words of a check show."""

    def __init__(self, name: str, forward: Callable[[Tensor], Tensor]) -> None:
        self.name = name
        self.forward = forward

    def __repr__(self) -> str:
        return f"<{self.name}>"

    def __call__(self, x: Tensor) -> Tensor:
        return self.forward(x)


def _attention(name: str, weigh: Callable[[Tensor, Tensor], Tensor]) -> _Layer:
    """Return self-attention; ``weigh`` makes weights of scores and a causal mask."""

    def forward(x: Tensor) -> Tensor:
        return weigh(x @ x.mT / math.sqrt(x.shape[-1]), model.causal_mask(x.shape[1])) @ x

    return _Layer(name, forward)


def _leak(name: str, *leaks: tuple[int | slice, int, int, int, float]) -> _Layer:
    """Return a running sum with leaks: sentence, output, later input, feature, and how much."""

    def forward(x: Tensor) -> Tensor:
        leaked = torch.zeros_like(x)
        for sentence, query, key, feature, amount in leaks:
            leaked[sentence, query, feature] = amount * x[sentence, key, feature]
        return x.cumsum(dim=1) + leaked

    return _Layer(name, forward)


def _leaking_weakly(x: Tensor) -> Tensor:
    """Return a running sum with a weak leak, which is as strong for a small change as for 1."""
    leaked = torch.zeros_like(x)
    leaked[:, 0, 2] = (77 * x[:, 2, 2]).sin() * 4e-4
    return x.cumsum(dim=1) + leaked


def _centred(x: Tensor) -> Tensor:
    """Return outputs whose features sum to 0, so that gains and losses make up for each other."""
    output = _FREE_ATTENTION(x)
    return output - output.mean(dim=-1, keepdim=True)


def _rounded(x: Tensor) -> Tensor:
    """Return outputs whose last digits depend on all inputs, as those of a faster sum may do.

    The errors are far below 1e-5 however much an input changes, and like rounding they have no
    gradient. All outputs lie between 1 and 2, so that a relative tolerance is as good.
    """
    errors = (77 * x.detach()).sum(dim=1, keepdim=True).sin() * 3e-7
    return 1 + x.cumsum(dim=1).sigmoid() + errors


_CAUSAL_ATTENTION = _attention(
    "attention with a causal mask",
    lambda scores, mask: scores.masked_fill(~mask, -math.inf).softmax(dim=-1),
)
_FREE_ATTENTION = _attention(
    "attention without a mask", lambda scores, mask: scores.softmax(dim=-1)
)
_EVERYWHERE = slice(None)
_LAYERS = (
    _attention(
        "attention with a mask that allows one position too many",
        lambda scores, mask: scores.masked_fill(mask.mT.triu(2), -math.inf).softmax(dim=-1),
    ),
    _attention(
        "attention with 0 in place of future scores",
        lambda scores, mask: (scores * mask).softmax(dim=-1),
    ),
    _attention(
        "attention with the mask after the softmax",
        lambda scores, mask: scores.softmax(dim=-1) * mask,
    ),
    _Layer("attention without a mask, centred: the features of an output sum to 0", _centred),
    _Layer("the vector of the previous position", lambda x: F.pad(x[:, :-1], (0, 0, 1, 0))),
    _Layer("the vector of the next position", lambda x: F.pad(x[:, 1:], (0, 0, 0, 1))),
    _Layer("a causal layer with rounding errors below 1e-6", _rounded),
    _Layer("a running sum plus the mean of the batch", lambda x: x.cumsum(dim=1) + x.mean(dim=0)),
    _leak("a running sum with a leak in feature 0", (_EVERYWHERE, 1, 3, 0, -0.5)),
    _Layer("a running sum with a leak below 0.001 in feature 2", _leaking_weakly),
    _leak(
        "a running sum with a leak in the first sentence and another one in the last",
        (0, 0, 2, 1, 0.5),
        (-1, 1, 3, 1, 0.5),
    ),
)
_MEAN = _Layer("the mean of all positions", lambda x: x.mean(dim=1, keepdim=True).expand_as(x))


def _probed(layer: _Layer, *shape: int) -> Case:
    return Case((layer, vectors(*shape)), written=f"({layer}, x of shape {list(shape)})")


def _probed_with_zeros(layer: _Layer) -> Case:
    """Return a case with padding at the end, whose vector is 0."""
    x = F.pad(vectors(2, 3, 3), (0, 0, 0, 1))
    return Case((layer, x), written=f"({layer}, x of shape [2, 4, 3] with zeros at position 3)")


def _by_derivatives(layer: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
    """Say which outputs depend on later inputs, by the derivatives of all by all."""
    derivatives = torch.autograd.functional.jacobian(lambda x: layer(x).sum(dim=0), x)
    return derivatives.abs().amax(dim=(1, 2, 4)).triu(1) > 0


@exercise(
    reference=_by_derivatives,
    cases=[
        *(_probed(layer, 3, 3, 2) for layer in (_CAUSAL_ATTENTION, _FREE_ATTENTION)),
        _probed_with_zeros(_MEAN),
        *(_probed(layer, 2, 4, 3) for layer in _LAYERS),
    ],
    properties=[
        Property(
            "nothing on the diagonal or below it is True: that is not the future",
            lambda value, case: not value.bool().tril().any(),
        ),
    ],
    hints=[
        "You need not look into the layer. Call it on `x`, change one input, call it again: which "
        "outputs have moved?",
        "Loop over j. Copy `x`, change position j of the copy, and compare the layer's two "
        "outputs. Only the positions before j are of interest: rows i < j of column j.",
        "`changed = x.clone()`, `changed[:, j] += 1`, then "
        "`(layer(changed) - layer(x)).abs().amax(dim=(0, 2)) > 1e-5` says which positions moved.",
    ],
)
def sees_the_future(layer: nn.Module, x: Tensor) -> Tensor:
    """Return where output i (row) changes with a later input j (column), (length, length)."""
    length = x.shape[1]
    sees = torch.zeros(length, length, dtype=torch.bool)
    before = layer(x)
    for j in range(length):
        changed = x.clone()
        changed[:, j] += 1
        moved = (layer(changed) - before).abs().amax(dim=(0, 2)) > 1e-5
        sees[:, j] = moved
    return sees.triu(1)


# Which pairs are kept: these come first, since pairs of mistakes are tried in this order

sees_the_future.mistake(
    "the past counts as well",
    edits=[("sees.triu(1)", "sees")],
    observed="The lower triangle is True, though each output may see itself and the past.",
    change="Keep the pairs with j > i only: rows above `j`, or `triu(1)`.",
)
sees_the_future.mistake(
    "the diagonal counts as well",
    edits=[("sees.triu(1)", "sees.triu(0)")],
    observed="The diagonal is True: output j may see input j, which is not the future.",
    change="Keep the pairs with j > i, without j = i: `sees[:j, j]`, or `triu(1)`.",
)
sees_the_future.mistake(
    "the past is looked at instead of the future",
    edits=[("sees.triu(1)", "sees.tril(-1)")],
    observed="The lower triangle of your matrix tells which outputs see the past, as they may.",
    change="Keep the pairs with j > i: a later input j, an earlier output i.",
)
sees_the_future.mistake(
    "rows and columns have changed places",
    edits=[("sees.triu(1)", "sees.triu(1).T")],
    observed="Your row is the input that was changed and your column the output.",
    change="Write `sees[i, j]`, i being the output and j the input: `sees[:j, j] = moved[:j]`.",
)
sees_the_future.mistake(
    "input i is changed and output j is looked at: the past, entered above the diagonal",
    edits=[("sees.triu(1)", "sees.T.triu(1)")],
    observed="Every layer that uses the past at all seems to leak. You change the earlier position "
    "and look at later outputs, which may move.",
    change="Change the later input j and look at the earlier output i: `sees[:j, j] = moved[:j]`.",
)
sees_the_future.mistake(
    "only the changed position is looked at",
    edits=[("sees.triu(1)", "sees.triu(0).tril()")],
    observed="Your matrix holds nothing but its diagonal: output j moves with input j, of course.",
    change="Look at the outputs before j: `sees[:j, j] = moved[:j]`.",
)
sees_the_future.mistake(
    "only the last output is looked at",
    edits=[("return sees.triu(1)", "sees[:-1] = False\n    return sees")],
    observed="Only the last row of your matrix holds anything. The last output has no future: it "
    "may see everything.",
    change="Look at the outputs before j: `sees[:j, j] = moved[:j]`.",
)
sees_the_future.mistake(
    "there is one answer for the whole layer",
    edits=[("sees.triu(1)", "sees.triu(1).any()")],
    observed="You return a single True or False; a matrix is wanted, which says who sees whom.",
    change="Return the matrix; `.any()` of it is your answer.",
)
sees_the_future.mistake(
    "only the next input is looked at",
    edits=[("sees.triu(1)", "sees.triu(1).tril(1)")],
    observed="Nothing is True but the diagonal above the main one: a leak from further ahead goes "
    "unseen.",
    change="Look at every output before j: `sees[:j, j] = moved[:j]`.",
)
sees_the_future.mistake(
    "if one output has moved, all before j are marked",
    edits=[("= moved", "= moved[:j].any()")],
    observed="Above the diagonal each of your columns is all True or all False: a leak from 3 to "
    "1 marks the outputs 0 and 2 as well.",
    change="Mark each output by itself: `sees[:j, j] = moved[:j]`.",
)

# What is compared

sees_the_future.mistake(
    "the outputs are compared as a whole, not position by position",
    edits=[("amax(dim=(0, 2))", "amax().expand(length)")],
    observed="Output j itself moves when input j does, so every layer seems to leak everywhere.",
    change="Compare each position separately: take the largest difference over batch and features "
    "only, `amax(dim=(0, 2))`.",
)
sees_the_future.mistake(
    "only feature 0 of each output is compared",
    edits=[("abs()", "abs()[:, :, :1]")],
    observed="A leak in another feature goes unseen.",
    change="Compare all features: `amax(dim=(0, 2))`.",
)
sees_the_future.mistake(
    "an output counts as changed only if all its numbers are",
    edits=[("amax", "amin")],
    observed="A leak in one feature goes unseen.",
    change="One changed number is enough: `any`, or the largest difference.",
)
sees_the_future.mistake(
    "the sign of the difference is kept",
    edits=[(".abs()", "")],
    observed="An output that falls when a later input grows goes unseen.",
    change="Take the absolute value: `(after - before).abs()`.",
)
sees_the_future.mistake(
    "the output is compared with `x`, not with the output before the change",
    edits=[("- before", "- x")],
    observed="A layer's output differs from its input anyway, so every layer seems to leak.",
    change="Call the layer twice and compare its outputs: `layer(changed) - layer(x)`.",
)
sees_the_future.mistake(
    "weak leaks are overlooked: the tolerance is too coarse, or the change too small",
    edits=[("1e-5", "1e-3")],
    observed="A leak that moves an output by less than 0.001 goes unseen. Training finds it and "
    "enlarges it.",
    change="Change the input by 1 or so, and allow for rounding only: 1e-5.",
)
sees_the_future.mistake(
    "stronger leaks are overlooked too: the tolerance is far too coarse",
    edits=[("1e-5", "0.1")],
    observed="A layer that gives a later input a little of its attention seems to be causal.",
    change="Allow for rounding only: 1e-5.",
)
sees_the_future.mistake(
    "no tolerance: rounding counts as a change",
    edits=[("> 1e-5", "!= 0")],
    observed="One of the layers is causal, but its last digits depend on all inputs, by less than "
    "1e-6. You call that a leak.",
    change="Count differences above 1e-5 only: not `!=` or `torch.equal`, but `> 1e-5`.",
)
sees_the_future.mistake(
    "only the first sentence is looked at",
    edits=[(".abs()", ".abs()[:1]")],
    observed="A leak in another sentence of the batch goes unseen.",
    change="Change and compare all sentences: the largest difference over batch and features, "
    "`amax(dim=(0, 2))`.",
)
sees_the_future.mistake(
    "only the last sentence is looked at",
    edits=[(".abs()", ".abs()[-1:]")],
    observed="A leak in another sentence of the batch goes unseen. In a loop over the sentences, "
    "each one may overwrite what the one before has found.",
    change="Compare all sentences: the largest difference over batch and features, "
    "`amax(dim=(0, 2))`.",
)
sees_the_future.mistake(
    "gains and losses cancel out: a sum or mean with signs",
    edits=[("abs().amax(dim=(0, 2))", "mean(dim=(0, 2)).abs()")],
    observed="Where the features of an output always sum to 0, as after a layer normalisation, "
    "their sum and mean never move, and the gradient of their sum is 0.",
    change="Take the absolute value of each difference, or derivative, before anything is added.",
)
sees_the_future.mistake(
    "it is the size of the changes, not whether there is one",
    edits=[("length, length, dtype=torch.bool", "length, length"), (" > 1e-5", "")],
    observed="Your matrix holds numbers; True or False is wanted.",
    change="Compare with a small tolerance: `> 1e-5`.",
)
sees_the_future.mistake(
    "True marks where nothing changes",
    edits=[("> 1e-5", "<= 1e-5")],
    observed="A layer without a mask gives False everywhere, one with a right mask gives True.",
    change="Turn the comparison round: True means that output i has changed.",
)

# Which input is changed

sees_the_future.mistake(
    "the changes pile up: each begins where the one before ended",
    edits=[("x.clone()", "x")],
    observed="When the last input is changed, all those before it are changed already: outputs "
    "move that do not depend on it.",
    change="Change a fresh copy of `x` each time: `changed = x.clone()`, inside the loop.",
)
sees_the_future.mistake(
    "axis 0 is taken for the positions",
    edits=[("changed[:, j]", "changed[j]")],
    observed="Axis 0 counts sentences: `x[j]` is the whole sentence j, and there may be fewer "
    "sentences than positions.",
    change="Positions are on axis 1: change `changed[:, j]`, compare `output[:, i]`.",
)
sees_the_future.mistake(
    "a feature is changed at every position",
    edits=[("changed[:, j]", "changed[:, :, j]")],
    observed="The last axis of `x` counts features: `x[:, :, j]` is feature j of all positions.",
    change="Change position j, with all its features: `changed[:, j] += 1`.",
)
sees_the_future.mistake(
    "NaN is used as a mark",
    edits=[("+= 1", "= torch.nan"), ("abs()", "isnan().float()")],
    observed="A right mask gives later positions weight 0, but 0 times NaN is NaN: attention that "
    "sees nothing of them seems to leak.",
    change="Change the input to another ordinary number, and see whether outputs change.",
)
sees_the_future.mistake(
    "everything from position j on is changed at once",
    edits=[("changed[:, j]", "changed[:, j:]")],
    observed="You can no longer tell which of the inputs an output depends on: a leak from "
    "position 3 to 1 shows up in column 2 too.",
    change="Change position j alone: `changed[:, j]`, not `changed[:, j:]`.",
)
sees_the_future.mistake(
    "the whole future of output i is changed at once",
    edits=[("changed[:, j]", "changed[:, j + 1 :]"), ("sees[:, j] = moved", "sees[j] = moved[j]")],
    observed="If one later input has an effect, you mark all of them: a mask that allows one "
    "position too many looks like no mask.",
    change="Change one position j at a time, and mark column j only.",
)
sees_the_future.mistake(
    "only the last input is changed",
    edits=[("range(length)", "[length - 1]")],
    observed="Only the last column can be True: a layer that sees one position too many is caught "
    "in the last row but one and nowhere else.",
    change="Change each position in turn: `for j in range(length)`.",
)
sees_the_future.mistake(
    "the last input is never changed: the loop ends one early",
    edits=[("range(length)", "range(length - 1)")],
    observed="The last column is never True.",
    change="Change each position in turn: `for j in range(length)`.",
)
sees_the_future.mistake(
    "only input 1 is changed",
    edits=[("range(length)", "range(1, 2)")],
    observed="Only column 1 can be True. A `return` inside a loop ends it in its first round.",
    change="Change each position in turn, and indent `return` as far as `for`.",
)
sees_the_future.mistake(
    "the input is set to 0 or multiplied: where it is 0 already, nothing changes",
    edits=[("+= 1", "*= 0")],
    observed="In one case the vector at position 3 is 0, as that of padding can be. It stays as it "
    "was, and the leak from it goes unseen.",
    change="Make sure that each number changes: `changed[:, j] += 1`.",
)
sees_the_future.mistake(
    "the input is changed by 1e-5 only",
    edits=[("+= 1", "+= 1e-5")],
    observed="Outputs then move by no more than 1e-5: leaks go unseen.",
    change="Change the input by 1 or so; 1e-5 is for the comparison of the outputs.",
    unless=r"\+= ?[1-9]\d*\b|rand|ones_like",
)
sees_the_future.mistake(
    "sentences are counted instead of positions",
    edits=[("x.shape[1]", "len(x)"), ("= moved", "= moved[:length]")],
    observed="Your matrix has a row for each sentence: `len(x)` and `x.shape[0]` are the size of "
    "the batch.",
    change="Take the length from axis 1: `x.shape[1]`.",
)
sees_the_future.mistake(
    "both outputs come from the same input, so nothing differs",
    edits=[("- before", "- layer(changed)")],
    observed="Your matrix is False everywhere, for every layer.",
    change="Compare `layer(changed)` with `layer(x)`, and make `changed` by `x.clone()`: "
    "`changed = x` is no copy.",
)
sees_the_future.mistake(
    "a leak counts only if it is in all sentences",
    edits=[("amax(dim=(0, 2))", "amax(dim=2).amin(dim=0)")],
    observed="A leak in one sentence of the batch goes unseen.",
    change="One sentence is enough: the largest difference over batch and features, "
    "`amax(dim=(0, 2))`.",
)
