"""Norms, masks and observations that several exercises of the lesson are tried with."""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from transformer_course import model

DROPPED_ONCE = "the largest number added, where sub-layers return 1, 10 and 100 and half is dropped"
ALL_DROPPED = "the result in training mode, where dropout 1 leaves only `x` and the norms"


class Trained:
    """Give every norm its own gain and bias, so that a norm in the wrong place shows."""

    def __init__(self, *sizes: float) -> None:
        super().__init__(*sizes)
        with torch.no_grad():
            for module in self.modules():
                if isinstance(module, model.LayerNorm):
                    module.gain.uniform_(0.5, 2.0)
                    module.bias.normal_()


def gain_and_bias(d_model: int) -> tuple[Tensor, Tensor]:
    """Return a gain and a bias that differ from feature to feature, as after some training."""
    return torch.linspace(0.6, 1.8, d_model), torch.linspace(-0.5, 0.7, d_model)


def masks(source: int, target: int) -> tuple[Tensor, Tensor]:
    """Return masks for three sentences of such lengths, of which two are padded."""
    source_ids, target_ids = torch.ones(3, source), torch.ones(3, target)
    source_ids[0, 2:] = source_ids[2, -1] = target_ids[1, 2:] = 0
    return model.padding_mask(source_ids.long(), 0), model.target_mask(target_ids.long(), 0)


def source_mask(source: int) -> Tensor:
    """Return the source's mask alone."""
    return masks(source, source)[0]


def changed(before: Tensor, after: Tensor) -> Tensor:
    """Tell which positions differ, shape (batch, length)."""
    return ((after - before).abs() > 1e-4).any(dim=-1)


def what_padding_changes(layer: nn.Module, x: Tensor, source_mask: Tensor) -> Tensor:
    """Tell which positions differ when only the padding does, shape (batch, length)."""
    padding = ~source_mask[:, 0, 0, :, None]
    return changed(layer(x, source_mask), layer(x + padding * 3 * x.sin(), source_mask))


def _let_speak(layer: nn.Module, ends: dict[str, float]) -> None:
    """Let some sub-layers return a constant each, whatever they read."""
    for name, number in ends.items():
        if part := getattr(layer, name, None):
            end = part.contract if name == "feed_forward" else part.output_projection
            nn.init.zeros_(end.weight)
            nn.init.constant_(end.bias, number)


def only(name: str) -> Callable:
    """Observe a layer in which all sub-layers but one return zeros."""

    def result(layer: nn.Module, *inputs: Tensor) -> Tensor:
        others = {"self_attention", "feed_forward", "cross_attention"} - {name}
        _let_speak(layer, dict.fromkeys(sorted(others), 0.0))
        return layer(*inputs)

    return result


def largest_addition(layer: nn.Module, x: Tensor, *others: Tensor) -> Tensor:
    """Return the largest number that a pre-norm layer adds, where sub-layers return constants.

    With dropout 0.5 it tells how often each of them is dropped, whatever the order of the draws.
    Wrong layers draw the same numbers each time, so that their dropout is not called random. It
    comes as often as x has numbers: feedback shows the smallest wrong result, and others tell more.
    """
    torch.default_generator.manual_seed(0)
    _let_speak(layer, {"self_attention": 1.0, "feed_forward": 10.0, "cross_attention": 100.0})
    return torch.full_like(x, (layer(x, *others) - x).max().item())
