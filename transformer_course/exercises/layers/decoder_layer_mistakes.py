"""The rarer mistakes in a decoder layer; the commonest are with the exercise."""

from transformer_course.exercises.layers.decoder_layer import DecoderLayer
from transformer_course.exercises.layers.encoder_layer import EncoderLayer

DecoderLayer.shares(
    EncoderLayer,
    "the self-attention reads x, not what AddNorm hands over",
    "the self-attention looks at x, not at what AddNorm hands over",
    "the feed-forward network reads x, not what AddNorm hands over",
    "what the feed-forward network returns is dropped twice",
    "the result is dropped as well",
)
DecoderLayer.shares(
    EncoderLayer,
    "what each sub-layer returns is dropped twice",
    edits=[
        (
            "self.self_attention(y, y, target_mask)",
            "self.add_norm_self_attention.dropout(self.self_attention(y, y, target_mask))",
        ),
        (
            "self.cross_attention(y, memory, source_mask)",
            "self.add_norm_cross_attention.dropout(self.cross_attention(y, memory, source_mask))",
        ),
        (
            "x, self.feed_forward)",
            "x, lambda y: self.add_norm_feed_forward.dropout(self.feed_forward(y)))",
        ),
    ],
)
DecoderLayer.shares(
    EncoderLayer,
    "what the self-attention returns is dropped twice",
    edits=[
        (
            "self.self_attention(y, y, target_mask)",
            "self.add_norm_self_attention.dropout(self.self_attention(y, y, target_mask))",
        )
    ],
)
DecoderLayer.mistake(
    "what the cross-attention returns is dropped twice",
    edits=[
        (
            "self.cross_attention(y, memory, source_mask)",
            "self.add_norm_cross_attention.dropout(self.cross_attention(y, memory, source_mask))",
        )
    ],
    observed="In eval mode everything is right, but in training mode a second dropout acts on it.",
    change="Leave your dropout out: each AddNorm has one.",
)
DecoderLayer.shares(
    EncoderLayer,
    "no sub-layer reads what AddNorm hands over",
    edits=[
        ("self.self_attention(y, y,", "self.self_attention(x, x,"),
        ("(y, memory,", "(x, memory,"),
        ("x, self.feed_forward)", "x, lambda y: self.feed_forward(x))"),
    ],
)
DecoderLayer.shares(
    EncoderLayer,
    "x is added once more around AddNorm",
    edits=[
        ("x = self.add_norm_self_attention(", "x = x + self.add_norm_self_attention("),
        ("x = self.add_norm_cross_attention(", "x = x + self.add_norm_cross_attention("),
        ("return self", "return x + self"),
    ],
)

# Edited where each AddNorm is built: so it goes together with mistakes in the calls.
DecoderLayer.shares(
    EncoderLayer,
    "only the norm of AddNorm is used",
    edits=[
        (
            "self.add_norm_self_attention = own.AddNorm(d_model, dropout, norm_first)",
            "self.add_norm_self_attention = own.AddNorm(d_model, 0.0, False)",
        ),
        (
            "self.add_norm_cross_attention = own.AddNorm(d_model, dropout, norm_first)",
            "self.add_norm_cross_attention = own.AddNorm(d_model, 0.0, False)",
        ),
        (
            "self.add_norm_feed_forward = own.AddNorm(d_model, dropout, norm_first)",
            "self.add_norm_feed_forward = own.AddNorm(d_model, 0.0, False)",
        ),
    ],
)
DecoderLayer.shares(
    EncoderLayer,
    "plain sums stand in place of AddNorm",
    edits=[
        ("self.add_norm_self_attention(", "(lambda x, sublayer: x + sublayer(x))("),
        ("self.add_norm_cross_attention(", "(lambda x, sublayer: x + sublayer(x))("),
        ("self.add_norm_feed_forward(", "(lambda x, sublayer: x + sublayer(x))("),
    ],
)
DecoderLayer.shares(
    EncoderLayer,
    "no AddNorm is used",
    edits=[
        ("self.add_norm_self_attention(", "(lambda x, sublayer: sublayer(x))("),
        ("self.add_norm_cross_attention(", "(lambda x, sublayer: sublayer(x))("),
        ("self.add_norm_feed_forward(", "(lambda x, sublayer: sublayer(x))("),
    ],
)
DecoderLayer.shares(
    EncoderLayer,
    "AddNorm gets the sub-layer's output, not the sub-layer",
    "AddNorm gets only one argument",
)
DecoderLayer.shares(
    EncoderLayer,
    "the arguments of AddNorm are swapped",
    edits=[
        ("self.add_norm_self_attention(x, lambda", "self.add_norm_self_attention(lambda"),
        ("target_mask))", "target_mask), x)"),
        ("self.add_norm_cross_attention(x, lambda", "self.add_norm_cross_attention(lambda"),
        ("source_mask))", "source_mask), x)"),
        ("x, self.feed_forward)", "self.feed_forward, x)"),
    ],
)
DecoderLayer.shares(
    EncoderLayer,
    "the attention is handed over without its arguments",
    edits=[("lambda y: self.self_attention(y, y, target_mask)", "self.self_attention")],
)
DecoderLayer.shares(EncoderLayer, "query, key and value are given one by one")
DecoderLayer.shares(
    EncoderLayer,
    "the attention gets the mask in place of what is looked at",
    edits=[
        ("(y, y, target_mask)", "(y, target_mask)"),
        ("(y, memory, source_mask)", "(y, source_mask)"),
    ],
)
DecoderLayer.shares(EncoderLayer, "no gradient passes")
DecoderLayer.mistake(
    "`target_mask` is not used: the layer makes a causal mask of its own",
    edits=[("(y, y, target_mask)", "(y, y, own.causal_mask(y.shape[1]))")],
    observed="The padding that `target_mask` hides is seen, and without a target mask a position "
    "does not see the later ones.",
    change="Pass on the mask that you get: `self.self_attention(y, y, target_mask)`.",
)
DecoderLayer.mistake(
    "each sub-layer adds its own input once more",
    edits=[
        ("lambda y: self.self_attention", "lambda y: y + self.self_attention"),
        ("lambda y: self.cross_attention", "lambda y: y + self.cross_attention"),
        ("x, self.feed_forward)", "x, lambda y: y + self.feed_forward(y))"),
    ],
    observed="What you hand over adds `y` itself, and AddNorm adds `x` again: in post-norm each "
    "sum holds it twice.",
    change="Hand over the sub-layers alone, such as `lambda y: self.self_attention(y, y, "
    "target_mask)`.",
)
DecoderLayer.mistake(
    "a plain sum stands in place of the self-attention's AddNorm",
    edits=[("self.add_norm_self_attention(", "(lambda x, sublayer: x + sublayer(x))(")],
    observed="`x` is added to what the self-attention returns, without norm and dropout.",
    change="Write `x = self.add_norm_self_attention(x, lambda y: ...)`.",
)
DecoderLayer.mistake(
    "a plain sum stands in place of the cross-attention's AddNorm",
    edits=[("self.add_norm_cross_attention(", "(lambda x, sublayer: x + sublayer(x))(")],
    observed="`x` is added to what the cross-attention returns, without norm and dropout.",
    change="Write `x = self.add_norm_cross_attention(x, lambda y: ...)`.",
)
DecoderLayer.mistake(
    "the target mask is turned round",
    edits=[("(y, y, target_mask)", "(y, y, None if target_mask is None else ~target_mask)")],
    observed="Earlier positions change when the last one does: the self-attention shows what "
    "`target_mask` hides.",
    change="True means visible in this course: hand `target_mask` over as it is.",
)
DecoderLayer.mistake(
    "the source mask is turned round",
    edits=[
        ("(y, memory, source_mask)", "(y, memory, None if source_mask is None else ~source_mask)")
    ],
    observed="The cross-attention shows the source's padding and hides its words.",
    change="True means visible in this course: hand `source_mask` over as it is.",
)
DecoderLayer.mistake(
    "the AddNorms of self-attention and feed-forward network are swapped",
    edits=[
        ("x = self.add_norm_self_attention(", "x = self.add_norm_feed_forward("),
        ("return self.add_norm_feed_forward(", "return self.add_norm_self_attention("),
    ],
    observed="Each of the two sub-layers is inside the AddNorm that is named after the other.",
    change="Put the self-attention into `self.add_norm_self_attention`, the feed-forward network "
    "into `self.add_norm_feed_forward`.",
)
DecoderLayer.mistake(
    "the memory is normalised without gain and bias",
    edits=[("(y, memory,", "(y, nn.functional.layer_norm(memory, memory.shape[-1:]),")],
    observed="What the cross-attention gets as the memory is not the memory.",
    change="Hand the memory over as it is: the encoder has normalised it already.",
)
DecoderLayer.mistake(
    "the two attentions stand side by side",
    edits=[
        ("x = self.add_norm_self_attention", "attended = self.add_norm_self_attention"),
        ("x = self.add_norm_cross_attention", "x = attended + self.add_norm_cross_attention"),
    ],
    observed="Both read the same `x`, and their results are added: the cross-attention does not "
    "ask with what the self-attention found.",
    change="One after the other: give the second AddNorm what the first one returned, as `x`.",
)
