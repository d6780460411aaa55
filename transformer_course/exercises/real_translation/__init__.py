"""Lesson 9: the exercises on BLEU, on sub-words and on batches with a budget of tokens."""

from transformer_course.exercises.real_translation.bpe_merge import bpe_merge
from transformer_course.exercises.real_translation.brevity_penalty import brevity_penalty
from transformer_course.exercises.real_translation.clipped_counts import clipped_counts
from transformer_course.exercises.real_translation.corpus_bleu import corpus_bleu
from transformer_course.exercises.real_translation.token_budget_batches import token_budget_batches

# In the order of the lesson.
EXERCISES = (
    clipped_counts,
    brevity_penalty,
    corpus_bleu,
    bpe_merge,
    token_budget_batches,
)
