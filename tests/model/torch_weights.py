"""The same weights in torch.nn's Transformer and in ours."""

from typing import TypeVar

import torch
from torch import nn

from transformer_course.model import (
    AddNorm,
    Decoder,
    DecoderLayer,
    Encoder,
    EncoderLayer,
    FeedForward,
    MultiHeadAttention,
    Transformer,
    TransformerConfig,
)

Layer = TypeVar("Layer", nn.TransformerEncoderLayer, nn.TransformerDecoderLayer)


@torch.no_grad()
def _copy(ours: nn.Module, **tensors: torch.Tensor) -> None:
    for name, tensor in tensors.items():
        getattr(ours, name).copy_(tensor)


def load_attention(ours: MultiHeadAttention, theirs: nn.MultiheadAttention) -> None:
    """Torch keeps the three input projections in one matrix, one below the other."""
    projections = (ours.query_projection, ours.key_projection, ours.value_projection)
    weights, biases = theirs.in_proj_weight.chunk(3), theirs.in_proj_bias.chunk(3)
    for projection, weight, bias in zip(projections, weights, biases, strict=True):
        _copy(projection, weight=weight, bias=bias)
    _load_linear(ours.output_projection, theirs.out_proj)


def _load_linear(ours: nn.Linear, theirs: nn.Linear) -> None:
    _copy(ours, weight=theirs.weight, bias=theirs.bias)


def _load_norm(ours: nn.Module, theirs: nn.LayerNorm | None) -> None:
    if theirs is None:
        assert isinstance(ours, nn.Identity)
    else:
        _copy(ours, gain=theirs.weight, bias=theirs.bias)


def _load_feed_forward(ours: FeedForward, theirs: Layer) -> None:
    _load_linear(ours.expand, theirs.linear1)
    _load_linear(ours.contract, theirs.linear2)


def _load_norms(ours: list[AddNorm], theirs: list[nn.LayerNorm]) -> None:
    for add_norm, norm in zip(ours, theirs, strict=True):
        _load_norm(add_norm.norm, norm)


def load_encoder_layer(ours: EncoderLayer, theirs: nn.TransformerEncoderLayer) -> None:
    load_attention(ours.self_attention, theirs.self_attn)
    _load_feed_forward(ours.feed_forward, theirs)
    _load_norms([ours.add_norm_attention, ours.add_norm_feed_forward], [theirs.norm1, theirs.norm2])


def load_decoder_layer(ours: DecoderLayer, theirs: nn.TransformerDecoderLayer) -> None:
    load_attention(ours.self_attention, theirs.self_attn)
    load_attention(ours.cross_attention, theirs.multihead_attn)
    _load_feed_forward(ours.feed_forward, theirs)
    _load_norms(
        [
            ours.add_norm_self_attention,
            ours.add_norm_cross_attention,
            ours.add_norm_feed_forward,
        ],
        [theirs.norm1, theirs.norm2, theirs.norm3],
    )


def _load_encoder(ours: Encoder, theirs: nn.TransformerEncoder) -> None:
    for our_layer, their_layer in zip(ours.layers, theirs.layers, strict=True):
        load_encoder_layer(our_layer, their_layer)
    _load_norm(ours.norm, theirs.norm)


def _load_decoder(ours: Decoder, theirs: nn.TransformerDecoder) -> None:
    for our_layer, their_layer in zip(ours.layers, theirs.layers, strict=True):
        load_decoder_layer(our_layer, their_layer)
    _load_norm(ours.norm, theirs.norm)


def load_transformer(ours: Transformer, theirs: nn.Transformer) -> None:
    """Load the stacks; torch's Transformer has no embeddings and no output layer."""
    _load_encoder(ours.encoder, theirs.encoder)
    _load_decoder(ours.decoder, theirs.decoder)


def torch_layer(layer_class: type[Layer], config: TransformerConfig) -> Layer:
    return layer_class(
        config.d_model,
        config.heads,
        config.d_ff,
        config.dropout,
        batch_first=True,
        norm_first=config.norm_first,
    )


def _torch_encoder(config: TransformerConfig) -> nn.TransformerEncoder:
    return nn.TransformerEncoder(
        torch_layer(nn.TransformerEncoderLayer, config),
        config.encoder_layers,
        _final_norm(config),
        enable_nested_tensor=False,
    )


def _torch_decoder(config: TransformerConfig) -> nn.TransformerDecoder:
    return nn.TransformerDecoder(
        torch_layer(nn.TransformerDecoderLayer, config),
        config.decoder_layers,
        _final_norm(config),
    )


def _final_norm(config: TransformerConfig) -> nn.LayerNorm | None:
    return nn.LayerNorm(config.d_model) if config.norm_first else None


def torch_transformer(config: TransformerConfig) -> nn.Transformer:
    """Build torch's Transformer of the same architecture.

    Left to itself, torch ends both stacks with a final norm, in post-norm too. The paper has none
    there, so the stacks are built here and handed over.
    """
    return nn.Transformer(
        config.d_model,
        config.heads,
        custom_encoder=_torch_encoder(config),
        custom_decoder=_torch_decoder(config),
        batch_first=True,
    )
