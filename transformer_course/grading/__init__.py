"""Grade the notebooks of a class, its files ``my_transformer.py``, or its capstones."""

from transformer_course.grading.command import grade_folder
from transformer_course.grading.limits import Limits
from transformer_course.grading.processes import grade, submissions
from transformer_course.grading.table import Row, clusters, frequent_mistakes, table

__all__ = [
    "Limits",
    "Row",
    "clusters",
    "frequent_mistakes",
    "grade",
    "grade_folder",
    "submissions",
    "table",
]
