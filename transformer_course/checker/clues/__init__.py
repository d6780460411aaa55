"""What can be said about a wrong answer that no known mistake explains: facts, no guesses.

Each clue is a sentence about what the code does, found by running it or by comparing numbers.
"""

from collections.abc import Callable

from transformer_course.checker.cases import Case
from transformer_course.checker.outcomes import Outcome

Run = Callable[[Case], tuple[Outcome, Outcome]]
"""Runs the reference and the learner's code in a case."""
