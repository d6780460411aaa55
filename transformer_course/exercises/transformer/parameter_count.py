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


parameter_count.mistake(
    "tied tables are counted separately",
    edits=[("rows[config.tying]", 'rows["none"]')],
    observed="Tying makes no difference to your count. A table that two parts share is trained "
    "once.",
    change="Look at `config.tying`: three tables, two, or one.",
)
parameter_count.mistake(
    "the output layer is left out",
    edits=[("2 * config.target_vocab", "config.target_vocab")],
    observed="Without tying the output layer has a table of its own: target_vocab x d_model "
    "numbers are missing.",
    change="Without tying, count the target's vocabulary twice.",
)
parameter_count.mistake(
    "all tables are left out",
    edits=[(" + rows[config.tying] * d_model", "")],
    observed="Your count does not depend on the vocabularies. In the base model the one table is "
    "18,944,000 of 63,082,496 numbers.",
    change="Add vocab x d_model for each table that is not shared.",
)
parameter_count.mistake(
    "the output layer has a bias",
    edits=[("rows[config.tying] * d_model", "rows[config.tying] * d_model + config.target_vocab")],
    observed="Your count is too high by `target_vocab`: one number for each word of the target's "
    "vocabulary.",
    change="Leave it out: in this model the output layer is an `nn.Linear` without a bias, tied or "
    "not.",
)
parameter_count.mistake(
    "the positional encodings are counted",
    edits=[
        (
            "rows[config.tying] * d_model",
            "rows[config.tying] * d_model + 2 * config.max_len * d_model",
        )
    ],
    observed="Your count grows with `max_len`. Sinusoids are computed, not trained.",
    change="Leave them out.",
)
parameter_count.mistake(
    "attention has no biases",
    edits=[("4 * (d_model * d_model + d_model)", "4 * (d_model * d_model)")],
    observed="Each of the four projections is an `nn.Linear` with a bias: 4 x d_model numbers are "
    "missing in each attention.",
    change="Count d_model x d_model + d_model for a projection.",
)
parameter_count.mistake(
    "attention has three matrices",
    edits=[("4 * (d_model", "3 * (d_model")],
    observed="The output projection, which mixes the heads, is missing.",
    change="Count four: for queries, keys, values and the output.",
)
parameter_count.mistake(
    "each head has matrices of the full width",
    edits=[("4 * (d_model", "(3 * config.heads + 1) * (d_model")],
    observed="Your count grows with `heads`. Each head has d_model / heads columns of a matrix, so "
    "all heads together have one matrix.",
    change="Leave `heads` out of the count.",
)
parameter_count.mistake(
    "the feed-forward network has no biases",
    edits=[("d_model * d_ff + d_ff + d_model", "d_model * d_ff")],
    observed="d_ff + d_model numbers are missing in each layer.",
    change="Count the biases of both its layers.",
)
parameter_count.mistake(
    "the feed-forward network has one matrix",
    edits=[("2 * d_model * d_ff + d_ff + d_model", "d_model * d_ff + d_ff")],
    observed="It expands but never contracts: a matrix and its bias are missing in each layer.",
    change="Count d_model x d_ff + d_ff and d_ff x d_model + d_model.",
)
parameter_count.mistake(
    "norms have no parameters",
    edits=[("norm = 2 * d_model", "norm = 0")],
    observed="The gains and biases of the norms are missing.",
    change="Count 2 x d_model for each norm.",
)
parameter_count.mistake(
    "a norm has only a gain",
    edits=[("norm = 2 * d_model", "norm = d_model")],
    observed="d_model numbers are missing for each norm.",
    change="Count gain and bias: 2 x d_model.",
)
parameter_count.mistake(
    "a decoder layer has one attention",
    edits=[("2 * attention", "attention")],
    observed="The cross-attention of each decoder layer is missing.",
    change="A decoder layer has two: self-attention and cross-attention.",
)
parameter_count.mistake(
    "a decoder layer has two norms",
    edits=[("3 * norm", "2 * norm")],
    observed="2 x d_model numbers are missing in each decoder layer.",
    change="Each of its three sub-layers has a norm.",
)
parameter_count.mistake(
    "a decoder layer is counted like an encoder layer",
    edits=[("2 * attention", "attention"), ("3 * norm", "2 * norm")],
    observed="In each decoder layer the cross-attention and its norm are missing.",
    change="A decoder layer has two attentions, a feed-forward network and three norms.",
)
parameter_count.mistake(
    "the final norms of pre-norm are left out",
    edits=[("2 * norm if config.norm_first", "0 if config.norm_first")],
    observed="With `norm_first` either stack ends with one more norm: 4 x d_model numbers are "
    "missing.",
    change="Add two norms where `config.norm_first` is True.",
)
parameter_count.mistake(
    "post-norm has final norms too",
    edits=[(" if config.norm_first else 0", "")],
    observed="Your count is too high by 4 x d_model without `norm_first`. There, each layer ends "
    "with a norm already.",
    change="Add the two norms only where `config.norm_first` is True.",
)
parameter_count.mistake(
    "the decoder has as many layers as the encoder",
    edits=[("config.decoder_layers", "config.encoder_layers")],
    observed="With 1 encoder layer and 2 decoder layers, one decoder layer is missing.",
    change="Use `config.decoder_layers` for the decoder.",
)

# Rarer ones

parameter_count.mistake(
    "both biases of the feed-forward network have d_ff numbers",
    edits=[("d_ff + d_ff + d_model", "d_ff + d_ff + d_ff")],
    observed="Your count is too high by d_ff - d_model in each layer: the second bias is added to "
    "vectors that have d_model numbers again.",
    change="Count d_model x d_ff + d_ff and d_ff x d_model + d_model.",
)
parameter_count.mistake(
    "both biases of the feed-forward network have d_model numbers",
    edits=[("d_ff + d_ff + d_model", "d_ff + d_model + d_model")],
    observed="Your count is too low by d_ff - d_model in each layer: the first bias is added to "
    "vectors of d_ff numbers.",
    change="Count d_model x d_ff + d_ff and d_ff x d_model + d_model.",
)
parameter_count.mistake(
    "the feed-forward network has one bias",
    edits=[("d_ff + d_ff + d_model", "d_ff + d_ff")],
    observed="d_model numbers are missing in each layer: the second bias.",
    change="Count d_model x d_ff + d_ff and d_ff x d_model + d_model.",
)
parameter_count.mistake(
    "two-way tying leaves two tables of the source's vocabulary",
    edits=[('"two_way": config.source_vocab + config.target', '"two_way": 2 * config.source')],
    observed="With two vocabularies your count is wrong. The output layer shares the table of the "
    "target's embeddings; the source's is the other one.",
    change="With two-way tying count source_vocab + target_vocab rows.",
)
parameter_count.mistake(
    "two-way tying leaves two tables of the target's vocabulary",
    edits=[('"two_way": config.source_vocab + config.target', '"two_way": 2 * config.target')],
    observed="With two vocabularies your count is wrong. One of the two tables that are left is "
    "the source's.",
    change="With two-way tying count source_vocab + target_vocab rows.",
)
parameter_count.mistake(
    "two-way tying is counted like three-way tying",
    edits=[('"two_way": config.source_vocab + config.target', '"two_way": config.target')],
    observed="The source's table is missing: with two-way tying it is one of its own.",
    change="With two-way tying count source_vocab + target_vocab rows.",
)
parameter_count.mistake(
    "two-way tying is counted like no tying",
    edits=[
        ('"two_way": config.source_vocab + config', '"two_way": config.source_vocab + 2 * config')
    ],
    observed="The output layer has no table of its own with two-way tying: it uses that of the "
    "target's embeddings.",
    change="With two-way tying count source_vocab + target_vocab rows.",
)
parameter_count.mistake(
    "three-way tying is counted like two-way tying",
    edits=[('"three_way": config', '"three_way": config.source_vocab + config')],
    observed="You count two tables; with three-way tying a single one is left.",
    change="With three-way tying count the one vocabulary once.",
)
parameter_count.mistake(
    "the source's table is left out without tying",
    edits=[('"none": config.source_vocab + 2', '"none": 2')],
    observed="source_vocab x d_model numbers are missing: those of the source's embeddings.",
    change="Without tying count three tables: source, target, and output.",
)
parameter_count.mistake(
    "pre-norm adds one final norm instead of two",
    edits=[("2 * norm if config.norm_first", "norm if config.norm_first")],
    observed="With `norm_first` 2 x d_model numbers are missing: both stacks end with a norm.",
    change="Add two norms where `config.norm_first` is True.",
)
parameter_count.mistake(
    "an encoder layer has three norms",
    edits=[("feed_forward + 2 * norm", "feed_forward + 3 * norm")],
    observed="Your count is too high by 2 x d_model in each encoder layer.",
    change="Each of its two sub-layers has a norm.",
)
parameter_count.mistake(
    "an encoder layer has one norm",
    edits=[("feed_forward + 2 * norm", "feed_forward + norm")],
    observed="2 x d_model numbers are missing in each encoder layer.",
    change="Each of its two sub-layers has a norm.",
)
parameter_count.mistake(
    "the encoder has as many layers as the decoder",
    edits=[("config.encoder_layers", "config.decoder_layers")],
    observed="With 1 encoder layer and 2 decoder layers, there is one encoder layer too many.",
    change="Use `config.encoder_layers` for the encoder.",
)
parameter_count.mistake(
    "only one head has matrices for queries, keys and values",
    edits=[
        (
            "4 * (d_model * d_model + d_model)",
            "3 * (d_model + 1) * d_model // config.heads + d_model * d_model + d_model",
        )
    ],
    observed="Your count falls as `heads` grows. A head has d_model / heads columns, but there are "
    "`heads` of them.",
    change="Leave `heads` out: all heads together have matrices of d_model x d_model.",
)
parameter_count.mistake(
    "one table of positional encodings is counted",
    edits=[
        ("rows[config.tying] * d_model", "rows[config.tying] * d_model + config.max_len * d_model")
    ],
    observed="Your count grows with `max_len`. Sinusoids are computed, not trained.",
    change="Leave them out.",
)
parameter_count.mistake(
    "without tying the output layer has the source's vocabulary",
    edits=[
        (
            "config.source_vocab + 2 * config.target_vocab",
            "2 * config.source_vocab + config.target_vocab",
        )
    ],
    observed="Without tying you count two tables of source_vocab rows and one of target_vocab.",
    change="The output scores target words: count the target's vocabulary twice.",
)
for _vocab, _other in [("target", "source"), ("source", "target")]:
    parameter_count.mistake(
        f"every table is counted with {_vocab}_vocab rows",
        edits=[
            ("config.source_vocab + 2 * config.target_vocab", f"3 * config.{_vocab}_vocab"),
            ("config.source_vocab + config.target_vocab", f"2 * config.{_vocab}_vocab"),
        ],
        observed="With two vocabularies your count is wrong: it does not depend on "
        f"`{_other}_vocab` as long as tables are separate.",
        change="The source's embeddings have source_vocab rows, the target's and the output layer "
        "target_vocab.",
    )
parameter_count.mistake(
    "a norm has two numbers",
    edits=[("norm = 2 * d_model", "norm = 2")],
    observed="Gain and bias are counted as one number each; each has d_model of them.",
    change="Count 2 x d_model for each norm.",
)
parameter_count.mistake(
    "d_ff is taken to be 4 * d_model",
    edits=[("= config.d_model, config.d_ff", "= config.d_model, 4 * config.d_model")],
    observed="Your count does not depend on `d_ff`.",
    change="Use `config.d_ff`: the paper's factor of 4 is a choice.",
)
parameter_count.mistake(
    "one layer is counted in each stack",
    edits=[
        ("config.encoder_layers * (", "("),
        ("config.decoder_layers * (", "("),
    ],
    observed="Your count does not depend on the numbers of layers.",
    change="Multiply by `config.encoder_layers` and `config.decoder_layers`.",
)
parameter_count.mistake(
    "pre-norm adds a norm to each layer",
    edits=[
        (
            "2 * norm if config.norm_first",
            "(config.encoder_layers + config.decoder_layers) * norm if config.norm_first",
        )
    ],
    observed="With `norm_first` your count grows by 2 x d_model for each layer; only two norms are "
    "added, one after each stack.",
    change="Add two norms where `config.norm_first` is True, outside the layers.",
)
parameter_count.mistake(
    "no biases are counted, nor those of the norms",
    edits=[
        ("4 * (d_model * d_model + d_model)", "4 * (d_model * d_model)"),
        ("d_model * d_ff + d_ff + d_model", "d_model * d_ff"),
        ("norm = 2 * d_model", "norm = d_model"),
    ],
    observed="The biases of the projections, of the feed-forward networks and of the norms are "
    "missing.",
    change="Count d_model for the bias of each projection and norm, and d_ff + d_model for those "
    "of a feed-forward network.",
)
