"""Lesson 0: the warm-up, a softmax."""

from transformer_course.exercises.start_here.softmax import softmax

# In the order of the lesson.
EXERCISES = (softmax,)
