"""Lesson 7: the exercises on batches, losses, Adam, the schedule and the training step."""

from transformer_course.exercises.toy_translation.adam_update import adam_update
from transformer_course.exercises.toy_translation.collate import collate
from transformer_course.exercises.toy_translation.masked_mean import masked_mean
from transformer_course.exercises.toy_translation.noam import noam
from transformer_course.exercises.toy_translation.smoothed_cross_entropy import (
    smoothed_cross_entropy,
)
from transformer_course.exercises.toy_translation.training_step import training_step

# In the order of the lesson.
EXERCISES = (
    collate,
    masked_mean,
    smoothed_cross_entropy,
    adam_update,
    noam,
    training_step,
)
