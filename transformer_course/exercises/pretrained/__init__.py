"""Lesson 11: the exercises on a published translator's tokens, names and differences."""

from transformer_course.exercises.pretrained.marian_ids import marian_ids
from transformer_course.exercises.pretrained.marian_name import marian_name
from transformer_course.exercises.pretrained.nearest_change import nearest_change

# In the order of the lesson.
EXERCISES = (marian_ids, marian_name, nearest_change)
