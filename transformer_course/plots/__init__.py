"""Every picture of the course, each one function.

Importing this package gives all Altair charts the course's theme and renderer
(:func:`transformer_course.plots.renderer.enable`). Nothing else changes: the figures have their
look from a context, not from matplotlib's global settings.
"""

from transformer_course.plots.attention import (
    alignment_against_gold,
    attention_heatmap,
    head_grid,
    mask_picture,
)
from transformer_course.plots.positional_encoding import (
    accuracy_by_length,
    clock_hands,
    dot_product_by_offset,
    encoding_curves,
    encoding_heatmap,
    rotation_of_one_pair,
    token_similarity,
    wavelength_by_pair,
)
from transformer_course.plots.renderer import Picture, enable
from transformer_course.plots.theme import COLOURS
from transformer_course.plots.training import (
    LiveLossPicture,
    curve_comparison,
    loss_curves,
    padding_waste_bars,
    schedule_curves,
)

__all__ = [
    "COLOURS",
    "LiveLossPicture",
    "Picture",
    "accuracy_by_length",
    "alignment_against_gold",
    "attention_heatmap",
    "clock_hands",
    "curve_comparison",
    "dot_product_by_offset",
    "encoding_curves",
    "encoding_heatmap",
    "head_grid",
    "loss_curves",
    "mask_picture",
    "padding_waste_bars",
    "rotation_of_one_pair",
    "schedule_curves",
    "token_similarity",
    "wavelength_by_pair",
]

enable()
