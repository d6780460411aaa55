"""Lesson 13: the exercises on a fair split, and on chance in sentences and in seeds."""

from transformer_course.exercises.your_own_text.exchange_p import exchange_p
from transformer_course.exercises.your_own_text.paired_p import paired_p
from transformer_course.exercises.your_own_text.split_by_source import split_by_source

# In the order of the lesson.
EXERCISES = (split_by_source, paired_p, exchange_p)
