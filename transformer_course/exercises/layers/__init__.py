"""Lesson 5: the exercises on layer norm, residuals and the layers."""

from transformer_course.exercises.layers.add_norm import add_norm
from transformer_course.exercises.layers.decoder_layer import DecoderLayer
from transformer_course.exercises.layers.encoder import Encoder
from transformer_course.exercises.layers.encoder_layer import EncoderLayer
from transformer_course.exercises.layers.layer_norm import layer_norm

# In the order of the lesson.
EXERCISES = (
    layer_norm,
    add_norm,
    EncoderLayer,
    DecoderLayer,
    Encoder,
)
