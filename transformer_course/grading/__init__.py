"""Grade the notebooks of a class, or its files ``my_transformer.py``."""

from transformer_course.grading.limits import Limits
from transformer_course.grading.processes import grade, submissions
from transformer_course.grading.table import (
    Row,
    clusters,
    frequent_mistakes,
    on_screen,
    table,
    to_json,
)

__all__ = [
    "Limits",
    "Row",
    "clusters",
    "frequent_mistakes",
    "grade",
    "on_screen",
    "submissions",
    "table",
    "to_json",
]
