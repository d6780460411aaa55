"""Lesson 3: the exercises on multi-head attention."""

from transformer_course.exercises.multi_head_attention.attention_cost import attention_cost
from transformer_course.exercises.multi_head_attention.merge_heads import merge_heads
from transformer_course.exercises.multi_head_attention.multi_head_attention import (
    MultiHeadAttention,
)
from transformer_course.exercises.multi_head_attention.split_heads import split_heads

# In the order of the lesson.
EXERCISES = (
    split_heads,
    merge_heads,
    MultiHeadAttention,
    attention_cost,
)
