"""What can be said about a wrong answer that no known mistake explains: facts, no guesses.

Each clue is a sentence about what the code does, found by running it or by comparing numbers.
"""

from transformer_course.checker.clues.departure import departure
from transformer_course.checker.clues.dependence import independence
from transformer_course.checker.clues.order import other_order
from transformer_course.checker.clues.relations import relation
from transformer_course.checker.clues.separation import separation
from transformer_course.checker.diagnosis import Evidence
from transformer_course.checker.observation import Observation

KINDS = (other_order, relation, independence, departure, separation)


def clues(observed: Observation, evidence: Evidence) -> list[str]:
    """Return all that can be said, in a sentence each."""
    return [words for kind in KINDS if (words := kind(observed, evidence))]
