"""Lesson 5: the exercises on layer norm, residuals and the layers."""

from transformer_course.exercises.layers.layer_norm import layer_norm

__all__ = ["layer_norm"]
