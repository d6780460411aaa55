"""The old place of :mod:`transformer_course.translation.evaluation.bleu`."""

from transformer_course.translation.evaluation.bleu import *  # noqa: F403
