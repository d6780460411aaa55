"""The rarer mistakes in the whole model; the commonest are with the exercise."""

from transformer_course.exercises.attention.causal_mask import causal_mask
from transformer_course.exercises.attention.padding_mask import padding_mask
from transformer_course.exercises.attention.target_mask import target_mask
from transformer_course.exercises.transformer.transformer import Transformer

# Masks that are made by hand

Transformer.mistake(
    "the masks are turned round",
    edits=[
        ("self.encoder(x, source_mask)", "self.encoder(x, ~source_mask)"),
        ("source_mask, target_mask", "~source_mask, ~target_mask"),
    ],
    observed='Words are hidden, and padding and later words are read. Here True means "may '
    'attend"; in `nn.Transformer` it means the opposite.',
    change="Hand on what `own.padding_mask` and `own.target_mask` return, without `~`.",
)
Transformer.shares(
    padding_mask,
    "the padding is True and the words are False",
    "ids below `pad_id` count as padding",
    "padding is expected at the end of each row",
    "queries are masked instead of keys",
    "the padding's queries are masked as well as its keys",
)
# The course's own attention rejects a mask of fewer axes, a learner's broadcasts it: as if it had
# new axes in front.
Transformer.shares(
    padding_mask,
    "the axis of the heads is missing",
    edits=[("[:, None, None, :]", "[None, :, None, :]")],
)
Transformer.shares(
    padding_mask,
    "the padding mask has two axes, (batch, key)",
    edits=[("[:, None, None, :]", "[None, None, :, :]")],
)
Transformer.shares(
    causal_mask,
    "a position may not attend to itself",
    "each position sees itself and the future instead of the past",
    "the future is True and the rest False",
    "each position may attend to itself only",
)
Transformer.shares(
    target_mask,
    "one of the two masks is enough: OR instead of AND",
    "the causal mask is as long as the batch",
)

# What passes from part to part

Transformer.mistake(
    "the embeddings are added once more after the positions",
    edits=[
        (
            "x = self.source_positions(",
            "x = self.source_embeddings(source_ids) + self.source_positions(",
        ),
        (
            "x = self.target_positions(",
            "x = self.target_embeddings(target_ids) + self.target_positions(",
        ),
    ],
    observed="The words count twice and the positions once: what the positional encoding returns "
    "holds the embeddings already.",
    change="Go on with what `self.source_positions` and `self.target_positions` return.",
)
Transformer.mistake(
    "source ids are looked up in the target's table",
    edits=[("self.source_embeddings(source_ids)", "self.target_embeddings(source_ids)")],
    observed="The same id is another word in either vocabulary, and the source gets the vectors of "
    "the target's words. The source's table gets no gradient.",
    change="Use `self.source_embeddings` in `encode`.",
)
Transformer.mistake(
    "the scores are made with the embeddings' table",
    edits=[("self.output.weight)", "self.target_embeddings.table.weight)")],
    observed="Right where the tables are tied. Without tying the output layer has a table of its "
    "own, which is not used here and gets no gradient.",
    change="Give `self.output.weight` to `own.output_logits`: with tying it is the same table.",
)
Transformer.mistake(
    "target and memory have changed places in the decoder",
    edits=[("self.decoder(x, memory", "self.decoder(memory, x")],
    observed="The decoder writes at the source's positions and reads the target as its memory. It "
    "runs only where source and target have the same length.",
    change="The order is `self.decoder(x, memory, source_mask, target_mask)`.",
)
Transformer.mistake(
    "`forward` gives `decode` the target's ids twice",
    edits=[
        (
            "self.decode(target_ids, self.encode(source_ids), source_ids)",
            "self.decode(target_ids, self.encode(source_ids), target_ids)",
        )
    ],
    observed="`decode` on its own is right; called by `forward`, it looks for the memory's padding "
    "in the target.",
    change="The last argument of `decode` is `source_ids`.",
)
Transformer.mistake(
    "`forward` leaves the encoder out",
    edits=[
        (
            "self.encode(source_ids)",
            "self.source_positions(self.source_embeddings(source_ids))",
        )
    ],
    observed="`encode` is right, but `forward` hands the decoder vectors that have not been "
    "through the encoder: its parameters get no gradient.",
    change="Call `self.encode(source_ids)` in `forward`.",
)
Transformer.mistake(
    "`decode` hides the padding of the source that was encoded last",
    edits=[
        (
            "self.config.pad_id)\n        return self.encoder",
            "self.config.pad_id)\n        self.latest = source_mask\n        return self.encoder",
        ),
        (
            "source_mask = own.padding_mask(source_ids, self.config.pad_id)\n        target_mask",
            "source_mask = self.latest\n        target_mask",
        ),
    ],
    observed="`decode` alone, with a memory that was made before another source was encoded, "
    "hides the padding of that other source.",
    change="Make the mask in `decode` again, from the `source_ids` that it gets.",
)
Transformer.mistake(
    "the memory of the first source is used for all",
    edits=[
        (
            "return self.encoder(x, source_mask)",
            'if not hasattr(self, "kept"):\n'
            "            self.kept = self.encoder(x, source_mask)\n"
            "        return self.kept",
        )
    ],
    observed="The first source is right; with any other one the decoder reads the first one again, "
    "because its memory is kept from call to call.",
    change="Encode each time: `forward` calls `self.encode(source_ids)`, and keeps nothing.",
)
for _side, _sides in {
    "embeddings": ("source", "target"),
    "source's embeddings": ("source",),
    "target's embeddings": ("target",),
}.items():
    Transformer.mistake(
        f"the {_side} are looked up without the factor sqrt(d_model)",
        edits=[
            (f"self.{side}_embeddings({side}_ids)", f"self.{side}_embeddings.table({side}_ids)")
            for side in _sides
        ],
        observed="With d_model = 4 the words are half as long as wanted: `.table` is the look-up "
        "alone.",
        change="Call `self.source_embeddings(source_ids)` and `self.target_embeddings(target_ids)` "
        "themselves, without `.table`.",
    )

# What comes out

Transformer.mistake(
    "only the last position is scored",
    edits=[("self.output.weight)", "self.output.weight)[:, -1]")],
    observed="The axis of the positions is gone. In training, every position predicts a token.",
    change="Return the logits of all positions, without `[:, -1]`.",
)
Transformer.mistake(
    "the best tokens come back instead of all scores",
    edits=[("self.output.weight)", "self.output.weight).argmax(dim=-1)")],
    observed="There is one id for each position; a score for each token of the vocabulary is "
    "wanted.",
    change="Leave `argmax` out.",
)
