"""Every picture of the course, each one function.

Importing this package gives all Altair charts the course's theme and renderer
(:func:`transformer_course.plots.renderer.enable`). Nothing else changes: the figures have their
look from a context, not from matplotlib's global settings.
"""

from transformer_course.plots.attention import (
    alignment_against_gold,
    attention_heatmap,
    head_grid,
)
from transformer_course.plots.beam_search import (
    beam_steps,
    beam_tree,
    beam_width_curves,
)
from transformer_course.plots.bleu import bleu_by_minutes, ngram_matches
from transformer_course.plots.course_map import course_map
from transformer_course.plots.decoding import batch_endings, cache_grids
from transformer_course.plots.failures import failure_chart, scores_by_bin
from transformer_course.plots.feed_forward import (
    activation_functions,
    position_wise_diagram,
    unit_words,
)
from transformer_course.plots.first_question import first_question
from transformer_course.plots.layers import (
    encoder_and_decoder_layer,
    information_paths,
    norm_orders,
    normalisation_steps,
)
from transformer_course.plots.look_up import attention_flow, recurrence_and_attention
from transformer_course.plots.masks import mask_viewer
from transformer_course.plots.multi_head_attention import (
    head_ablation,
    split_and_merge,
    split_without_transpose,
)
from transformer_course.plots.own_text import bleu_by_pairs, sentence_lengths
from transformer_course.plots.positional_encoding import (
    accuracy_by_length,
    clock_hands,
    dot_product_by_offset,
    encoding_heatmap,
    rotation_of_one_pair,
)
from transformer_course.plots.progress import progress_bars
from transformer_course.plots.renderer import Picture, enable
from transformer_course.plots.sampling import sampling_cuts
from transformer_course.plots.scaling import scaling_curves
from transformer_course.plots.silenced import translations_without_a_head
from transformer_course.plots.soft_look_up import soft_look_up
from transformer_course.plots.sub_words import subword_cuts, vocabulary_tradeoff
from transformer_course.plots.temperature import softmax_temperature
from transformer_course.plots.theme import COLOURS
from transformer_course.plots.training import (
    LiveLossPicture,
    curve_comparison,
    learning_to_translate,
    loss_curves,
    padding_waste_bars,
    schedule_curves,
    training_curves,
)
from transformer_course.plots.training_step import batch_rectangles, step_profile
from transformer_course.plots.transformer import (
    forward_pass,
    logits_and_probabilities,
    mask_panels,
    parameter_bars,
    who_catches_whom,
)

__all__ = [
    "COLOURS",
    "LiveLossPicture",
    "Picture",
    "accuracy_by_length",
    "activation_functions",
    "alignment_against_gold",
    "attention_flow",
    "attention_heatmap",
    "batch_endings",
    "batch_rectangles",
    "beam_steps",
    "beam_tree",
    "beam_width_curves",
    "bleu_by_minutes",
    "bleu_by_pairs",
    "cache_grids",
    "clock_hands",
    "course_map",
    "curve_comparison",
    "dot_product_by_offset",
    "encoder_and_decoder_layer",
    "encoding_heatmap",
    "failure_chart",
    "first_question",
    "forward_pass",
    "head_ablation",
    "head_grid",
    "information_paths",
    "learning_to_translate",
    "logits_and_probabilities",
    "loss_curves",
    "mask_panels",
    "mask_viewer",
    "ngram_matches",
    "norm_orders",
    "normalisation_steps",
    "padding_waste_bars",
    "parameter_bars",
    "position_wise_diagram",
    "progress_bars",
    "recurrence_and_attention",
    "rotation_of_one_pair",
    "sampling_cuts",
    "scaling_curves",
    "schedule_curves",
    "scores_by_bin",
    "sentence_lengths",
    "soft_look_up",
    "softmax_temperature",
    "split_and_merge",
    "split_without_transpose",
    "step_profile",
    "subword_cuts",
    "training_curves",
    "translations_without_a_head",
    "unit_words",
    "vocabulary_tradeoff",
    "who_catches_whom",
]

enable()
