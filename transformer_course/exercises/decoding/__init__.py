"""Lesson 8: the exercises on choosing tokens, beam search and the cache."""

# The lesson's order, which is the catalogue's.
# isort: off
from transformer_course.exercises.decoding.next_token_probabilities import next_token_probabilities
from transformer_course.exercises.decoding.greedy import greedy
from transformer_course.exercises.decoding.length_score import length_score
from transformer_course.exercises.decoding.beam_search import beam_search
from transformer_course.exercises.decoding.cached_step import cached_step
from transformer_course.exercises.decoding.small_decoder import SmallDecoder, SmallLayer

__all__ = [
    "SmallDecoder",
    "SmallLayer",
    "beam_search",
    "cached_step",
    "greedy",
    "length_score",
    "next_token_probabilities",
]
