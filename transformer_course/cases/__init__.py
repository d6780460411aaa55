"""The broken translators of lesson 12: to be looked at, experimented with, named and mended."""

from transformer_course.cases.desk import Desk, take
from transformer_course.cases.score import examined, names, scoreboard

__all__ = ["Desk", "examined", "names", "scoreboard", "take"]
