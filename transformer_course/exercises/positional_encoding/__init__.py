"""Lesson 1: the exercises on words as numbers, positional encodings and embeddings."""

from transformer_course.exercises.positional_encoding.build_vocabulary import build_vocabulary
from transformer_course.exercises.positional_encoding.embeddings import Embeddings
from transformer_course.exercises.positional_encoding.learned_positional_encoding import (
    LearnedPositionalEncoding,
)
from transformer_course.exercises.positional_encoding.shift_matrix import shift_matrix
from transformer_course.exercises.positional_encoding.sinusoidal_encoding import sinusoidal_encoding
from transformer_course.exercises.positional_encoding.sinusoidal_positional_encoding import (
    SinusoidalPositionalEncoding,
)
from transformer_course.exercises.positional_encoding.wavelengths import wavelengths

# In the order of the lesson.
EXERCISES = (
    build_vocabulary,
    Embeddings,
    sinusoidal_encoding,
    SinusoidalPositionalEncoding,
    wavelengths,
    shift_matrix,
    LearnedPositionalEncoding,
)
