"""Lesson 10: the exercises on what became of the parts after 2017."""

from transformer_course.exercises.variants.alibi_bias import alibi_bias
from transformer_course.exercises.variants.delta_rule_step import delta_rule_step
from transformer_course.exercises.variants.grouped_query_step import grouped_query_step
from transformer_course.exercises.variants.linear_attention_step import linear_attention_step
from transformer_course.exercises.variants.relative_bias import relative_bias
from transformer_course.exercises.variants.rms_norm import rms_norm
from transformer_course.exercises.variants.rotate import rotate
from transformer_course.exercises.variants.route import route
from transformer_course.exercises.variants.swiglu import SwiGLU

# In the order of the lesson.
EXERCISES = (
    rotate,
    rms_norm,
    SwiGLU,
    route,
    grouped_query_step,
    linear_attention_step,
    delta_rule_step,
    relative_bias,
    alibi_bias,
)
