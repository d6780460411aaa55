"""What makes a Transformer a translator: corpora, text, batches, training, evaluation."""

from transformer_course.translation.averaging import WeightAverage
from transformer_course.translation.batches import (
    Batch,
    collate,
    length_batches,
    pad_rows,
    padding_waste,
)
from transformer_course.translation.cached_decoder import (
    CachedDecoder,
    Decoder,
    PrefixDecoder,
    UncachedDecoder,
)
from transformer_course.translation.corpus import Corpus, SentencePair
from transformer_course.translation.data_parallel import World
from transformer_course.translation.decoding import (
    Hypothesis,
    beam_search,
    gnmt,
    greedy,
    mean_length,
    next_token_probabilities,
    sample,
    search,
    sequence_log_probability,
)
from transformer_course.translation.downloads import DownloadError, data_folder
from transformer_course.translation.evaluation import (
    alignment_accuracy,
    bleu,
    bleu_tokenized_lowercase,
    evaluate,
    exact_match,
    paired_bootstrap,
    perplexity,
    scores,
)
from transformer_course.translation.failures import count_words, failure_table, summary_by
from transformer_course.translation.fast_decoding import FastDecoding
from transformer_course.translation.fast_training import fast_loss
from transformer_course.translation.loss import masked_mean, smoothed_cross_entropy
from transformer_course.translation.multi30k import multi30k_corpus
from transformer_course.translation.ngram_overlap import (
    bleu_from_scratch,
    brevity_penalty,
    clipped_counts,
)
from transformer_course.translation.precision import choose_precision
from transformer_course.translation.recipes import RECIPES
from transformer_course.translation.recorded_runs import recorded_run
from transformer_course.translation.schedule import noam, warmup_cosine
from transformer_course.translation.subwords import SubwordTokenizer, learn_subwords
from transformer_course.translation.text import BOS, EOS, PAD, UNK, Vocabulary, WordTokenizer
from transformer_course.translation.text_files import files_corpus
from transformer_course.translation.toy_language import toy_corpus, translate_by_rule
from transformer_course.translation.training import Trainer, TrainingSettings
from transformer_course.translation.translator import Translator, toy_checkpoint
from transformer_course.translation.wmt14 import wmt14_corpus

__all__ = [
    "BOS",
    "EOS",
    "PAD",
    "RECIPES",
    "UNK",
    "Batch",
    "CachedDecoder",
    "Corpus",
    "Decoder",
    "DownloadError",
    "FastDecoding",
    "Hypothesis",
    "PrefixDecoder",
    "SentencePair",
    "SubwordTokenizer",
    "Trainer",
    "TrainingSettings",
    "Translator",
    "UncachedDecoder",
    "Vocabulary",
    "WeightAverage",
    "WordTokenizer",
    "World",
    "alignment_accuracy",
    "beam_search",
    "bleu",
    "bleu_from_scratch",
    "bleu_tokenized_lowercase",
    "brevity_penalty",
    "choose_precision",
    "clipped_counts",
    "collate",
    "count_words",
    "data_folder",
    "evaluate",
    "exact_match",
    "failure_table",
    "fast_loss",
    "files_corpus",
    "gnmt",
    "greedy",
    "learn_subwords",
    "length_batches",
    "masked_mean",
    "mean_length",
    "multi30k_corpus",
    "next_token_probabilities",
    "noam",
    "pad_rows",
    "padding_waste",
    "paired_bootstrap",
    "perplexity",
    "recorded_run",
    "sample",
    "scores",
    "search",
    "sequence_log_probability",
    "smoothed_cross_entropy",
    "summary_by",
    "toy_checkpoint",
    "toy_corpus",
    "translate_by_rule",
    "warmup_cosine",
    "wmt14_corpus",
]
