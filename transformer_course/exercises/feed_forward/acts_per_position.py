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


def _alike_from_both_ends(x: Tensor) -> Tensor:
    return x + (torch.arange(x.shape[1]) - (x.shape[1] - 1) / 2).abs()[:, None]


def _inner_averages(x: Tensor) -> Tensor:
    inner = x[:, 1:-1].mean(dim=1, keepdim=True).expand(-1, max(0, x.shape[1] - 2), -1)
    return torch.cat([x[:, :1], inner, x[:, 1:][:, -1:]], dim=1)


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
    _Layer("an encoding added that is alike from both ends", _alike_from_both_ends),
    _Layer("the mean over the inner positions at each of them", _inner_averages),
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


# What mistakes in acts_per_position.toml are made with.


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
