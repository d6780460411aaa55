"""Lesson 3: the exercises on multi-head attention."""

# The order is that of the lesson; MultiHeadAttention comes with its rarer mistakes.
# ruff: noqa: I001, RUF022

from transformer_course.exercises.multi_head_attention.split_heads import split_heads
from transformer_course.exercises.multi_head_attention.merge_heads import merge_heads
from transformer_course.exercises.multi_head_attention.multi_head_attention_mistakes import (
    MultiHeadAttention,
)
from transformer_course.exercises.multi_head_attention.attention_cost import attention_cost

__all__ = ["split_heads", "merge_heads", "MultiHeadAttention", "attention_cost"]
