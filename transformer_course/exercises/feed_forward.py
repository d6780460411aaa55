"""Lesson 4: the exercises on the feed-forward network, with their known mistakes."""

from collections.abc import Callable, Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from transformer_course import model
from transformer_course.exercises.cases import Case, Property, in_double_precision, vectors
from transformer_course.exercises.exercise import exercise

# --- FeedForward -----------------------------------------------------------------------------


def _equal_vectors_equal_outputs(value: Tensor, case: Case) -> bool:
    (x,) = case.inputs
    same = (x.flatten(0, 1)[:, None] == x.flatten(0, 1)).all(dim=-1)
    outputs = value.flatten(0, 1)
    return torch.allclose((outputs[:, None] - outputs)[same], torch.tensor(0.0), atol=1e-5)


def _bends(value: Tensor, case: Case) -> bool:
    """Whether the positions, which hold a, b, a + b and 0, show that it is no affine map."""
    a, b, both, nothing = value.unbind(1)[:4]
    return not torch.allclose(both + nothing, a + b, atol=1e-4)


def _two_and_their_sum(a: Tensor, b: Tensor) -> Tensor:
    """Return sentences of the positions a, b, a + b, 0, a."""
    return torch.stack([a, b, a + b, torch.zeros_like(a), a], dim=1)


@exercise(
    reference=model.FeedForward,
    cases=[
        Case((_two_and_their_sum(*vectors(2, 1, 2)),), construct=(2, 8)),
        Case((_two_and_their_sum(*vectors(2, 3, 6)),), construct=(6, 10)),
        Case((_two_and_their_sum(*vectors(2, 2, 8)),), construct=(8, 5)),
        Case(
            (vectors(3, 2, 4),),
            construct=(4, 6),
            observe=in_double_precision,
            looks_at="the same module and numbers in float64",
        ),
    ],
    properties=[
        Property(
            "equal vectors get equal outputs, wherever they stand", _equal_vectors_equal_outputs
        ),
        Property(
            "it is no affine map: f(a + b) + f(0) differs from f(a) + f(b)",
            _bends,
        ),
    ],
    hints=[
        "Two linear layers. How wide is what goes into each of them, and what comes out?",
        "`nn.Linear(d_model, d_ff)` expands and `nn.Linear(d_ff, d_model)` contracts. The ReLU "
        "stands between them, and nothing else happens.",
        "`return self.contract(self.expand(x).relu())`",
    ],
)
class FeedForward(nn.Module):
    """Expand each vector to d_ff features, apply ReLU, contract it again."""

    def __init__(self, d_model: int, d_ff: int) -> None:
        super().__init__()
        self.expand = nn.Linear(d_model, d_ff)
        self.contract = nn.Linear(d_ff, d_model)

    def forward(self, x: Tensor) -> Tensor:
        """Apply the same two layers to each position of x, (batch, length, d_model)."""
        return self.contract(self.expand(x).relu())


class _FeedForwardSteps(nn.Module):
    """The feed-forward network in steps, so that a mistake replaces one."""

    def __init__(self, d_model: int, d_ff: int) -> None:
        super().__init__()
        d_ff = self.width(d_model, d_ff)
        first, second = self.sizes(d_model, d_ff)
        self.expand = self.layer(*first)
        self.contract = self.layer(*second)

    def width(self, d_model: int, d_ff: int) -> int:
        return d_ff

    def sizes(self, d_model: int, d_ff: int) -> tuple[tuple[int, int], tuple[int, int]]:
        return (d_model, d_ff), (d_ff, d_model)

    def layer(self, inputs: int, outputs: int) -> nn.Linear:
        return nn.Linear(inputs, outputs)

    def activate(self, hidden: Tensor) -> Tensor:
        return hidden.relu()

    def compute(self, x: Tensor) -> Tensor:
        return self.contract(self.activate(self.expand(x)))

    def finish(self, output: Tensor, x: Tensor) -> Tensor:
        return output

    def forward(self, x: Tensor) -> Tensor:
        return self.finish(self.compute(x), x)


@FeedForward.mistake(
    "there is no ReLU",
    observed="f(a + b) + f(0) = f(a) + f(b): two linear layers in a row are one linear layer.",
    change="Put the ReLU between the two: `self.contract(self.expand(x).relu())`.",
)
class _NoActivation(_FeedForwardSteps):
    def activate(self, hidden: Tensor) -> Tensor:
        return hidden


@FeedForward.mistake(
    "the ReLU comes last instead of between the layers",
    observed="No number of your output is negative, and the two layers in a row are one linear "
    "layer.",
    change="Put the ReLU between the two: `self.contract(self.expand(x).relu())`.",
)
class _ActivationLast(_FeedForwardSteps):
    def compute(self, x: Tensor) -> Tensor:
        return self.contract(self.expand(x)).relu()


@FeedForward.mistake(
    "there is a second ReLU at the end",
    observed="No number of your output is negative.",
    change="Leave the output as the second layer gives it.",
)
class _ActivationTwice(_FeedForwardSteps):
    def finish(self, output: Tensor, x: Tensor) -> Tensor:
        return output.relu()


@FeedForward.mistake(
    "the ReLU comes first",
    observed="Negative numbers of x have no influence.",
    change="Expand first: `self.expand(x).relu()`.",
)
class _ActivationFirst(_FeedForwardSteps):
    def compute(self, x: Tensor) -> Tensor:
        return self.contract(self.expand(x.relu()))


@FeedForward.mistake(
    "x is added to the output",
    observed="Your output is the right one plus x.",
    change="Return what the second layer gives; the layer around it, in lesson 5, adds the two.",
)
class _AddsInput(_FeedForwardSteps):
    def finish(self, output: Tensor, x: Tensor) -> Tensor:
        return x + output


@FeedForward.mistake(
    "the second layer is not applied",
    observed="Your output is d_ff wide, and no number in it is negative.",
    change="Return `self.contract(...)` of what the ReLU leaves.",
)
class _NotContracted(_FeedForwardSteps):
    def compute(self, x: Tensor) -> Tensor:
        return self.activate(self.expand(x))


@FeedForward.mistake(
    "the sizes of the two layers are swapped",
    observed="`expand.weight` belongs to a layer that makes d_model features from d_ff, and x "
    "does not fit into it.",
    change="`nn.Linear` takes the width that goes in, then the one that comes out: "
    "`nn.Linear(d_model, d_ff)` expands.",
)
class _SizesSwapped(_FeedForwardSteps):
    def sizes(self, d_model: int, d_ff: int) -> tuple[tuple[int, int], tuple[int, int]]:
        return (d_ff, d_model), (d_model, d_ff)


@FeedForward.mistake(
    "it contracts first",
    observed="`contract` wants d_ff features and gets x, which has d_model.",
    change="Expand first: `self.contract(self.expand(x).relu())`.",
)
class _ContractsFirst(_FeedForwardSteps):
    def compute(self, x: Tensor) -> Tensor:
        return self.expand(self.activate(self.contract(x)))


@FeedForward.mistake(
    "the layers have no biases",
    observed="Your module has no parameter `expand.bias` and no `contract.bias`, so a vector of "
    "zeros always gives zeros.",
    change="Leave out `bias=False`.",
)
class _NoBiases(_FeedForwardSteps):
    def layer(self, inputs: int, outputs: int) -> nn.Linear:
        return nn.Linear(inputs, outputs, bias=False)


@FeedForward.mistake(
    "the width in between is always 4 * d_model",
    observed="The argument `d_ff` has no influence on the shapes of your weights.",
    change="Use `d_ff`; four times d_model is what the paper chose for it.",
)
class _FourTimes(_FeedForwardSteps):
    def width(self, d_model: int, d_ff: int) -> int:
        return 4 * d_model


@FeedForward.mistake(
    "nothing is expanded: the width in between is d_model",
    observed="Both of your weights have shape (d_model, d_model).",
    change="Use `d_ff`: `nn.Linear(d_model, d_ff)` and `nn.Linear(d_ff, d_model)`.",
)
class _NotExpanded(_FeedForwardSteps):
    def width(self, d_model: int, d_ff: int) -> int:
        return d_model


@FeedForward.mistake(
    "the activation is GELU instead of ReLU",
    observed="Small negative numbers in between are not set to 0.",
    change="Use `.relu()` here; GELU is what many later models took.",
)
class _Gelu(_FeedForwardSteps):
    def activate(self, hidden: Tensor) -> Tensor:
        return F.gelu(hidden)


@FeedForward.mistake(
    "the activation is a sigmoid instead of ReLU",
    observed="What stands in between lies between 0 and 1: large numbers are cut off.",
    change="Use `.relu()`.",
)
class _Sigmoid(_FeedForwardSteps):
    def activate(self, hidden: Tensor) -> Tensor:
        return hidden.sigmoid()


@FeedForward.mistake(
    "the ReLU keeps the negative numbers",
    observed="The positive numbers in between became 0; the negative ones should.",
    change="ReLU is the larger one of a number and 0: `.relu()` or `.clamp(min=0)`.",
)
class _KeepsNegative(_FeedForwardSteps):
    def activate(self, hidden: Tensor) -> Tensor:
        return hidden.clamp(max=0)


# --- acts_per_position -----------------------------------------------------------------------


class _Layer(nn.Module):
    """A layer to judge, whose name is what feedback shows."""

    def __init__(self, name: str, apply: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.name = name
        self.compute = apply

    def forward(self, x: Tensor) -> Tensor:
        return self.compute(x)

    def __repr__(self) -> str:
        return self.name


def _feed_forward(x: Tensor) -> Tensor:
    return F.linear(F.linear(x, vectors(8, 4)).relu(), vectors(4, 8))


def _convolution(x: Tensor, width: int) -> Tensor:
    weight = vectors(4, 4, width)
    return F.conv1d(x.transpose(1, 2), weight, padding=width // 2).transpose(1, 2)


def _running_mean(x: Tensor) -> Tensor:
    return x.cumsum(dim=1) / torch.arange(1, x.shape[1] + 1)[:, None]


def _with_next(x: Tensor) -> Tensor:
    return x + F.pad(x[:, 1:], (0, 0, 0, 1))


def _first_two_swapped(x: Tensor) -> Tensor:
    return torch.cat([x[:, :2].flip(1), x[:, 2:]], dim=1)


def _last_negated(x: Tensor) -> Tensor:
    return torch.cat([x[:, :-1], -x[:, -1:]], dim=1)


def _weights_per_position(x: Tensor) -> Tensor:
    return torch.einsum("bnd,nde->bne", x, vectors(5, 4, 4)[: x.shape[1]])


_LAYERS = [
    _Layer("the feed-forward network", _feed_forward),
    _Layer("a linear layer to another width", lambda x: F.linear(x, vectors(3, 4))),
    _Layer("each vector divided by its length", lambda x: F.normalize(x, dim=-1)),
    _Layer("a convolution of width 1", lambda x: _convolution(x, 1)),
    _Layer("the same output whatever x holds", lambda x: 0 * x + 1),
    _Layer("a convolution of width 3", lambda x: _convolution(x, 3)),
    _Layer("self-attention", lambda x: model.scaled_dot_product_attention(x, x, x)[0]),
    _Layer("the mean over all positions subtracted", lambda x: x - x.mean(dim=1, keepdim=True)),
    _Layer("a little of the mean added", lambda x: x + 0.05 * x.mean(dim=1, keepdim=True)),
    _Layer("the mean over the positions so far", _running_mean),
    _Layer("each position plus the next", _with_next),
    _Layer("the positions in reverse", lambda x: x.flip(1)),
    _Layer("the first two positions swapped", _first_two_swapped),
    _Layer("other weights at each position", _weights_per_position),
    _Layer("a positional encoding added", lambda x: x + model.sinusoidal_encoding(x.shape[1], 4)),
    _Layer("the sign changed at the last position", _last_negated),
]


class _PositionTest:
    """The test in steps, so that a mistake replaces one."""

    def tried(self, length: int) -> Sequence[int]:
        return range(length)

    def close(self, one: Tensor, other: Tensor) -> bool:
        return torch.allclose(one, other, atol=1e-4)

    def passes(self, layer: Callable[[Tensor], Tensor], x: Tensor) -> bool:
        together = layer(x)
        return all(
            self.close(layer(x[:, [place]]), together[:, [place]])
            for place in self.tried(x.shape[1])
        )

    def verdict(self, passes: bool) -> bool:
        return passes

    def __call__(self, layer: Callable[[Tensor], Tensor], x: Tensor) -> bool:
        return self.verdict(self.passes(layer, x))


@exercise(
    reference=_PositionTest(),
    cases=[Case((layer, vectors(2, 5, 4))) for layer in _LAYERS],
    hints=[
        "Two things are to be tested. Does the output at a position depend on other positions? "
        "And is it the same function everywhere? Self-attention fails the first, other weights at "
        "each position fail the second.",
        "One comparison tests both: what does the layer give for a sentence that holds one "
        "position alone, and what does it give for this position among the others?",
        "`layer(x[:, [i]])` must be close to `layer(x)[:, [i]]` for every position `i` of "
        "`range(x.shape[1])`; `torch.allclose(..., atol=1e-5)` compares.",
    ],
)
def acts_per_position(layer: nn.Module, x: Tensor) -> bool:
    """Return whether a layer treats each position of x by itself, and all of them alike."""
    alone = [layer(x[:, [position]]) for position in range(x.shape[1])]
    return torch.allclose(layer(x), torch.cat(alone, dim=1), atol=1e-5)


def _changed(x: Tensor, place: int) -> Tensor:
    return torch.cat([x[:, :place], x[:, [place]] + 1, x[:, place + 1 :]], dim=1)


class _DependenceTest(_PositionTest):
    """Change one position after the other, and see whether the output changes elsewhere."""

    def passes(self, layer: Callable[[Tensor], Tensor], x: Tensor) -> bool:
        return all(self.stays(layer, x, place) for place in self.tried(x.shape[1]))

    def stays(self, layer: Callable[[Tensor], Tensor], x: Tensor, place: int) -> bool:
        elsewhere = torch.arange(x.shape[1]) != place
        return self.close(layer(_changed(x, place))[:, elsewhere], layer(x)[:, elsewhere])


class _OrderTest(_PositionTest):
    """Put the positions into another order, and see whether the outputs follow."""

    def order(self, length: int) -> list[int]:
        return [*range(2, length), 0, 1]

    def passes(self, layer: Callable[[Tensor], Tensor], x: Tensor) -> bool:
        order = self.order(x.shape[1])
        return self.close(layer(x[:, order]), layer(x)[:, order])


@acts_per_position.mistake(
    "only the shapes are compared",
    observed="Self-attention passes your test, since it keeps the shape; a linear layer to another "
    "width fails it, though it acts on each position alone.",
    change="Compare numbers: `torch.allclose` of two outputs.",
)
class _ShapesOnly(_PositionTest):
    def passes(self, layer: Callable[[Tensor], Tensor], x: Tensor) -> bool:
        return layer(x).shape == x.shape


@acts_per_position.mistake(
    "whether other positions matter is not tested",
    observed="Self-attention passes your test: if the words change places, so do its outputs. Yet "
    "each output depends on all positions.",
    change="Also change one position, and see whether the output changes elsewhere.",
)
class _OrderOnly(_OrderTest):
    pass


@acts_per_position.mistake(
    "whether all positions are treated alike is not tested",
    observed="A layer with other weights at each position passes your test: no position depends "
    "on another, but it is not the same function everywhere.",
    change="Also put the positions into another order: the outputs must follow. Or compare with "
    "what the layer gives for each position alone.",
)
class _DependenceOnly(_DependenceTest):
    pass


@acts_per_position.mistake(
    "the output at the changed position is compared too",
    observed="Of all layers only the one that never changes its output passes your test, and the "
    "feed-forward network fails: you want nothing to change at all.",
    change="Leave out the changed position: compare the others. Start from `x.clone()` for each "
    "position; `x[:, i]` is a position, `x[i]` a whole sentence.",
)
class _NothingMayChange(_DependenceTest):
    def stays(self, layer: Callable[[Tensor], Tensor], x: Tensor, place: int) -> bool:
        return self.close(layer(_changed(x, place)), layer(x))


@acts_per_position.mistake(
    "it is only tested that the output changes",
    observed="Self-attention passes your test, and a layer that always gives the same output "
    "fails it.",
    change="Ask what does not change: the output at the other positions.",
)
class _SomethingMustChange(_PositionTest):
    def passes(self, layer: Callable[[Tensor], Tensor], x: Tensor) -> bool:
        return not self.close(layer(x + 1), layer(x))


@acts_per_position.mistake(
    "only the output at the changed position is looked at",
    observed="Self-attention passes your test: its output at the changed position changes, as it "
    "should, and that it changes everywhere else too goes unseen.",
    change="Look at the other positions: their output must stay.",
)
class _OwnPositionOnly(_DependenceTest):
    def stays(self, layer: Callable[[Tensor], Tensor], x: Tensor, place: int) -> bool:
        return not self.close(layer(_changed(x, place))[:, place], layer(x)[:, place])


@acts_per_position.mistake(
    "every layer passes",
    observed="Your test cannot fail: even self-attention passes.",
    change="Compare positions, axis 1, not sentences, axis 0; use more than one position; and "
    "change a copy, `x.clone()`, or you compare x with itself.",
)
class _EveryLayerPasses(_PositionTest):
    def passes(self, layer: Callable[[Tensor], Tensor], x: Tensor) -> bool:
        return True


@acts_per_position.mistake(
    "no layer passes",
    observed="Even the feed-forward network fails your test.",
    change="Compare two outputs, not the output with x; and allow for rounding: "
    "`torch.allclose(..., atol=1e-5)` instead of `==`.",
)
class _NoLayerPasses(_PositionTest):
    def passes(self, layer: Callable[[Tensor], Tensor], x: Tensor) -> bool:
        return False


@acts_per_position.mistake(
    "True and False are swapped",
    observed="The feed-forward network fails your test and self-attention passes.",
    change="Return True if the layer does treat each position by itself, and all alike.",
)
class _Swapped(_PositionTest):
    def verdict(self, passes: bool) -> bool:
        return not passes


@acts_per_position.mistake(
    "only the first position is tried alone",
    observed="The mean over the positions so far passes your test: the first position sees only "
    "itself, the others do not.",
    change="Try every position: `for i in range(x.shape[1])`.",
)
class _FirstAlone(_PositionTest):
    def tried(self, length: int) -> Sequence[int]:
        return [0]


@acts_per_position.mistake(
    "only the last position is tried alone",
    observed="A layer that adds the next position to each passes your test: the last position "
    "has no next one.",
    change="Try every position: `for i in range(x.shape[1])`.",
)
class _LastAlone(_PositionTest):
    def tried(self, length: int) -> Sequence[int]:
        return [length - 1]


@acts_per_position.mistake(
    "only the first position is changed",
    observed="A layer that adds the next position to each passes your test, because none has the "
    "first one as its next; so does one with other weights at each position.",
    change="Change every position in turn. Then test, too, that all positions are treated alike.",
)
class _FirstChanged(_DependenceTest):
    def tried(self, length: int) -> Sequence[int]:
        return [0]


@acts_per_position.mistake(
    "only the last position is changed",
    observed="The mean over the positions so far passes your test, because only the last output "
    "sees the last position; so does a layer with other weights at each position.",
    change="Change every position in turn. Then test, too, that all positions are treated alike.",
)
class _LastChanged(_DependenceTest):
    def tried(self, length: int) -> Sequence[int]:
        return [length - 1]


@acts_per_position.mistake(
    "only two positions change places",
    observed="A layer that swaps the first two positions passes your test, and so does one that "
    "treats the last position in another way; self-attention does as well.",
    change="Let every position take part. Then test, too, whether other positions matter.",
)
class _TwoChangePlaces(_OrderTest):
    def order(self, length: int) -> list[int]:
        return [1, 0, *range(2, length)]


@acts_per_position.mistake(
    "only two positions are compared with each other",
    observed="A layer that changes the sign at the last position passes your test: it treats the "
    "first two alike.",
    change="Let every position change its place, or compare each with what the layer gives for it "
    "alone.",
)
class _TwoCompared(_DependenceTest):
    def passes(self, layer: Callable[[Tensor], Tensor], x: Tensor) -> bool:
        return super().passes(layer, x) and _TwoChangePlaces().passes(layer, x)


@acts_per_position.mistake(
    "the only other order is the reverse",
    observed="A layer that reverses the positions passes your test; so does self-attention.",
    change="Use an order that is not its own reverse, such as `torch.randperm`. Then test, too, "
    "whether other positions matter.",
)
class _ReverseOnly(_OrderTest):
    def order(self, length: int) -> list[int]:
        return [*reversed(range(length))]


@acts_per_position.mistake(
    "all positions hold the same vector",
    observed="Self-attention passes your test: where all vectors are equal, a mean of them is the "
    "vector itself, and mixing cannot show.",
    change="Use vectors that differ, and see whether the output at a position changes with the "
    "others.",
)
class _EqualVectors(_PositionTest):
    def passes(self, layer: Callable[[Tensor], Tensor], x: Tensor) -> bool:
        output = layer(x[:, :1].expand_as(x))
        return self.close(output, output[:, :1].expand_as(output))


@acts_per_position.mistake(
    "the tolerance is too wide",
    observed="A layer that adds a little of the mean to each position passes your test.",
    change="Allow for rounding only: `atol=1e-5`.",
)
class _WideTolerance(_PositionTest):
    def close(self, one: Tensor, other: Tensor) -> bool:
        return torch.allclose(one, other, atol=0.1)


# --- feed_forward_parameters -----------------------------------------------------------------


class _ParameterSteps:
    """The count in parts, so that a mistake replaces one."""

    def weights(self, d_model: int, d_ff: int) -> int:
        return 2 * d_model * d_ff

    def biases(self, d_model: int, d_ff: int) -> int:
        return d_ff + d_model

    def unit(self) -> int:
        return 1

    def __call__(self, d_model: int, d_ff: int) -> int:
        return self.unit() * (self.weights(d_model, d_ff) + self.biases(d_model, d_ff))


@exercise(
    reference=_ParameterSteps(),
    cases=[Case((2, 3)), Case((4, 16)), Case((10, 6)), Case((512, 2048))],
    properties=[
        Property("it is a whole number", lambda value, case: value == int(value)),
    ],
    hints=[
        "Count each layer on its own. How many numbers does its matrix hold, and how many its "
        "bias?",
        "A linear layer from a to b features has a * b weights, and one bias for each feature "
        "that comes out: b.",
        "`d_model * d_ff + d_ff` in the first layer, `d_ff * d_model + d_model` in the second.",
    ],
)
def feed_forward_parameters(d_model: int, d_ff: int) -> int:
    """Return how many numbers the two layers hold, biases included."""
    expand = d_model * d_ff + d_ff
    contract = d_ff * d_model + d_model
    return expand + contract


@feed_forward_parameters.mistake(
    "the biases are missing",
    observed="At 512 and 2048 you count 2 097 152 instead of 2 099 712.",
    change="Each layer has one bias for each feature that comes out: d_ff and d_model.",
)
class _NoBiasesCounted(_ParameterSteps):
    def biases(self, d_model: int, d_ff: int) -> int:
        return 0


@feed_forward_parameters.mistake(
    "the second layer's bias is missing",
    observed="You count d_model too few.",
    change="The second layer has d_model biases as well.",
)
class _FirstBiasOnly(_ParameterSteps):
    def biases(self, d_model: int, d_ff: int) -> int:
        return d_ff


@feed_forward_parameters.mistake(
    "the first layer's bias is missing",
    observed="You count d_ff too few.",
    change="The first layer has d_ff biases as well.",
)
class _SecondBiasOnly(_ParameterSteps):
    def biases(self, d_model: int, d_ff: int) -> int:
        return d_model


@feed_forward_parameters.mistake(
    "both biases have d_ff numbers",
    observed="At 512 and 2048 you count 2 101 248 instead of 2 099 712.",
    change="A bias has as many numbers as features come out of the layer: d_model for the second.",
)
class _WideBiases(_ParameterSteps):
    def biases(self, d_model: int, d_ff: int) -> int:
        return 2 * d_ff


@feed_forward_parameters.mistake(
    "both biases have d_model numbers",
    observed="At 512 and 2048 you count 2 098 176 instead of 2 099 712.",
    change="A bias has as many numbers as features come out of the layer: d_ff for the first.",
)
class _NarrowBiases(_ParameterSteps):
    def biases(self, d_model: int, d_ff: int) -> int:
        return 2 * d_model


@feed_forward_parameters.mistake(
    "there is one bias in each layer",
    observed="You count 2 biases; each layer has one for every feature that comes out.",
    change="Add d_ff and d_model, not 1 and 1.",
)
class _TwoBiases(_ParameterSteps):
    def biases(self, d_model: int, d_ff: int) -> int:
        return 2


@feed_forward_parameters.mistake(
    "the weights of one layer are missing",
    observed="At 512 and 2048 you count about one million instead of two.",
    change="Both layers have d_model * d_ff weights: one to expand, one to contract.",
)
class _OneLayer(_ParameterSteps):
    def weights(self, d_model: int, d_ff: int) -> int:
        return d_model * d_ff


@feed_forward_parameters.mistake(
    "only the first layer is counted",
    observed="At 512 and 2048 you count 1 050 624 instead of 2 099 712.",
    change="Add the layer that contracts: d_ff * d_model weights and d_model biases.",
)
class _ExpandOnly(_ParameterSteps):
    def __call__(self, d_model: int, d_ff: int) -> int:
        return d_model * d_ff + d_ff


@feed_forward_parameters.mistake(
    "the width in between is always 4 * d_model",
    observed="Your count does not depend on `d_ff`.",
    change="Use `d_ff`; four times d_model is what the paper chose for it.",
)
class _AlwaysFourTimes(_ParameterSteps):
    def __call__(self, d_model: int, d_ff: int) -> int:
        return super().__call__(d_model, 4 * d_model)


@feed_forward_parameters.mistake(
    "each layer's matrix is square",
    observed="You count d_model * d_model weights in one layer and d_ff * d_ff in the other.",
    change="Each matrix leads from one width to the other: d_model * d_ff numbers.",
)
class _Squares(_ParameterSteps):
    def weights(self, d_model: int, d_ff: int) -> int:
        return d_model * d_model + d_ff * d_ff


@feed_forward_parameters.mistake(
    "the widths are added instead of multiplied",
    observed="At 512 and 2048 you count a few thousand weights; there are two million.",
    change="A matrix that leads from d_model to d_ff features holds d_model * d_ff numbers.",
)
class _Added(_ParameterSteps):
    def weights(self, d_model: int, d_ff: int) -> int:
        return 2 * (d_model + d_ff)


@feed_forward_parameters.mistake(
    "bytes are counted",
    observed="Your count is 4 times too large: a number in float32 takes 4 bytes.",
    change="Return how many numbers there are.",
)
class _Bytes(_ParameterSteps):
    def unit(self) -> int:
        return 4
