"""From scores to sentences: step by step, by a beam, with a cache."""

from transformer_course.translation.decoding.beam import (
    Hypothesis,
    LengthPenalty,
    beam_search,
    gnmt,
    mean_length,
    search,
)
from transformer_course.translation.decoding.cached import CachedDecoder
from transformer_course.translation.decoding.forced import sequence_log_probability
from transformer_course.translation.decoding.next_token import (
    MakeDecoder,
    greedy,
    next_token_probabilities,
    sample,
)
from transformer_course.translation.decoding.prefix_scorers import (
    FunctionScorer,
    PrefixScorer,
    UncachedDecoder,
)

__all__ = [
    "CachedDecoder",
    "FunctionScorer",
    "Hypothesis",
    "LengthPenalty",
    "MakeDecoder",
    "PrefixScorer",
    "UncachedDecoder",
    "beam_search",
    "gnmt",
    "greedy",
    "mean_length",
    "next_token_probabilities",
    "sample",
    "search",
    "sequence_log_probability",
]
