"""Lesson 1: the exercises on positional encodings and embeddings."""

# ruff: noqa: I001 (the imports stand in the lesson's order, which is that of the catalogue)
from transformer_course.exercises.positional_encoding.wavelengths import wavelengths
from transformer_course.exercises.positional_encoding.sinusoidal_encoding import sinusoidal_encoding
from transformer_course.exercises.positional_encoding.shift_matrix import shift_matrix
from transformer_course.exercises.positional_encoding.embeddings import Embeddings
from transformer_course.exercises.positional_encoding.sinusoidal_positional_encoding import (
    SinusoidalPositionalEncoding,
)
from transformer_course.exercises.positional_encoding.learned_positional_encoding import (
    LearnedPositionalEncoding,
)

__all__ = [
    "Embeddings",
    "LearnedPositionalEncoding",
    "SinusoidalPositionalEncoding",
    "shift_matrix",
    "sinusoidal_encoding",
    "wavelengths",
]
