"""The old place of :mod:`transformer_course.invariance.broken_models`, which notebooks name."""

from transformer_course.invariance.broken_models import *  # noqa: F403
