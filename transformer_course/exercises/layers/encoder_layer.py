"""The encoder layer."""

from torch import Tensor, nn

from transformer_course import model
from transformer_course.checker.cases import Case, gradients, vectors
from transformer_course.checker.exercise import exercise
from transformer_course.exercises import own
from transformer_course.exercises.layers.inputs import (
    ALL_DROPPED,
    DROPPED_ONCE,
    Trained,
    largest_addition,
    source_mask,
    what_padding_changes,
)
from transformer_course.exercises.start_here.softmax import softmax


class _TrainedEncoderLayer(Trained, model.EncoderLayer):
    pass


@exercise(
    reference=_TrainedEncoderLayer,
    cases=[
        Case((vectors(2, 3, 4),), construct=(4, 2, 8, 0.1, False)),
        Case((vectors(3, 5, 8), source_mask(5)), construct=(8, 2, 20, 0.1, False)),
        Case((vectors(3, 4, 8), source_mask(4)), construct=(8, 4, 12, 0.1, True)),
        Case(
            (vectors(3, 5, 8), source_mask(5)),
            construct=(8, 2, 20, 0.1, False),
            observe=what_padding_changes,
            looks_at="which positions change when only the padding changes",
        ),
        Case(
            (vectors(1, 3, 4),),
            construct=(4, 2, 8, 0.1, False),
            observe=gradients,
            looks_at="the gradients of `x` and of all parameters",
        ),
        Case(
            (vectors(2, 3, 4),),
            construct=(4, 2, 8, 1.0, False),
            looks_at=ALL_DROPPED,
            training=True,
        ),
        Case(
            (vectors(3, 4, 8),),
            construct=(8, 2, 6, 0.5, True),
            observe=largest_addition,
            looks_at=DROPPED_ONCE,
            training=True,
        ),
    ],
    hints=[
        "Two steps, each inside its AddNorm: the self-attention, then the feed-forward network "
        "on what came out. An AddNorm gets `x` and a sub-layer, which it calls itself.",
        "The feed-forward network can be handed over as it is. The attention needs three "
        "arguments, so wrap it: `lambda y: self.self_attention(y, y, source_mask)`.",
        "`x = self.add_norm_attention(x, lambda y: self.self_attention(y, y, source_mask))`, "
        "then return `self.add_norm_feed_forward(x, self.feed_forward)`.",
    ],
)
class EncoderLayer(nn.Module):
    """Self-attention and feed-forward network, each inside an AddNorm."""

    def __init__(self, d_model, heads, d_ff, dropout=0.1, norm_first=False) -> None:
        super().__init__()
        self.self_attention = own.MultiHeadAttention(d_model, heads)
        self.feed_forward = own.FeedForward(d_model, d_ff)
        self.add_norm_attention = own.AddNorm(d_model, dropout, norm_first)
        self.add_norm_feed_forward = own.AddNorm(d_model, dropout, norm_first)

    def forward(self, x: Tensor, source_mask: Tensor | None = None) -> Tensor:
        """Return a tensor of the shape of x, (batch, source, d_model)."""
        x = self.add_norm_attention(x, lambda y: self.self_attention(y, y, source_mask))
        return self.add_norm_feed_forward(x, self.feed_forward)


EncoderLayer.mistake(
    "the mask is not passed on",
    edits=[("y, y, source_mask", "y, y")],
    observed="The real words change when only the padding changes.",
    change="Give `source_mask` to the attention as its third argument.",
)
EncoderLayer.mistake(
    "the feed-forward network reads the x from before the attention",
    edits=[
        ('d_model)."""', 'd_model)."""\n        before = x'),
        ("x, self.feed_forward)", "x, lambda y: self.feed_forward(before))"),
    ],
    observed="What it returns does not depend on the attention, whose result is only added.",
    change="Let it read what came out of `self.add_norm_attention(...)`: hand over "
    "`self.feed_forward` itself.",
)
EncoderLayer.mistake(
    "the attention has no effect",
    edits=[("x = self.add_norm_attention", "self.add_norm_attention")],
    observed="The result is that of the feed-forward network alone: what the attention returned "
    "is not used, or it is never called.",
    change="Assign it, `x = self.add_norm_attention(...)`, and go on with this `x`.",
)
EncoderLayer.mistake(
    "the feed-forward network is missing",
    edits=[
        ("return self.add_norm_feed_forward", "self.add_norm_feed_forward"),
        ("self.feed_forward)", "self.feed_forward)\n        return x"),
    ],
    observed="The result is that of `self.add_norm_attention(...)`.",
    change="Return `self.add_norm_feed_forward(x, self.feed_forward)`.",
)
EncoderLayer.mistake(
    "the feed-forward network comes before the attention",
    edits=[
        ("x = self.add_norm_attention", "attend = lambda x: self.add_norm_attention"),
        ("return self.add_norm_feed_forward", "x = self.add_norm_feed_forward"),
        ("self.feed_forward)", "self.feed_forward)\n        return attend(x)"),
    ],
    observed="The parts are right and their order is not.",
    change="First the attention, then the feed-forward network on what came out.",
)
EncoderLayer.mistake(
    "the attention overwrites x: it has no AddNorm",
    edits=[("self.add_norm_attention(x, lambda", "(lambda"), ("source_mask))", "source_mask))(x)")],
    observed="No residual connection leads around the attention; if it returned zeros, the "
    "layer's result would not depend on `x` at all.",
    change="Write `x = self.add_norm_attention(x, lambda y: ...)`.",
)
EncoderLayer.mistake(
    "the feed-forward network has no AddNorm",
    edits=[("self.add_norm_feed_forward(x, self.feed_forward)", "self.feed_forward(x)")],
    observed="The result is what the feed-forward network returns: no residual, no norm.",
    change="Return `self.add_norm_feed_forward(x, self.feed_forward)`.",
)
EncoderLayer.mistake(
    "the AddNorm of the attention is used for the feed-forward network",
    edits=[("self.add_norm_feed_forward(", "self.add_norm_attention(")],
    observed="`add_norm_feed_forward` is never called: its gain and bias would not be trained.",
    change="Each sub-layer has its own: use `self.add_norm_feed_forward` for the second.",
)
EncoderLayer.mistake(
    "the AddNorm of the feed-forward network is used for the attention",
    edits=[("self.add_norm_attention(", "self.add_norm_feed_forward(")],
    observed="`add_norm_attention` is never called: its gain and bias would not be trained.",
    change="Each sub-layer has its own: use `self.add_norm_attention` for the first.",
)
EncoderLayer.mistake(
    "the two AddNorms are swapped",
    edits=[
        ("self.add_norm_attention(", "self.add_norm_feed_forward("),
        ("return self.add_norm_feed_forward(", "return self.add_norm_attention("),
    ],
    observed="Each sub-layer is inside the AddNorm that is named after the other: trained weights "
    "would end up in the wrong place.",
    change="Put the attention into `self.add_norm_attention`, the feed-forward network into "
    "`self.add_norm_feed_forward`.",
)
EncoderLayer.mistake(
    "the mask is turned round",
    edits=[("(y, y, source_mask)", "(y, y, None if source_mask is None else ~source_mask)")],
    observed="The real words change when only the padding changes, because you hide them and show "
    "the padding.",
    change="True means visible in this course: hand `source_mask` over as it is.",
)
EncoderLayer.mistake(
    "the self-attention reads x, not what AddNorm hands over",
    edits=[("self.self_attention(y, y,", "self.self_attention(x, x,")],
    observed="norm_first=False is right. With norm_first=True AddNorm hands over the normalised "
    "`x`, and your `lambda` does not use it.",
    change="Use the argument of the `lambda`: `lambda y: self.self_attention(y, y, ...)`.",
)
EncoderLayer.mistake(
    "the self-attention looks at x, not at what AddNorm hands over",
    edits=[("self.self_attention(y, y,", "self.self_attention(y, x,")],
    observed="norm_first=False is right. With norm_first=True the normalised `x` asks, and the "
    "one that is not normalised answers.",
    change="Use the argument of the `lambda` twice: `lambda y: self.self_attention(y, y, ...)`.",
)
EncoderLayer.mistake(
    "the feed-forward network reads x, not what AddNorm hands over",
    edits=[("x, self.feed_forward)", "x, lambda y: self.feed_forward(x))")],
    observed="norm_first=False is right. With norm_first=True AddNorm hands over the normalised "
    "`x`, and your `lambda` does not use it.",
    change="Hand over `self.feed_forward` itself, without `lambda`.",
)
EncoderLayer.mistake(
    "no sub-layer reads what AddNorm hands over",
    edits=[
        ("self.self_attention(y, y,", "self.self_attention(x, x,"),
        ("x, self.feed_forward)", "x, lambda y: self.feed_forward(x))"),
    ],
    observed="norm_first=False is right. With norm_first=True AddNorm hands over the normalised "
    "`x`, and your sub-layers use an `x` that is not normalised.",
    change="Use the argument of each `lambda`: `lambda y: self.self_attention(y, y, ...)`.",
)
EncoderLayer.mistake(
    "x is added once more around AddNorm",
    edits=[
        ("x = self.add_norm_attention(", "x = x + self.add_norm_attention("),
        ("return self", "return x + self"),
    ],
    observed="Each AddNorm adds `x` already, so your sum holds it twice.",
    change="Write `x = self.add_norm_...(x, sublayer)` without `x +`.",
)
EncoderLayer.mistake(
    "x is added once more around the first AddNorm",
    edits=[("x = self.add_norm_attention(", "x = x + self.add_norm_attention(")],
    observed="The AddNorm of the attention adds `x` already, so your sum holds it twice.",
    change="Write `x = self.add_norm_attention(x, sublayer)` without `x +`.",
)
EncoderLayer.mistake(
    "x is added once more around the second AddNorm",
    edits=[("return self", "return x + self")],
    observed="The AddNorm of the feed-forward network adds `x` already, so your sum holds it "
    "twice.",
    change="Return `self.add_norm_feed_forward(x, self.feed_forward)` without `x +`.",
)

# Edited where each AddNorm is built: so it goes together with mistakes in the calls.
EncoderLayer.mistake(
    "only the norm of AddNorm is used",
    edits=[
        (
            "self.add_norm_attention = own.AddNorm(d_model, dropout, norm_first)",
            "self.add_norm_attention = own.AddNorm(d_model, 0.0, False)",
        ),
        (
            "self.add_norm_feed_forward = own.AddNorm(d_model, dropout, norm_first)",
            "self.add_norm_feed_forward = own.AddNorm(d_model, 0.0, False)",
        ),
    ],
    observed="norm_first=True changes nothing, and in training no dropout acts.",
    change="Call the AddNorm as a whole: `self.add_norm_...(x, sublayer)`.",
)
EncoderLayer.mistake(
    "norm_first is not passed on: always post-norm",
    edits=[
        (
            "self.add_norm_attention = own.AddNorm(d_model, dropout, norm_first)",
            "self.add_norm_attention = own.AddNorm(d_model, dropout, False)",
        ),
        (
            "self.add_norm_feed_forward = own.AddNorm(d_model, dropout, norm_first)",
            "self.add_norm_feed_forward = own.AddNorm(d_model, dropout, False)",
        ),
    ],
    observed="norm_first=True changes nothing.",
    change="Build each with `own.AddNorm(d_model, dropout, norm_first)`.",
)
EncoderLayer.mistake(
    "norm_first is not passed on: always pre-norm",
    edits=[
        (
            "self.add_norm_attention = own.AddNorm(d_model, dropout, norm_first)",
            "self.add_norm_attention = own.AddNorm(d_model, dropout, True)",
        ),
        (
            "self.add_norm_feed_forward = own.AddNorm(d_model, dropout, norm_first)",
            "self.add_norm_feed_forward = own.AddNorm(d_model, dropout, True)",
        ),
    ],
    observed="norm_first=False changes nothing.",
    change="Build each with `own.AddNorm(d_model, dropout, norm_first)`.",
)
EncoderLayer.mistake(
    "dropout is not passed on: always 0.1",
    edits=[
        (
            "self.add_norm_attention = own.AddNorm(d_model, dropout, norm_first)",
            "self.add_norm_attention = own.AddNorm(d_model, 0.1, norm_first)",
        ),
        (
            "self.add_norm_feed_forward = own.AddNorm(d_model, dropout, norm_first)",
            "self.add_norm_feed_forward = own.AddNorm(d_model, 0.1, norm_first)",
        ),
    ],
    observed="In training mode a tenth is dropped, whatever `dropout` says.",
    change="Build each with `own.AddNorm(d_model, dropout, norm_first)`.",
)
EncoderLayer.mistake(
    "plain sums stand in place of AddNorm",
    edits=[
        ("self.add_norm_attention(", "(lambda x, sublayer: x + sublayer(x))("),
        ("self.add_norm_feed_forward(", "(lambda x, sublayer: x + sublayer(x))("),
    ],
    observed="`x` is added, but nothing is normalised and no dropout acts.",
    change="Let the AddNorm do it: `x = self.add_norm_...(x, sublayer)`.",
)
EncoderLayer.mistake(
    "no AddNorm is used",
    edits=[
        ("self.add_norm_attention(", "(lambda x, sublayer: sublayer(x))("),
        ("self.add_norm_feed_forward(", "(lambda x, sublayer: sublayer(x))("),
    ],
    observed="The sub-layers follow one another without residual connections and norms.",
    change="Put each sub-layer into its AddNorm: `x = self.add_norm_...(x, sublayer)`.",
)
EncoderLayer.mistake(
    "AddNorm gets the sub-layer's output, not the sub-layer",
    edits=[("x, lambda y: self.self_attention(y, y,", "x, self.self_attention(x, x,")],
    observed="\"'Tensor' object is not callable\": AddNorm wants to call the sub-layer itself, "
    "and you have called it already.",
    change="Hand over something that can be called: `lambda y: self.self_attention(y, y, ...)` "
    "for an attention, `self.feed_forward` without brackets.",
)
EncoderLayer.mistake(
    "AddNorm gets only one argument",
    edits=[("x, lambda y: self.self_attention(y, y,", "self.self_attention(x, x,")],
    observed="It stops because `sublayer` is missing: AddNorm needs `x`, to add it, and the "
    "sub-layer, to call it.",
    change="Give it both: `self.add_norm_feed_forward(x, self.feed_forward)`.",
)
EncoderLayer.mistake(
    "the arguments of AddNorm are swapped",
    edits=[
        ("self.add_norm_attention(x, lambda", "self.add_norm_attention(lambda"),
        ("source_mask))", "source_mask), x)"),
        ("x, self.feed_forward)", "self.feed_forward, x)"),
    ],
    observed="AddNorm takes `x` for the sub-layer and the sub-layer for `x`.",
    change="First `x`, then the sub-layer.",
)
EncoderLayer.mistake(
    "the attention is handed over without its arguments",
    edits=[("lambda y: self.self_attention(y, y, source_mask)", "self.self_attention")],
    observed="AddNorm calls it with `x` alone, and an attention needs a memory as well.",
    change="Wrap it, so that it takes one argument: `lambda y: self.self_attention(y, y, ...)`.",
)
EncoderLayer.mistake(
    "query, key and value are given one by one",
    edits=[("self.self_attention(y, y,", "self.self_attention(y, y, y,")],
    observed="The attention stops because it gets one argument too many: it takes keys and values "
    "both from the memory.",
    change="Give it who asks, what is looked at, and the mask: `(y, y, mask)`.",
)
EncoderLayer.mistake(
    "the attention gets the mask in place of what is looked at",
    edits=[("(y, y, source_mask)", "(y, source_mask)")],
    observed="Its second argument is the mask, or None where there is none; it should be a "
    "sequence of vectors.",
    change="In self-attention `x` looks at itself, so it is given twice: `(y, y, mask)`.",
)
EncoderLayer.mistake(
    "what each sub-layer returns is dropped twice",
    edits=[
        (
            "self.self_attention(y, y, source_mask)",
            "self.add_norm_attention.dropout(self.self_attention(y, y, source_mask))",
        ),
        (
            "x, self.feed_forward)",
            "x, lambda y: self.add_norm_feed_forward.dropout(self.feed_forward(y)))",
        ),
    ],
    observed="In eval mode everything is right, but in training mode a second dropout acts on it.",
    change="Leave your dropout out: each AddNorm has one.",
)
EncoderLayer.mistake(
    "what the self-attention returns is dropped twice",
    edits=[
        (
            "self.self_attention(y, y, source_mask)",
            "self.add_norm_attention.dropout(self.self_attention(y, y, source_mask))",
        )
    ],
    observed="In eval mode everything is right, but in training mode a second dropout acts on it.",
    change="Leave your dropout out: each AddNorm has one.",
)
EncoderLayer.mistake(
    "what the feed-forward network returns is dropped twice",
    edits=[
        (
            "x, self.feed_forward)",
            "x, lambda y: self.add_norm_feed_forward.dropout(self.feed_forward(y)))",
        )
    ],
    observed="In eval mode everything is right, but in training mode a second dropout acts on it.",
    change="Leave your dropout out: each AddNorm has one.",
)
EncoderLayer.mistake(
    "the result is dropped as well",
    edits=[
        ("return self", "x = self"),
        (
            "self.feed_forward)",
            "self.feed_forward)\n        return self.add_norm_feed_forward.dropout(x)",
        ),
    ],
    observed="In eval mode everything is right, but in training mode a dropout acts on the stream "
    "itself.",
    change="Leave it out: each AddNorm has a dropout for what its sub-layer returns.",
)
EncoderLayer.mistake(
    "padded positions are set to 0",
    edits=[
        ("return self", "x = self"),
        (
            "self.feed_forward)",
            "self.feed_forward)\n        if source_mask is not None:\n"
            "            x = x * source_mask[:, 0, 0, :, None]\n        return x",
        ),
    ],
    observed="Your result is 0 at padded positions. Nobody looks at them, so they may hold "
    "anything, and the exercise does not ask for it.",
    change="Return what the second AddNorm gives.",
)
EncoderLayer.mistake(
    "the feed-forward network is added to the x from before the attention",
    edits=[
        ('d_model)."""', 'd_model)."""\n        before = x'),
        ("x, self.feed_forward)", "before, lambda y: self.feed_forward(x))"),
    ],
    observed="The second residual connection starts from the layer's input, so what the attention "
    "added is not in the stream any more.",
    change="Give the second AddNorm what the first one returned, as `x`.",
)
EncoderLayer.mistake(
    "the two sub-layers stand side by side",
    edits=[
        ("x = self.add_norm_attention", "attended = self.add_norm_attention"),
        ("return self", "return attended - x + self"),
    ],
    observed="Both read the same `x`, and what they add is summed: the feed-forward network does "
    "not see what the attention found.",
    change="One after the other: `x = self.add_norm_attention(...)`, then "
    "`self.add_norm_feed_forward(x, self.feed_forward)`.",
)
EncoderLayer.shares(
    softmax,
    "no gradient passes",
    edits=[("x, self.feed_forward)", "x, self.feed_forward).detach()")],
)
EncoderLayer.mistake(
    "each sub-layer adds its own input once more",
    edits=[
        ("lambda y: self.self_attention", "lambda y: y + self.self_attention"),
        ("x, self.feed_forward)", "x, lambda y: y + self.feed_forward(y))"),
    ],
    observed="What you hand over adds `y` itself, and AddNorm adds `x` again: in post-norm each "
    "sum holds it twice.",
    change="Hand over the sub-layer alone: `lambda y: self.self_attention(y, y, source_mask)` and "
    "`self.feed_forward`.",
)
EncoderLayer.mistake(
    "the self-attention adds its own input once more",
    edits=[("lambda y: self.self_attention", "lambda y: y + self.self_attention")],
    observed="Your lambda adds `y` itself, and AddNorm adds `x` again.",
    change="Hand over the attention alone: `lambda y: self.self_attention(y, y, source_mask)`.",
)
EncoderLayer.mistake(
    "a plain sum stands in place of the feed-forward network's AddNorm",
    edits=[("self.add_norm_feed_forward(", "(lambda x, sublayer: x + sublayer(x))(")],
    observed="`x` is added to what the feed-forward network returns, without norm and dropout.",
    change="Return `self.add_norm_feed_forward(x, self.feed_forward)`.",
)
EncoderLayer.mistake(
    "a plain sum stands in place of the self-attention's AddNorm",
    edits=[("self.add_norm_attention(", "(lambda x, sublayer: x + sublayer(x))(")],
    observed="`x` is added to what the self-attention returns, without norm and dropout.",
    change="Write `x = self.add_norm_attention(x, lambda y: ...)`.",
)
EncoderLayer.mistake(
    "both AddNorms read the same x, and their results are added",
    edits=[
        ("x = self.add_norm_attention", "attended = self.add_norm_attention"),
        ("return self", "return attended + self"),
    ],
    observed="The feed-forward network does not see what the attention found, and the sum is the "
    "sum of two streams.",
    change="One after the other: `x = self.add_norm_attention(...)`, then "
    "`self.add_norm_feed_forward(x, self.feed_forward)`.",
)
EncoderLayer.mistake(
    "the attention takes the place of the feed-forward network",
    edits=[
        ("x, self.feed_forward)", "x, lambda y: self.self_attention(y, y, source_mask))"),
    ],
    observed="The attention is called twice, and `feed_forward` never.",
    change="Hand `self.feed_forward` over to the second AddNorm.",
)
