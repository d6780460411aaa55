"""What the course's model is compared with: other implementations of the same Transformer.

All are post-norm, as in the paper, because Marian knows no other; all tie the three tables; all
get the weights of ours, so that a test can say that they compute the same. In evaluation mode they
do. In training mode dropout differs: torch.nn.Transformer and the textbook version also drop
attention weights and elements between the two layers of the feed-forward network, which the
paper does not; Marian, with its own defaults, does not either.
"""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from transformer_course.model import (
    Embeddings,
    SinusoidalPositionalEncoding,
    Transformer,
    TransformerConfig,
    causal_mask,
    merge_heads,
    padding_mask,
    sinusoidal_encoding,
    split_heads,
    target_mask,
)
from transformer_course.model.torch_weights import torch_transformer
from transformer_course.pretrained.names import marian_name

if TYPE_CHECKING:
    import ctranslate2
    import transformers

SIZES = {
    "small": TransformerConfig(
        source_vocab=8000,
        target_vocab=8000,
        d_model=256,
        heads=8,
        encoder_layers=3,
        decoder_layers=3,
        d_ff=1024,
        max_len=512,
    ),
    "base": TransformerConfig(max_len=512),
}
"""A model for a laptop, and the paper's base model (table 3) with its 37,000 tokens."""


# The textbook version


class TextbookAttention(nn.Module):
    """Multi-head attention as most tutorials write it, with every score and weight stored."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.heads = config.heads
        self.query_projection = nn.Linear(config.d_model, config.d_model)
        self.key_projection = nn.Linear(config.d_model, config.d_model)
        self.value_projection = nn.Linear(config.d_model, config.d_model)
        self.output_projection = nn.Linear(config.d_model, config.d_model)
        self.dropout = nn.Dropout(config.dropout)

    def forward(
        self,
        query: Float[Tensor, "batch query d_model"],
        memory: Float[Tensor, "batch key d_model"],
        mask: Bool[Tensor, "..."],
    ) -> Float[Tensor, "batch query d_model"]:
        """Project, score, softmax, blend, project."""
        q = split_heads(self.query_projection(query), self.heads)
        k = split_heads(self.key_projection(memory), self.heads)
        v = split_heads(self.value_projection(memory), self.heads)
        scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
        weights = self.dropout(scores.masked_fill(~mask, -1e9).softmax(dim=-1))
        return self.output_projection(merge_heads(weights @ v))


class TextbookFeedForward(nn.Module):
    """Expand, ReLU, dropout, contract."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.expand = nn.Linear(config.d_model, config.d_ff)
        self.contract = nn.Linear(config.d_ff, config.d_model)
        self.dropout = nn.Dropout(config.dropout)

    def forward(
        self, x: Float[Tensor, "batch length d_model"]
    ) -> Float[Tensor, "batch length d_model"]:
        """Apply the same two layers at every position."""
        return self.contract(self.dropout(self.expand(x).relu()))


class TextbookAddNorm(nn.Module):
    """Residual connection, then norm."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(config.d_model)
        self.dropout = nn.Dropout(config.dropout)

    def forward(
        self,
        x: Float[Tensor, "batch length d_model"],
        update: Float[Tensor, "batch length d_model"],
    ) -> Float[Tensor, "batch length d_model"]:
        """Add what the sub-layer made, and normalise."""
        return self.norm(x + self.dropout(update))


class TextbookEncoderLayer(nn.Module):
    """Self-attention and feed-forward."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.self_attention = TextbookAttention(config)
        self.feed_forward = TextbookFeedForward(config)
        self.add_norm_attention = TextbookAddNorm(config)
        self.add_norm_feed_forward = TextbookAddNorm(config)

    def forward(
        self, x: Float[Tensor, "batch source d_model"], mask: Bool[Tensor, "..."]
    ) -> Float[Tensor, "batch source d_model"]:
        """Look at the source, then work on each position alone."""
        x = self.add_norm_attention(x, self.self_attention(x, x, mask))
        return self.add_norm_feed_forward(x, self.feed_forward(x))


class TextbookDecoderLayer(nn.Module):
    """Self-attention, cross-attention and feed-forward."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.self_attention = TextbookAttention(config)
        self.cross_attention = TextbookAttention(config)
        self.feed_forward = TextbookFeedForward(config)
        self.add_norm_self_attention = TextbookAddNorm(config)
        self.add_norm_cross_attention = TextbookAddNorm(config)
        self.add_norm_feed_forward = TextbookAddNorm(config)

    def forward(
        self,
        x: Float[Tensor, "batch target d_model"],
        memory: Float[Tensor, "batch source d_model"],
        source_mask: Bool[Tensor, "..."],
        own_mask: Bool[Tensor, "..."],
    ) -> Float[Tensor, "batch target d_model"]:
        """Look at the target so far, then at the source, then work on each position alone."""
        x = self.add_norm_self_attention(x, self.self_attention(x, x, own_mask))
        x = self.add_norm_cross_attention(x, self.cross_attention(x, memory, source_mask))
        return self.add_norm_feed_forward(x, self.feed_forward(x))


class Ends(nn.Module):
    """What is the same in all peers of torch: embeddings and positions, and the tied output.

    Parameters
    ----------
    model
        Whose embeddings to copy.
    """

    def __init__(self, model: Transformer) -> None:
        super().__init__()
        config = self.config = model.config
        self.embeddings = Embeddings(config.target_vocab, config.d_model, config.pad_id)
        self.embeddings.load_state_dict(model.target_embeddings.state_dict())
        self.positions = SinusoidalPositionalEncoding(
            config.d_model, config.max_len, config.dropout
        )

    def embed(self, ids: Int[Tensor, "batch length"]) -> Float[Tensor, "batch length d_model"]:
        """Return the vectors that enter the first layer."""
        return self.positions(self.embeddings(ids))

    def score(
        self, hidden: Float[Tensor, "batch length d_model"]
    ) -> Float[Tensor, "batch length vocab"]:
        """Return the logits."""
        return F.linear(hidden, self.embeddings.table.weight)


class TextbookTransformer(Ends):
    """The Transformer as most tutorials write it, with the weights of ours.

    Parameters
    ----------
    model
        Whose sizes and weights to copy.

    Raises
    ------
    ValueError
        If ``model`` is not post-norm, sinusoidal and tied three ways.
    """

    def __init__(self, model: Transformer) -> None:
        super().__init__(model)
        check_original(model.config)
        encoder = [TextbookEncoderLayer(model.config) for _ in range(model.config.encoder_layers)]
        decoder = [TextbookDecoderLayer(model.config) for _ in range(model.config.decoder_layers)]
        self.encoder, self.decoder = nn.ModuleList(encoder), nn.ModuleList(decoder)
        for mine, theirs in ((self.encoder, model.encoder), (self.decoder, model.decoder)):
            weights = theirs.layers.state_dict()
            mine.load_state_dict({rename(name, TEXTBOOK): t for name, t in weights.items()})

    def forward(
        self, source: Int[Tensor, "batch source"], target: Int[Tensor, "batch target"]
    ) -> Float[Tensor, "batch target vocab"]:
        """Return the logits after each prefix of the target."""
        pad = self.config.pad_id
        source_mask, own_mask = padding_mask(source, pad), target_mask(target, pad)
        memory, x = self.embed(source), self.embed(target)
        for layer in self.encoder:
            memory = layer(memory, source_mask)
        for layer in self.decoder:
            x = layer(x, memory, source_mask, own_mask)
        return self.score(x)


def textbook_loss(
    logits: Float[Tensor, "tokens vocab"],
    targets: Int[Tensor, "tokens"],
    smoothing: float,
    pad: int,
) -> Float[Tensor, ""]:
    """Write out the smoothed target of every token and take the KL divergence from it.

    It lies below the smoothed cross-entropy by the entropy of the smoothed target, a constant, so
    the gradients are the same.
    """
    log_probabilities = logits.log_softmax(dim=-1)
    truth = torch.full_like(log_probabilities, smoothing / logits.shape[-1])
    truth.scatter_add_(1, targets[:, None], torch.full_like(truth[:, :1], 1 - smoothing))
    truth[targets == pad] = 0.0
    return F.kl_div(log_probabilities, truth, reduction="sum") / (targets != pad).sum()


# torch.nn.Transformer


class TorchTransformer(Ends):
    """``torch.nn.Transformer`` between the course's embeddings and a tied output.

    Parameters
    ----------
    model
        Whose sizes and weights to copy.
    paper_dropout
        Drop only where the paper does: not inside attention and feed-forward network.

    Raises
    ------
    ValueError
        If ``model`` is not post-norm, sinusoidal and tied three ways.
    """

    def __init__(self, model: Transformer, paper_dropout: bool = False) -> None:
        super().__init__(model)
        check_original(model.config)
        self.transformer = torch_transformer(model.config)
        encoder, decoder = self.transformer.encoder, self.transformer.decoder
        encoder.load_state_dict(packed(model.encoder.state_dict(), TORCH_ENCODER))
        decoder.load_state_dict(packed(model.decoder.state_dict(), TORCH_DECODER))
        if paper_dropout:
            _drop_as_the_paper_does(self.transformer)

    def forward(
        self, source: Int[Tensor, "batch source"], target: Int[Tensor, "batch target"]
    ) -> Float[Tensor, "batch target vocab"]:
        """Return the logits after each prefix of the target."""
        padded = source == self.config.pad_id
        hidden = self.transformer(
            self.embed(source),
            self.embed(target),
            tgt_mask=~causal_mask(target.shape[1], target.device),  # torch's True hides
            src_key_padding_mask=padded,
            tgt_key_padding_mask=target == self.config.pad_id,
            memory_key_padding_mask=padded,
            tgt_is_causal=True,
        )
        return self.score(hidden)


def _drop_as_the_paper_does(transformer: nn.Transformer) -> None:
    for module in transformer.modules():
        if isinstance(module, nn.MultiheadAttention):
            module.dropout = 0.0
        if isinstance(module, nn.TransformerEncoderLayer | nn.TransformerDecoderLayer):
            module.dropout = nn.Identity()  # the one inside the feed-forward network


# Hugging Face Marian


def marian(model: Transformer, start_id: int, eos_id: int) -> "transformers.MarianMTModel":
    """Build Hugging Face's Marian with the sizes and weights of ours, in evaluation mode.

    Parameters
    ----------
    model
        Whose sizes and weights to copy.
    start_id, eos_id
        Tokens that a translation begins behind and ends with.

    Raises
    ------
    ValueError
        If ``model`` is not post-norm, sinusoidal and tied three ways.
    """
    import transformers

    check_original(model.config)
    theirs = transformers.MarianMTModel(_marian_config(model.config, start_id, eos_id))
    weights = {marian_name(name): weight for name, weight in model.named_parameters()}
    unknown = theirs.load_state_dict(weights, strict=False).unexpected_keys
    if unknown:
        raise RuntimeError(f"this version of transformers names its weights otherwise: {unknown}.")
    with torch.no_grad():
        for stack in (theirs.model.encoder, theirs.model.decoder):
            # Marian's own table holds all sines first, then all cosines; ours alternates.
            table = stack.embed_positions.weight
            table.copy_(sinusoidal_encoding(*table.shape))
    return theirs.eval()


def _marian_config(
    config: TransformerConfig, start_id: int, eos_id: int
) -> "transformers.MarianConfig":
    import transformers

    return transformers.MarianConfig(
        vocab_size=config.target_vocab,
        max_position_embeddings=config.max_len,
        d_model=config.d_model,
        encoder_layers=config.encoder_layers,
        decoder_layers=config.decoder_layers,
        encoder_attention_heads=config.heads,
        decoder_attention_heads=config.heads,
        encoder_ffn_dim=config.d_ff,
        decoder_ffn_dim=config.d_ff,
        dropout=config.dropout,
        activation_function="relu",
        scale_embedding=True,
        pad_token_id=config.pad_id,
        eos_token_id=eos_id,
        decoder_start_token_id=start_id,
        forced_eos_token_id=None,
    )


# CTranslate2


def ctranslate2_model(
    theirs: "transformers.MarianMTModel", folder: Path, threads: int
) -> "ctranslate2.Translator":
    """Convert a Marian model and load it, in 32 bits.

    The converter drops the last row of the embeddings, which it takes for padding, and begins a
    translation with a zero vector: the start token's row must be zero.

    Parameters
    ----------
    theirs
        As from :func:`marian`, with the padding token last.
    folder
        A new folder, for the converted model.
    threads
        Processor threads.
    """
    import ctranslate2
    from ctranslate2.converters.transformers import MarianMTLoader, TransformersConverter

    config = theirs.config
    if config.pad_token_id != config.vocab_size - 1:
        raise ValueError(f"the padding token must be the last; got {config.pad_token_id}.")
    if theirs.model.shared.weight[config.decoder_start_token_id].any():
        raise ValueError("the start token's embedding must be zero, as CTranslate2's is.")
    names = token_names(config.vocab_size)
    tokenizer = SimpleNamespace(
        eos_token=names[config.eos_token_id],
        unk_token=names[config.decoder_start_token_id],  # any will do: all tokens are known
        get_vocab=lambda: {name: number for number, name in enumerate(names)},
    )

    class Converter(TransformersConverter):
        def _load(self) -> object:
            with torch.no_grad():
                return MarianMTLoader()(theirs, tokenizer)

    Converter("").convert(str(folder), quantization="float32")
    return ctranslate2.Translator(
        str(folder), device="cpu", compute_type="float32", inter_threads=1, intra_threads=threads
    )


def token_names(vocab: int) -> list[str]:
    """Give each id a name, for CTranslate2, which is spoken to in words."""
    return [*(f"w{number}" for number in range(vocab - 1)), "<pad>"]


# Names of weights, ours and theirs

Names = Sequence[tuple[str, str]]

TEXTBOOK: Names = (("norm.gain", "norm.weight"),)
TORCH: Names = (
    ("query_projection.", "in_proj_"),
    ("key_projection.", "in_proj_"),
    ("value_projection.", "in_proj_"),
    ("output_projection", "out_proj"),
    ("feed_forward.expand", "linear1"),
    ("feed_forward.contract", "linear2"),
    ("add_norm_attention.norm", "norm1"),
    ("add_norm_self_attention.norm", "norm1"),
    ("add_norm_cross_attention.norm", "norm2"),
    ("self_attention", "self_attn"),
    ("cross_attention", "multihead_attn"),
    (".gain", ".weight"),
)
TORCH_ENCODER: Names = (("add_norm_feed_forward.norm", "norm2"), *TORCH)
TORCH_DECODER: Names = (("add_norm_feed_forward.norm", "norm3"), *TORCH)


def rename(name: str, names: Names) -> str:
    """Replace each of our names that stands in ``name`` by theirs."""
    for ours, theirs in names:
        name = name.replace(ours, theirs)
    return name


def packed(weights: Mapping[str, Tensor], names: Names) -> dict[str, Tensor]:
    """Rename a stack's weights for torch, which keeps query, key and value one below the other."""
    parts: dict[str, list[Tensor]] = {}
    for name, tensor in weights.items():  # ours come in the order query, key, value
        parts.setdefault(rename(name, names), []).append(tensor)
    return {name: torch.cat(tensors) for name, tensors in parts.items()}


def check_original(config: TransformerConfig) -> None:
    """Raise ValueError unless the peers can be built: post-norm, sinusoidal, tied three ways."""
    got = (config.norm_first, config.positions, config.tying)
    if got != (False, "sinusoidal", "three_way"):
        raise ValueError(
            f"the peers have norm_first, positions, tying = False, sinusoidal, three_way, as the "
            f"paper's model; got {', '.join(map(str, got))}. Compare such a model."
        )
