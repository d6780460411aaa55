"""Lesson 2: the exercises on attention and its masks."""

from transformer_course.exercises.attention.causal_mask import causal_mask
from transformer_course.exercises.attention.padding_mask import padding_mask
from transformer_course.exercises.attention.scaled_dot_product_attention import (
    scaled_dot_product_attention,
)
from transformer_course.exercises.attention.sees_the_future import sees_the_future
from transformer_course.exercises.attention.target_mask import target_mask

# In the order of the lesson.
EXERCISES = (
    scaled_dot_product_attention,
    padding_mask,
    causal_mask,
    target_mask,
    sees_the_future,
)
