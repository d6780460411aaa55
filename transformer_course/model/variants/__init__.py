"""Lesson 10: what became of the parts after 2017, each made to fit the place of the original."""

from transformer_course.model.variants.cheaper_attention import (
    GroupedQueryAttention,
    LatentAttention,
    cache_bytes_per_token,
    cached_tokens,
    grouped_query_attention,
    latent_bytes_per_token,
    linear_attention,
    linear_attention_step,
    positive_features,
    sliding_window_mask,
)
from transformer_course.model.variants.decoder_only import DecoderOnly
from transformer_course.model.variants.delta_rule import DeltaAttention, delta_rule_step
from transformer_course.model.variants.experts import Experts, route
from transformer_course.model.variants.parts import (
    GELUFeedForward,
    RMSNorm,
    SwiGLU,
    look_up_by,
    replace_parts,
    rms_norm,
    without_biases,
)
from transformer_course.model.variants.positions import (
    BucketAttention,
    RelativeAttention,
    alibi_attention,
    alibi_bias,
    alibi_slopes,
    biased_attention,
    offsets,
    rotary_attention,
    rotary_frequencies,
    rotate,
    t5_buckets,
)
from transformer_course.model.variants.scores import NormedAttention, SinkAttention

__all__ = [
    "BucketAttention",
    "DecoderOnly",
    "DeltaAttention",
    "Experts",
    "GELUFeedForward",
    "GroupedQueryAttention",
    "LatentAttention",
    "NormedAttention",
    "RMSNorm",
    "RelativeAttention",
    "SinkAttention",
    "SwiGLU",
    "alibi_attention",
    "alibi_bias",
    "alibi_slopes",
    "biased_attention",
    "cache_bytes_per_token",
    "cached_tokens",
    "delta_rule_step",
    "grouped_query_attention",
    "latent_bytes_per_token",
    "linear_attention",
    "linear_attention_step",
    "look_up_by",
    "offsets",
    "positive_features",
    "replace_parts",
    "rms_norm",
    "rotary_attention",
    "rotary_frequencies",
    "rotate",
    "route",
    "sliding_window_mask",
    "t5_buckets",
    "without_biases",
]
