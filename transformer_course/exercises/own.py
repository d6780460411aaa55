"""The parts by the name under which answers call each other: ``own.FeedForward``.

In a notebook, and in the learner's file, ``own`` is that file, and the part is the learner's if it
passed its check. Here each part is the course's own implementation.
"""

import torch.nn.functional as F
from torch import Tensor, nn

from transformer_course.model import (
    AddNorm,
    Decoder,
    DecoderLayer,
    Embeddings,
    Encoder,
    EncoderLayer,
    FeedForward,
    LayerNorm,
    MultiHeadAttention,
    SinusoidalPositionalEncoding,
    Transformer,
    causal_mask,
    layer_norm,
    merge_heads,
    padding_mask,
    scaled_dot_product_attention,
    sinusoidal_encoding,
    split_heads,
    target_mask,
)
from transformer_course.translation import (
    Vocabulary,
    brevity_penalty,
    clipped_counts,
    collate,
    gnmt,
    masked_mean,
    mean_length,
    next_token_probabilities,
    noam,
    smoothed_cross_entropy,
)
from transformer_course.translation import bleu_from_scratch as corpus_bleu

output_logits = F.linear


def softmax(scores: Tensor) -> Tensor:
    """Turn scores into shares that sum to 1 along the last axis."""
    return scores.softmax(dim=-1)


def tie(network: nn.Module) -> None:
    """Let both embeddings and the output layer share the target's table."""
    network.source_embeddings.table.weight = network.target_embeddings.table.weight
    network.output.weight = network.target_embeddings.table.weight


def length_score(log_probability: float, length: int, alpha: float | None = None) -> float:
    """Return the mean log-probability per token, or with alpha GNMT's score."""
    penalty = mean_length if alpha is None else gnmt(alpha)
    return log_probability / penalty(length)
