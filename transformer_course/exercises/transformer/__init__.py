"""Lesson 6: the exercises on tables of vectors, the whole model, and how to test it."""

from transformer_course.exercises.transformer.ignores_padding import ignores_padding
from transformer_course.exercises.transformer.output_logits import output_logits
from transformer_course.exercises.transformer.parameter_count import parameter_count
from transformer_course.exercises.transformer.sees_no_future import sees_no_future
from transformer_course.exercises.transformer.tie import tie
from transformer_course.exercises.transformer.transformer import Transformer

# In the order of the lesson.
EXERCISES = (
    output_logits,
    tie,
    Transformer,
    sees_no_future,
    ignores_padding,
    parameter_count,
)
