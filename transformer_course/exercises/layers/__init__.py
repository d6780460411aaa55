"""Lesson 5: the exercises on layer norm, residuals and the layers."""

# ruff: noqa: I001 (the imports stand in the lesson's order, which is that of the catalogue)
from transformer_course.exercises.layers.layer_norm import layer_norm
from transformer_course.exercises.layers.add_norm import add_norm
from transformer_course.exercises.layers.encoder_layer import EncoderLayer
from transformer_course.exercises.layers.decoder_layer import DecoderLayer
from transformer_course.exercises.layers.encoder import Encoder

__all__ = ["DecoderLayer", "Encoder", "EncoderLayer", "add_norm", "layer_norm"]
