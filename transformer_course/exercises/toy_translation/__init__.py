"""Lesson 7: the exercises on batches, losses, the schedule and the training step."""

# ruff: noqa: I001 (the imports stand in the lesson's order, which is that of the catalogue)
from transformer_course.exercises.toy_translation.collate import collate
from transformer_course.exercises.toy_translation.masked_mean import masked_mean
from transformer_course.exercises.toy_translation.smoothed_cross_entropy import (
    smoothed_cross_entropy,
)
from transformer_course.exercises.toy_translation.noam import noam
from transformer_course.exercises.toy_translation.training_step import training_step

__all__ = ["collate", "masked_mean", "noam", "smoothed_cross_entropy", "training_step"]
