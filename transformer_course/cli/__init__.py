"""The command ``transformer-course``: lab, train, examine, translate, publish, grade and more."""

from transformer_course.cli.program import main

__all__ = ["main"]
