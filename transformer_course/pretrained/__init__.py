"""Translators that others trained and published, in our own Transformer."""

from transformer_course.pretrained.layout import Layout, read_layout, read_weights
from transformer_course.pretrained.names import marian_name
from transformer_course.pretrained.parts import (
    SinesThenCosines,
    SwishFeedForward,
    use_output_bias,
    use_sines_then_cosines,
    use_swish,
)
from transformer_course.pretrained.published import opus_mt_en_fr
from transformer_course.pretrained.search import nearest_change
from transformer_course.pretrained.small import Reference, reference, small_marian
from transformer_course.pretrained.tokens import MarianTokenizer
from transformer_course.pretrained.translator import load_marian, marian_model

__all__ = [
    "Layout",
    "MarianTokenizer",
    "Reference",
    "SinesThenCosines",
    "SwishFeedForward",
    "load_marian",
    "marian_model",
    "marian_name",
    "nearest_change",
    "opus_mt_en_fr",
    "read_layout",
    "read_weights",
    "reference",
    "small_marian",
    "use_output_bias",
    "use_sines_then_cosines",
    "use_swish",
]
