"""Lesson 4: the exercises on the feed-forward network."""

from transformer_course.exercises.feed_forward.acts_per_position import acts_per_position
from transformer_course.exercises.feed_forward.feed_forward import FeedForward
from transformer_course.exercises.feed_forward.feed_forward_parameters import (
    feed_forward_parameters,
)

# In the order of the lesson.
EXERCISES = (
    FeedForward,
    acts_per_position,
    feed_forward_parameters,
)
