"""A test whether a layer acts on each position alone, and on all of them alike."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from transformer_course import model
from transformer_course.checker.cases import Case, vectors
from transformer_course.checker.exercise import exercise


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


@exercise(
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
    together = layer(x)
    return all(
        torch.allclose(layer(x[:, [position]]), together[:, [position]], atol=1e-5)
        for position in range(x.shape[1])
    )


def _changed(x: Tensor, position: int) -> Tensor:
    return torch.cat([x[:, :position], x[:, [position]] + 1, x[:, position + 1 :]], dim=1)


def _elsewhere(x: Tensor, position: int) -> Tensor:
    return torch.cat([x[:, :position], x[:, position + 1 :]], dim=1)


# Two other tests: change a position and look at the others; change the order and see it kept.
_LOOKS_ELSEWHERE = [
    ("layer(x[:, [position]])", "_elsewhere(layer(_changed(x, position)), position)"),
    ("together[:, [position]]", "_elsewhere(together, position)"),
]


def _in_order(order: str) -> list[tuple[str, str]]:
    return [
        ("layer(x[:, [position]])", "layer(x[:, order])"),
        ("together[:, [position]]", "together[:, order]"),
        ("for position in range(x.shape[1])", f"for order in [{order}]"),
    ]


acts_per_position.mistake(
    "only the shapes are compared",
    edits=[
        (
            "torch.allclose(layer(x[:, [position]]), together[:, [position]], atol=1e-5)",
            "together.shape == x.shape",
        )
    ],
    observed="Self-attention passes your test, since it keeps the shape; a linear layer to another "
    "width fails it, though it acts on each position alone.",
    change="Compare numbers: `torch.allclose` of two outputs.",
)
acts_per_position.mistake(
    "whether other positions matter is not tested",
    edits=_in_order("[*range(2, x.shape[1]), 0, 1]"),
    observed="Self-attention passes your test: if the words change places, so do its outputs. Yet "
    "each output depends on all positions.",
    change="Also change one position, and see whether the output changes elsewhere.",
)
acts_per_position.mistake(
    "whether all positions are treated alike is not tested",
    edits=_LOOKS_ELSEWHERE,
    observed="A layer with other weights at each position passes your test: no position depends "
    "on another, but it is not the same function everywhere.",
    change="Also put the positions into another order: the outputs must follow. Or compare with "
    "what the layer gives for each position alone.",
)
acts_per_position.mistake(
    "the output at the changed position is compared too",
    edits=[
        ("layer(x[:, [position]])", "layer(_changed(x, position))"),
        ("together[:, [position]]", "together"),
    ],
    observed="Of all layers only the one that never changes its output passes your test, and the "
    "feed-forward network fails: you want nothing to change at all.",
    change="Leave out the changed position: compare the others. Start from `x.clone()` for each "
    "position; `x[:, i]` is a position, `x[i]` a whole sentence.",
)
acts_per_position.mistake(
    "it is only tested that the output changes",
    edits=[
        ("torch.allclose", "not torch.allclose"),
        ("layer(x[:, [position]])", "layer(x + 1)"),
        ("together[:, [position]]", "together"),
    ],
    observed="Self-attention passes your test, and a layer that always gives the same output "
    "fails it.",
    change="Ask what does not change: the output at the other positions.",
)
acts_per_position.mistake(
    "only the output at the changed position is looked at",
    edits=[
        ("torch.allclose", "not torch.allclose"),
        ("layer(x[:, [position]])", "layer(_changed(x, position))[:, [position]]"),
    ],
    observed="Self-attention passes your test: its output at the changed position changes, as it "
    "should, and that it changes everywhere else too goes unseen.",
    change="Look at the other positions: their output must stay.",
)
acts_per_position.mistake(
    "every layer passes",
    edits=[("layer(x[:, [position]])", "together[:, [position]]")],
    observed="Your test cannot fail: even self-attention passes.",
    change="Compare positions, axis 1, not sentences, axis 0; use more than one position; and "
    "change a copy, `x.clone()`, or you compare x with itself.",
)
acts_per_position.mistake(
    "no layer passes",
    edits=[("torch.allclose(", "torch.equal("), ("together[:, [position]], atol=1e-5", "together")],
    observed="Even the feed-forward network fails your test.",
    change="Compare two outputs, not the output with x; and allow for rounding: "
    "`torch.allclose(..., atol=1e-5)` instead of `==`.",
)
acts_per_position.mistake(
    "True and False are swapped",
    edits=[("return all(", "return not all(")],
    observed="The feed-forward network fails your test and self-attention passes.",
    change="Return True if the layer does treat each position by itself, and all alike.",
)
acts_per_position.mistake(
    "only the first position is tried alone",
    edits=[("range(x.shape[1])", "range(1)")],
    observed="The mean over the positions so far passes your test: the first position sees only "
    "itself, the others do not.",
    change="Try every position: `for i in range(x.shape[1])`.",
)
acts_per_position.mistake(
    "only the last position is tried alone",
    edits=[("range(x.shape[1])", "[x.shape[1] - 1]")],
    observed="A layer that adds the next position to each passes your test: the last position "
    "has no next one.",
    change="Try every position: `for i in range(x.shape[1])`.",
)
acts_per_position.mistake(
    "only the first position is changed",
    edits=[*_LOOKS_ELSEWHERE, ("range(x.shape[1])", "range(1)")],
    observed="A layer that adds the next position to each passes your test, because none has the "
    "first one as its next; so does one with other weights at each position.",
    change="Change every position in turn. Then test, too, that all positions are treated alike.",
)
acts_per_position.mistake(
    "only the last position is changed",
    edits=[*_LOOKS_ELSEWHERE, ("range(x.shape[1])", "[x.shape[1] - 1]")],
    observed="The mean over the positions so far passes your test, because only the last output "
    "sees the last position; so does a layer with other weights at each position.",
    change="Change every position in turn. Then test, too, that all positions are treated alike.",
)
acts_per_position.mistake(
    "only two positions change places",
    edits=_in_order("[1, 0, *range(2, x.shape[1])]"),
    observed="A layer that swaps the first two positions passes your test, and so does one that "
    "treats the last position in another way; self-attention does as well.",
    change="Let every position take part. Then test, too, whether other positions matter.",
)
acts_per_position.mistake(
    "only two positions are compared with each other",
    edits=[
        *_LOOKS_ELSEWHERE,
        (
            "atol=1e-5)\n",
            "atol=1e-5)\n        and torch.allclose("
            "layer(_first_two_swapped(x)), _first_two_swapped(together), atol=1e-5)\n",
        ),
    ],
    observed="A layer that changes the sign at the last position passes your test: it treats the "
    "first two alike.",
    change="Let every position change its place, or compare each with what the layer gives for it "
    "alone.",
)
acts_per_position.mistake(
    "the only other order is the reverse",
    edits=_in_order("[*reversed(range(x.shape[1]))]"),
    observed="A layer that reverses the positions passes your test; so does self-attention.",
    change="Use an order that is not its own reverse, such as `torch.randperm`. Then test, too, "
    "whether other positions matter.",
)
acts_per_position.mistake(
    "all positions hold the same vector",
    edits=[
        ("together = layer(x)", "together = layer(x[:, :1].expand_as(x))"),
        ("layer(x[:, [position]])", "together[:, [0]]"),
    ],
    observed="Self-attention passes your test: where all vectors are equal, a mean of them is the "
    "vector itself, and mixing cannot show.",
    change="Use vectors that differ, and see whether the output at a position changes with the "
    "others.",
)
acts_per_position.mistake(
    "the tolerance is too wide",
    edits=[("1e-5", "0.1")],
    observed="A layer that adds a little of the mean to each position passes your test.",
    change="Allow for rounding only: `atol=1e-5`.",
)
