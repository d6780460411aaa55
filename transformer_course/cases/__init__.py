"""Broken translators of lesson 12: what their authors see, what one can try, whether it is mended."""

from transformer_course.cases.desk import Desk, take
from transformer_course.cases.score import names, scoreboard

__all__ = ["Desk", "names", "scoreboard", "take"]
