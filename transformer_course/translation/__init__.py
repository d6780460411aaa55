"""What makes a Transformer a translator: corpora, training, decoding, evaluation."""

from transformer_course.translation.corpora.batches import (
    Batch,
    collate,
    length_batches,
    pad_rows,
    padding_waste,
)
from transformer_course.translation.corpora.corpus import Corpus, SentencePair
from transformer_course.translation.corpora.downloads import DownloadError, data_folder
from transformer_course.translation.corpora.multi30k import multi30k_corpus
from transformer_course.translation.corpora.subwords import SubwordTokenizer, learn_subwords
from transformer_course.translation.corpora.text_files import files_corpus
from transformer_course.translation.corpora.toy_language import toy_corpus, translate_by_rule
from transformer_course.translation.corpora.vocabulary import (
    BOS,
    EOS,
    PAD,
    UNK,
    Vocabulary,
    WordTokenizer,
)
from transformer_course.translation.corpora.wmt14 import wmt14_corpus
from transformer_course.translation.decoding.beam import (
    Hypothesis,
    beam_search,
    gnmt,
    mean_length,
    search,
)
from transformer_course.translation.decoding.cached import CachedDecoder
from transformer_course.translation.decoding.forced import sequence_log_probability
from transformer_course.translation.decoding.next_token import (
    greedy,
    next_token_probabilities,
    sample,
)
from transformer_course.translation.decoding.prefix_scorers import (
    FunctionScorer,
    PrefixScorer,
    UncachedDecoder,
)
from transformer_course.translation.evaluation.bleu import (
    bleu_from_scratch,
    brevity_penalty,
    clipped_counts,
)
from transformer_course.translation.evaluation.evaluate import (
    alignment_accuracy,
    evaluate,
    perplexity,
)
from transformer_course.translation.evaluation.failures import (
    count_words,
    failure_table,
    summary_by,
)
from transformer_course.translation.evaluation.metrics import (
    bleu,
    bleu_of_counts,
    bleu_tokenized_lowercase,
    compare_counts,
    drawn_test_sets,
    exact_match,
    paired_bootstrap,
    scores,
    sentence_counts,
)
from transformer_course.translation.evaluation.seeds import exchange_p
from transformer_course.translation.training.averaging import WeightAverage
from transformer_course.translation.training.cpu_loss import cpu_loss
from transformer_course.translation.training.data_parallel import World
from transformer_course.translation.training.loss import masked_mean, smoothed_cross_entropy
from transformer_course.translation.training.precision import choose_precision
from transformer_course.translation.training.recipes import RECIPES
from transformer_course.translation.training.recorded_runs import (
    moses_counts,
    own_text_runs,
    recorded_run,
    scores_by_pairs,
)
from transformer_course.translation.training.runs import doubt_in
from transformer_course.translation.training.schedule import noam, warmup_cosine
from transformer_course.translation.training.settings import TrainingSettings
from transformer_course.translation.training.trainer import Trainer
from transformer_course.translation.translator import (
    Translator,
    shipped_checkpoint,
    toy_checkpoint,
)

__all__ = [
    "BOS",
    "EOS",
    "PAD",
    "RECIPES",
    "UNK",
    "Batch",
    "CachedDecoder",
    "Corpus",
    "DownloadError",
    "FunctionScorer",
    "Hypothesis",
    "PrefixScorer",
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
    "bleu_of_counts",
    "bleu_tokenized_lowercase",
    "brevity_penalty",
    "choose_precision",
    "clipped_counts",
    "collate",
    "compare_counts",
    "count_words",
    "cpu_loss",
    "data_folder",
    "doubt_in",
    "drawn_test_sets",
    "evaluate",
    "exact_match",
    "exchange_p",
    "failure_table",
    "files_corpus",
    "gnmt",
    "greedy",
    "learn_subwords",
    "length_batches",
    "masked_mean",
    "mean_length",
    "moses_counts",
    "multi30k_corpus",
    "next_token_probabilities",
    "noam",
    "own_text_runs",
    "pad_rows",
    "padding_waste",
    "paired_bootstrap",
    "perplexity",
    "recorded_run",
    "sample",
    "scores",
    "scores_by_pairs",
    "search",
    "sentence_counts",
    "sequence_log_probability",
    "shipped_checkpoint",
    "smoothed_cross_entropy",
    "summary_by",
    "toy_checkpoint",
    "toy_corpus",
    "translate_by_rule",
    "warmup_cosine",
    "wmt14_corpus",
]
