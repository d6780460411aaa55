"""Lesson 10: what became of the parts after 2017, each made to fit the place of the original."""

from transformer_course.model.variants.cheaper_attention import (
    GroupedQueryAttention,
    cache_bytes_per_token,
    grouped_query_attention,
    linear_attention,
    linear_attention_step,
    positive_features,
    sliding_window_mask,
    strided_mask,
)
from transformer_course.model.variants.decoder_only import DecoderOnly
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
    rotate,
    t5_buckets,
)

__all__ = [
    "BucketAttention",
    "DecoderOnly",
    "GELUFeedForward",
    "GroupedQueryAttention",
    "RMSNorm",
    "RelativeAttention",
    "SwiGLU",
    "alibi_attention",
    "alibi_bias",
    "alibi_slopes",
    "biased_attention",
    "cache_bytes_per_token",
    "grouped_query_attention",
    "linear_attention",
    "linear_attention_step",
    "look_up_by",
    "offsets",
    "positive_features",
    "replace_parts",
    "rms_norm",
    "rotary_attention",
    "rotate",
    "sliding_window_mask",
    "strided_mask",
    "t5_buckets",
    "without_biases",
]
