"""Lesson 4: the exercises on the feed-forward network."""

# The order is that of the lesson.
# ruff: noqa: I001

from transformer_course.exercises.feed_forward.feed_forward import FeedForward
from transformer_course.exercises.feed_forward.acts_per_position import acts_per_position
from transformer_course.exercises.feed_forward.feed_forward_parameters import (
    feed_forward_parameters,
)

__all__ = ["FeedForward", "acts_per_position", "feed_forward_parameters"]
