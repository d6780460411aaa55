"""Lesson 12: the exercises on finding out why a whole translator does not work."""

from transformer_course.exercises.when_it_does_not_work.forced_and_free import forced_and_free
from transformer_course.exercises.when_it_does_not_work.loss_by_position import loss_by_position
from transformer_course.exercises.when_it_does_not_work.moved_by_padding import moved_by_padding
from transformer_course.exercises.when_it_does_not_work.steps_to_learn import steps_to_learn
from transformer_course.exercises.when_it_does_not_work.still_weights import still_weights

# In the order of the lesson.
EXERCISES = (loss_by_position, steps_to_learn, moved_by_padding, forced_and_free, still_weights)
