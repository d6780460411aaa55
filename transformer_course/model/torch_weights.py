"""Lesson 6: the same model in torch.nn, and its weights in ours.

Two implementations that were written separately and give the same numbers are unlikely to be wrong
in the same way.
"""

from collections.abc import Iterable, Iterator
from typing import TypeVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from transformer_course.model.transformer import TransformerConfig

T = TypeVar("T")
Layer = TypeVar("Layer", nn.TransformerEncoderLayer, nn.TransformerDecoderLayer)

FEED_FORWARD = {"feed_forward.expand": "linear1", "feed_forward.contract": "linear2"}
STACK = {"layers": "layers", "norm": "norm"}
NAMES: dict[type[nn.Module], dict[str, str]] = {
    nn.Transformer: {"encoder": "encoder", "decoder": "decoder"},
    nn.TransformerEncoder: STACK,
    nn.TransformerDecoder: STACK,
    nn.TransformerEncoderLayer: FEED_FORWARD
    | {
        "self_attention": "self_attn",
        "add_norm_attention.norm": "norm1",
        "add_norm_feed_forward.norm": "norm2",
    },
    nn.TransformerDecoderLayer: FEED_FORWARD
    | {
        "self_attention": "self_attn",
        "cross_attention": "multihead_attn",
        "add_norm_self_attention.norm": "norm1",
        "add_norm_cross_attention.norm": "norm2",
        "add_norm_feed_forward.norm": "norm3",
    },
}
"""What torch calls the parts of its modules, by our names for them."""
ALIKE = "build theirs with torch_transformer, from the config of ours."


@torch.no_grad()
def load_torch_weights(ours: nn.Module, theirs: nn.Module) -> None:
    """Copy the weights of a module of torch.nn into ours, part by part.

    Torch's Transformer has no embeddings, no positions and no output layer: ours keep their own.

    Raises
    ------
    ValueError
        If they are not built alike; ours is then as it was.
    """
    try:
        pairs = [*_pairs(ours, theirs)]
    except AttributeError as error:
        raise ValueError(f"the two have other parts ({error}); {ALIKE}") from None
    for our_numbers, their_numbers in pairs:
        if our_numbers.shape != their_numbers.shape:
            raise ValueError(
                f"weights of shape {tuple(their_numbers.shape)} do not fit into ours of "
                f"{tuple(our_numbers.shape)}; {ALIKE}"
            )
    for our_numbers, their_numbers in pairs:
        our_numbers.copy_(their_numbers)


def _pairs(ours: nn.Module, theirs: nn.Module) -> Iterator[tuple[Tensor, Tensor]]:
    """Yield each of our tensors with torch's."""
    _check_choices(ours, theirs)
    if type(theirs) in NAMES:
        for our_name, their_name in NAMES[type(theirs)].items():
            # Torch's stacks end without a norm where theirs is None.
            part = getattr(theirs, their_name) or nn.Identity()
            yield from _pairs(ours.get_submodule(our_name), part)
    elif isinstance(theirs, nn.ModuleList):
        for our_layer, their_layer in _side_by_side(ours, theirs, "layers"):
            yield from _pairs(our_layer, their_layer)
    elif isinstance(theirs, nn.MultiheadAttention):
        # Torch keeps the three input projections in one matrix, one below the other.
        weights, biases = theirs.in_proj_weight.chunk(3), theirs.in_proj_bias.chunk(3)
        projections = (ours.query_projection, ours.key_projection, ours.value_projection)
        for projection, weight, bias in zip(projections, weights, biases, strict=True):
            yield projection.weight, weight
            yield projection.bias, bias
        yield from _pairs(ours.output_projection, theirs.out_proj)
    else:
        # A linear layer holds weight and bias, a layer norm gain and bias, in this order.
        what = f"tensors in {type(theirs).__name__}"
        yield from _side_by_side(ours.parameters(), theirs.parameters(), what)


def _check_choices(ours: nn.Module, theirs: nn.Module) -> None:
    """Refuse a module that computes something else: its weights have the same shapes."""
    for name, of_torch, of_ours in _choices(ours, theirs):
        if of_torch != of_ours:
            raise ValueError(f"{name} is {of_torch} in torch, {of_ours} in ours; {ALIKE}")


def _choices(ours: nn.Module, theirs: nn.Module) -> Iterator[tuple[str, object, object]]:
    """Yield the name of each choice that no weight shows, what it is in torch, and in ours."""
    if isinstance(theirs, nn.TransformerEncoderLayer | nn.TransformerDecoderLayer):
        yield "norm_first", theirs.norm_first, ours.add_norm_feed_forward.norm_first
        relu = theirs.activation is F.relu or isinstance(theirs.activation, nn.ReLU)
        yield "ReLU as the activation", relu, True
    elif isinstance(theirs, nn.MultiheadAttention):
        yield "heads", theirs.num_heads, ours.heads
        yield "add_bias_kv", theirs.bias_k is not None, False
        yield "add_zero_attn", theirs.add_zero_attn, False
    elif isinstance(theirs, nn.LayerNorm):
        yield "eps", theirs.eps, getattr(ours, "eps", theirs.eps)


def _side_by_side(ours: Iterable[T], theirs: Iterable[T], what: str) -> Iterator[tuple[T, T]]:
    ours, theirs = [*ours], [*theirs]
    if len(ours) != len(theirs):
        raise ValueError(f"torch has {len(theirs)} {what}, ours {len(ours)}; {ALIKE}")
    return zip(ours, theirs, strict=True)


def torch_layer(layer_class: type[Layer], config: TransformerConfig) -> Layer:
    """Build an encoder or decoder layer of torch.nn with the sizes of a config."""
    return layer_class(
        config.d_model,
        config.heads,
        config.d_ff,
        config.dropout,
        batch_first=True,
        norm_first=config.norm_first,
    )


def torch_transformer(config: TransformerConfig) -> nn.Transformer:
    """Build torch's Transformer with the sizes of a config.

    Left to itself, torch ends both stacks with a final norm, in post-norm too. The paper has none
    there, so the stacks are built here and handed over.
    """

    def final_norm() -> nn.Module:
        return nn.LayerNorm(config.d_model) if config.norm_first else nn.Identity()

    encoder = nn.TransformerEncoder(
        torch_layer(nn.TransformerEncoderLayer, config),
        config.encoder_layers,
        final_norm(),
        enable_nested_tensor=False,  # which would cut off columns of padding
    )
    decoder = nn.TransformerDecoder(
        torch_layer(nn.TransformerDecoderLayer, config), config.decoder_layers, final_norm()
    )
    return nn.Transformer(
        config.d_model,
        config.heads,
        custom_encoder=encoder,
        custom_decoder=decoder,
        batch_first=True,
    )
