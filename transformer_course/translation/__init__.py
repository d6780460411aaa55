"""What makes a Transformer a translator: corpora, text, batches, training, evaluation."""

from transformer_course.translation.batches import (
    Batch,
    collate,
    length_batches,
    pad_rows,
    padding_waste,
)
from transformer_course.translation.corpus import Corpus, SentencePair
from transformer_course.translation.decoding import greedy
from transformer_course.translation.evaluation import (
    alignment_accuracy,
    bleu,
    evaluate,
    exact_match,
)
from transformer_course.translation.loss import masked_mean, smoothed_cross_entropy
from transformer_course.translation.recipes import RECIPES
from transformer_course.translation.schedule import noam, warmup_cosine
from transformer_course.translation.text import BOS, EOS, PAD, UNK, Vocabulary, WordTokenizer
from transformer_course.translation.text_files import files_corpus
from transformer_course.translation.toy_language import toy_corpus, translate_by_rule
from transformer_course.translation.training import Trainer, TrainingSettings
from transformer_course.translation.translator import Translator, toy_checkpoint

__all__ = [
    "BOS",
    "EOS",
    "PAD",
    "RECIPES",
    "UNK",
    "Batch",
    "Corpus",
    "SentencePair",
    "Trainer",
    "TrainingSettings",
    "Translator",
    "Vocabulary",
    "WordTokenizer",
    "alignment_accuracy",
    "bleu",
    "collate",
    "evaluate",
    "exact_match",
    "files_corpus",
    "greedy",
    "length_batches",
    "masked_mean",
    "noam",
    "pad_rows",
    "padding_waste",
    "smoothed_cross_entropy",
    "toy_checkpoint",
    "toy_corpus",
    "translate_by_rule",
    "warmup_cosine",
]
