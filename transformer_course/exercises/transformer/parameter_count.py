"""The number of trained parameters, from the sizes alone."""

from dataclasses import replace

from transformer_course import model
from transformer_course.checker.cases import Case
from transformer_course.checker.exercise import exercise
from transformer_course.costs import parameter_summary
from transformer_course.exercises.transformer.inputs import CONFIG

_SIZES = replace(CONFIG, d_ff=10, decoder_layers=2)


def _counted(config: model.TransformerConfig) -> int:
    return parameter_summary(model.Transformer(config))["total"]


@exercise(
    reference=_counted,
    cases=[
        Case((_SIZES,), written="(config)  # post-norm, not tied"),
        Case((replace(_SIZES, norm_first=True),), written="(config)  # pre-norm, not tied"),
        Case(
            (replace(_SIZES, source_vocab=9, target_vocab=5, encoder_layers=3),),
            written="(config)  # source_vocab=9, target_vocab=5, not tied",
        ),
        Case(
            (replace(_SIZES, source_vocab=9, target_vocab=5, tying="two_way"),),
            written="(config)  # two-way tying, source_vocab=9, target_vocab=5",
        ),
        Case((replace(_SIZES, tying="three_way"),), written="(config)  # three-way tying"),
    ],
    hints=[
        "Count one attention, one feed-forward network and one norm first. How many of each does "
        "an encoder layer have, and how many a decoder layer?",
        "Attention: four matrices of d_model x d_model and four biases. Feed-forward: two matrices "
        "of d_model x d_ff and their biases. Norm: gain and bias. An encoder layer has 1, 1 and 2 "
        "of them, a decoder layer 2, 1 and 3. Pre-norm adds a norm at the end of either stack.",
        "Tables have vocab x d_model numbers. Untied there are three: one of the source, two of "
        "the target (embeddings and output). Two-way tying leaves one of each, three-way tying one "
        "in all. Sinusoidal positions are not counted, and the output layer has no bias.",
    ],
)
def parameter_count(config: model.TransformerConfig) -> int:
    """Count the trained numbers of a Transformer with sinusoidal positions."""
    d_model, d_ff = config.d_model, config.d_ff
    attention = 4 * (d_model * d_model + d_model)
    feed_forward = 2 * d_model * d_ff + d_ff + d_model
    norm = 2 * d_model
    encoder = config.encoder_layers * (attention + feed_forward + 2 * norm)
    decoder = config.decoder_layers * (2 * attention + feed_forward + 3 * norm)
    final_norms = 2 * norm if config.norm_first else 0
    rows = {
        "none": config.source_vocab + 2 * config.target_vocab,
        "two_way": config.source_vocab + config.target_vocab,
        "three_way": config.target_vocab,
    }
    return encoder + decoder + final_norms + rows[config.tying] * d_model
