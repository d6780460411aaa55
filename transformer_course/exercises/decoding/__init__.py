"""Lesson 8: the exercises on choosing tokens, beam search and the cache."""

from transformer_course.exercises.decoding.beam_search import beam_search
from transformer_course.exercises.decoding.cached_step import cached_step
from transformer_course.exercises.decoding.greedy import greedy
from transformer_course.exercises.decoding.length_score import length_score
from transformer_course.exercises.decoding.next_token_probabilities import next_token_probabilities
from transformer_course.exercises.decoding.small_decoder import SmallDecoder as SmallDecoder
from transformer_course.exercises.decoding.small_decoder import SmallLayer as SmallLayer

# In the order of the lesson.
EXERCISES = (
    greedy,
    length_score,
    beam_search,
    next_token_probabilities,
    cached_step,
)
