"""What a Transformer is: the model, one module per lesson, in torch alone."""

from transformer_course.model.attention import (
    causal_mask,
    fused_attention,
    padding_mask,
    scaled_dot_product_attention,
    target_mask,
)
from transformer_course.model.feed_forward import FeedForward
from transformer_course.model.layers import (
    AddNorm,
    Decoder,
    DecoderLayer,
    Encoder,
    EncoderLayer,
    LayerNorm,
    layer_norm,
)
from transformer_course.model.multi_head_attention import (
    MultiHeadAttention,
    capture_attention,
    merge_heads,
    silenced_heads,
    split_heads,
)
from transformer_course.model.positional_encoding import (
    LearnedPositionalEncoding,
    SinusoidalPositionalEncoding,
    angular_frequencies,
    shift_matrix,
    sinusoidal_encoding,
    wavelengths,
)
from transformer_course.model.torch_weights import load_torch_weights
from transformer_course.model.transformer import (
    Embeddings,
    Transformer,
    TransformerConfig,
    evaluating,
)

__all__ = [
    "AddNorm",
    "Decoder",
    "DecoderLayer",
    "Embeddings",
    "Encoder",
    "EncoderLayer",
    "FeedForward",
    "LayerNorm",
    "LearnedPositionalEncoding",
    "MultiHeadAttention",
    "SinusoidalPositionalEncoding",
    "Transformer",
    "TransformerConfig",
    "angular_frequencies",
    "capture_attention",
    "causal_mask",
    "evaluating",
    "fused_attention",
    "layer_norm",
    "load_torch_weights",
    "merge_heads",
    "padding_mask",
    "scaled_dot_product_attention",
    "shift_matrix",
    "silenced_heads",
    "sinusoidal_encoding",
    "split_heads",
    "target_mask",
    "wavelengths",
]
