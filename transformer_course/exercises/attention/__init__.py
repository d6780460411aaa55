"""Lesson 2: the exercises on attention and its masks."""

# ruff: noqa: I001 (the imports stand in the order of the lesson, which is the catalogue's)
from transformer_course.exercises.attention.scaled_dot_product_attention import (
    scaled_dot_product_attention,
)
from transformer_course.exercises.attention.padding_mask import padding_mask
from transformer_course.exercises.attention.causal_mask import causal_mask
from transformer_course.exercises.attention.target_mask import target_mask
from transformer_course.exercises.attention.sees_the_future import sees_the_future

__all__ = [
    "causal_mask",
    "padding_mask",
    "scaled_dot_product_attention",
    "sees_the_future",
    "target_mask",
]
