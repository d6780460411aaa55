"""A test whether a layer acts on each position alone, and on all of them alike."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from transformer_course import model
from transformer_course.checker.cases import Case, vectors
from transformer_course.checker.exercise import exercise


class _Layer(nn.Module):
    """A layer to judge, whose name is what feedback shows.

    It computes in double precision, so that rounding shows in none but the layer made for that.
    """

    def __init__(self, name: str, apply: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.name = name
        self.compute = apply

    def forward(self, x: Tensor) -> Tensor:
        return self.compute(x.double()).to(x.dtype)

    def __repr__(self) -> str:
        return self.name


def _feed_forward(x: Tensor) -> Tensor:
    return F.linear(F.linear(x, vectors(8, 4).to(x)).relu(), vectors(4, 8).to(x))


def _convolution(x: Tensor, width: int) -> Tensor:
    weight = vectors(4, 4, width).to(x)
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
    return torch.einsum("bnd,nde->bne", x, vectors(5, 4, 4)[: x.shape[1]].to(x))


def _third_and_fourth_swapped(x: Tensor) -> Tensor:
    return torch.cat([x[:, :2], x[:, 2:4].flip(1), x[:, 4:]], dim=1)


def _last_averages(x: Tensor) -> Tensor:
    return torch.cat([x[:, :-1], x.mean(dim=1, keepdim=True)], dim=1)


def _first_averages(x: Tensor) -> Tensor:
    return torch.cat([x.mean(dim=1, keepdim=True), x[:, 1:]], dim=1)


def _rounded_by_position(x: Tensor) -> Tensor:
    scale = 1 + 0.7 * (torch.arange(x.shape[1]) > 0)[:, None]
    return x.float() * scale / scale


def _normalised_attention(x: Tensor) -> Tensor:
    return F.layer_norm(model.scaled_dot_product_attention(x, x, x)[0], (4,))


def _of_two_positions(x: Tensor) -> Tensor:
    if x.shape[1] > 2:
        raise ValueError(f"this layer accepts at most 2 positions, and gets {x.shape[1]}")
    return _feed_forward(x)


def _doubled(x: Tensor) -> Tensor:
    return 2 * x


def _leaves_alone(test: Callable, layer: Callable, x: Tensor) -> bool:
    """Observe whether a test leaves its argument as it was."""
    before = x.clone()
    test(layer, x)
    return torch.equal(x, before)


# In such an order that few of them tell one mistake from another.
_LAYERS = [
    _Layer("the feed-forward network", _feed_forward),
    _Layer("a convolution of width 1", lambda x: _convolution(x, 1)),
    _Layer("the mean over the positions so far", _running_mean),
    _Layer("a positional encoding added", lambda x: x + model.sinusoidal_encoding(x.shape[1], 4)),
    _Layer("self-attention", lambda x: model.scaled_dot_product_attention(x, x, x)[0]),
    _Layer("the first two positions swapped", _first_two_swapped),
    _Layer("each position plus the next", _with_next),
    _Layer("the third and fourth position swapped", _third_and_fourth_swapped),
    _Layer("other weights at each position", _weights_per_position),
    _Layer("the sign changed at the last position", _last_negated),
    _Layer("the positions in reverse", lambda x: x.flip(1)),
    _Layer("the same output whatever x holds", lambda x: 0 * x + 1),
    _Layer("a little of the mean added", lambda x: x + 0.05 * x.mean(dim=1, keepdim=True)),
    _Layer("the mean over all positions at the first one", _first_averages),
    _Layer("the mean over all positions at the last one", _last_averages),
    _Layer("self-attention with layer norm after it", _normalised_attention),
    _Layer("the mean over all positions subtracted", lambda x: x - x.mean(dim=1, keepdim=True)),
    _Layer("a convolution of width 3", lambda x: _convolution(x, 3)),
    _Layer("a linear layer to another width", lambda x: F.linear(x, vectors(3, 4).to(x))),
    _Layer("multiplied and divided again, with its rounding", _rounded_by_position),
    _Layer("each vector divided by its length", lambda x: F.normalize(x, dim=-1)),
]


@exercise(
    cases=[
        *(Case((layer, vectors(2, 5, 4))) for layer in _LAYERS),
        Case((_LAYERS[0], vectors(1, 3, 4))),
        Case((_Layer("a layer for at most 2 positions", _of_two_positions), vectors(3, 2, 4))),
        Case(
            (_doubled, vectors(2, 5, 4)),
            written="(the function lambda x: 2 * x, tensor of shape [2, 5, 4], float32)",
        ),
        Case(
            (_LAYERS[0], vectors(2, 5, 4)),
            observe=_leaves_alone,
            looks_at="whether `x` is left as it was",
        ),
    ],
    hints=[
        "There are two things to test. Does the output at a position depend on other positions? "
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


def _changed_itself(x: Tensor, position: int) -> Tensor:
    x[:, position] += 1
    return x


def _moves_itself(layer: Callable, x: Tensor, position: int) -> bool:
    return not torch.allclose(layer(_changed(x, position))[:, position], layer(x)[:, position])


def _how_many_move(layer: Callable, x: Tensor, position: int) -> int:
    """Count the positions whose output differs if this one's input is another."""
    moved = (layer(_changed(x, position)) - layer(x)).abs().sum(dim=(0, 2)) > 1e-5
    return int(moved.sum())


def _and_changes(x: Tensor, answer: bool) -> bool:
    x += 1
    return answer


def _gradient_elsewhere(layer: Callable, x: Tensor, position: int) -> Tensor:
    x = x.clone().requires_grad_()
    (gradient,) = torch.autograd.grad(layer(x)[:, position].sum(), x)
    return _elsewhere(gradient, position)


def _alike_where_equal(layer: Callable, x: Tensor) -> bool:
    """Tell whether equal vectors get equal outputs at all positions."""
    output = layer(x[:, :1].expand_as(x))
    return torch.allclose(output, output[:, :1].expand_as(output), atol=1e-5)


# Two other tests: change a position and look at the others; change the order and see it kept.
LOOKS_ELSEWHERE = [
    ("layer(x[:, [position]])", "_elsewhere(layer(_changed(x, position)), position)"),
    ("together[:, [position]]", "_elsewhere(together, position)"),
]


def in_order(order: str) -> list[tuple[str, str]]:
    """Return the edits that make of the answer a test of other orders."""
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
    edits=in_order("[*range(2, x.shape[1]), 0, 1]"),
    observed="Self-attention passes your test: if the words change places, so do its outputs. Yet "
    "each output depends on all positions.",
    change="Also change one position, and see whether the output changes elsewhere.",
)
acts_per_position.mistake(
    "whether all positions are treated alike is not tested",
    edits=LOOKS_ELSEWHERE,
    observed="A layer with other weights at each position passes your test: no position depends "
    "on another, but it is not the same function everywhere.",
    change="Also put the positions into another order: the outputs must follow. Or compare with "
    "what the layer gives for each position alone.",
)
acts_per_position.mistake(
    "no room is left for rounding",
    edits=[("torch.allclose(", "torch.equal("), (", atol=1e-5", "")],
    observed="A layer that multiplies each vector by a number and divides it by the same number "
    "again fails your test: its outputs differ in the last digit.",
    change="Compare with `torch.allclose(..., atol=1e-5)` instead of `==` or `torch.equal`.",
)
acts_per_position.mistake(
    "x itself is changed, not a copy",
    edits=[("return all(", "return _and_changes(x, all("), ("\n    )", "\n    ))")],
    observed="After your test `x` is not what it was. `changed = x` gives the same tensor a second "
    "name, so a change in one is a change in the other, and comparing them shows nothing.",
    change="Change a copy: `changed = x.clone()`.",
)
acts_per_position.mistake(
    "x itself is changed, not a copy, so that the changes add up",
    edits=[
        ("layer(x[:, [position]])", "_elsewhere(layer(_changed_itself(x, position)), position)"),
        ("together[:, [position]]", "_elsewhere(together, position)"),
    ],
    observed="After your test `x` is not what it was. From the second position on, the positions "
    "changed earlier are changed still, so even the feed-forward network fails.",
    change="Change a copy, a new one for each position: `changed = x.clone()`, not `changed = x`.",
)
acts_per_position.mistake(
    "outputs of different shapes are compared",
    edits=[("together[:, [position]]", "together[:, position]")],
    observed="A batch of one sentence is judged correctly, but with two or more only a layer that "
    "never changes its output passes: (batch, 1, width) beside (batch, width) is stretched, and "
    "each sentence meets every other one.",
    change="Take the position in the same way on both sides: `[:, [i]]` keeps the axis, `[:, i]` "
    "drops it.",
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
    change="Try every position, `for i in range(x.shape[1])`, and return True after the loop, not "
    "inside it.",
)
acts_per_position.mistake(
    "only the last position counts",
    edits=[("range(x.shape[1])", "[x.shape[1] - 1]")],
    observed="A layer that adds the next position to each passes your test: the last position "
    "has no next one.",
    change="Try every position, and let no later one overwrite what an earlier one has shown: "
    "return False as soon as one differs.",
)
acts_per_position.mistake(
    "the last position is left out",
    edits=[("range(x.shape[1])", "range(x.shape[1] - 1)")],
    observed="A layer that puts the mean over all positions at the last one passes your test.",
    change="Try every position: `range(n)` ends at n - 1 already.",
)
acts_per_position.mistake(
    "the first position is left out",
    edits=[("range(x.shape[1])", "range(1, x.shape[1])")],
    observed="A layer that puts the mean over all positions at the first one passes your test: you "
    "begin with position 1, and the first one is position 0.",
    change="Try every position: `for i in range(x.shape[1])`.",
)
acts_per_position.mistake(
    "sentences are counted, not positions",
    edits=[
        ("layer(x[:, [position]])", "layer(x[:, position : position + 1])"),
        ("together[:, [position]]", "together[:, position : position + 1]"),
        ("range(x.shape[1])", "range(x.shape[0])"),
    ],
    observed="`x` holds two sentences of five positions, and you try two positions: a layer that "
    "swaps the third and the fourth passes your test.",
    change="Axis 0 counts the sentences, axis 1 the positions: `range(x.shape[1])`, not `len(x)`.",
)
acts_per_position.mistake(
    "one position is enough to pass",
    edits=[("return all(", "return any(")],
    observed="The mean over the positions so far passes your test: it leaves the first position "
    "alone, and no other.",
    change="Every position has to agree: `all` instead of `any`, and return True after the loop.",
)
acts_per_position.mistake(
    "only prefixes are tried: later positions are cut off, earlier ones stay",
    edits=[
        ("x[:, [position]]", "x[:, : position + 1]"),
        ("together[:, [position]]", "together[:, : position + 1]"),
    ],
    observed="The mean over the positions so far passes your test, and so does a positional "
    "encoding: a prefix shows only whether later positions matter.",
    change="Give the layer each position alone: `layer(x[:, [i]])`.",
)
acts_per_position.mistake(
    "only the ends of the sentence are tried: earlier positions are cut off, later ones stay",
    edits=[
        ("x[:, [position]]", "x[:, position:]"),
        ("together[:, [position]]", "together[:, position:]"),
    ],
    observed="A layer that adds the next position to each passes your test: a rest of the sentence "
    "shows only whether earlier positions matter.",
    change="Give the layer each position alone: `layer(x[:, [i]])`.",
)
acts_per_position.mistake(
    "it is counted how many outputs change, not looked at which",
    edits=[
        (
            "torch.allclose(layer(x[:, [position]]), together[:, [position]], atol=1e-5)",
            "_how_many_move(layer, x, position) == 1",
        )
    ],
    observed="A layer that swaps the first two positions passes your test: one output changes for "
    "each input, but at another place.",
    change="Look at the other positions: their output must stay. Then also test that all positions "
    "are treated alike.",
)
acts_per_position.mistake(
    "True and False are swapped inside the loop: one position that agrees is enough to fail",
    edits=[("return all(", "return not any(")],
    observed="The feed-forward network fails your test and self-attention passes.",
    change="Return False where the two outputs differ, and True after the loop: `if not "
    "torch.allclose(...)`.",
)
acts_per_position.mistake(
    "differences with opposite signs cancel out",
    edits=[
        ("layer(x[:, [position]])", "layer(x[:, [position]]).mean(dim=-1)"),
        ("together[:, [position]]", "together[:, [position]].mean(dim=-1)"),
    ],
    observed="Self-attention with a layer norm after it passes your test: normalised numbers "
    "always sum to 0, so their mean never differs.",
    change="Compare all numbers: `torch.allclose`, or the largest absolute difference.",
)
acts_per_position.mistake(
    "the output is required to change at the changed position",
    edits=[
        (
            "atol=1e-5)\n",
            "atol=1e-5)\n        and _moves_itself(layer, x, position)\n",
        ),
    ],
    observed="A layer that gives the same output whatever `x` holds fails your test; it depends on "
    "no other position.",
    change="Only look at the other positions: their output must stay.",
)
acts_per_position.mistake(
    "the gradient of a plain sum decides",
    edits=[
        ("layer(x[:, [position]])", "_gradient_elsewhere(layer, x, position)"),
        ("together[:, [position]]", "torch.tensor(0.0)"),
    ],
    observed="Self-attention with a layer norm after it passes your test: normalised numbers "
    "always sum to 0, so their sum has no gradient. Nor does a gradient show whether all positions "
    "are treated alike.",
    change="Compare outputs, or weigh the numbers differently before you sum; and also test that "
    "all positions are treated alike.",
)
