"""The decoder layer."""

from torch import Tensor, nn

from transformer_course import model
from transformer_course.checker.cases import Case, gradients, vectors
from transformer_course.checker.exercise import exercise
from transformer_course.exercises import own
from transformer_course.exercises.layers.encoder_layer import EncoderLayer
from transformer_course.exercises.layers.inputs import (
    ALL_DROPPED,
    DROPPED_ONCE,
    Trained,
    changed,
    largest_addition,
    masks,
    only,
)

_SUBLAYERS = {
    "self_attention": "self-attention",
    "cross_attention": "cross-attention",
    "feed_forward": "feed-forward network",
}


class _TrainedDecoderLayer(Trained, model.DecoderLayer):
    pass


def _what_the_future_changes(
    layer: nn.Module, x: Tensor, memory: Tensor, source_mask: Tensor, target_mask: Tensor
) -> Tensor:
    later = x.clone()
    later[:, -1] = 3 * x[:, -1].sin()
    return changed(*(layer(y, memory, source_mask, target_mask) for y in (x, later)))


@exercise(
    reference=_TrainedDecoderLayer,
    cases=[
        Case((vectors(2, 3, 4), vectors(2, 5, 4, seed=1)), construct=(4, 2, 8, 0.1, False)),
        Case((vectors(3, 4, 8), vectors(3, 5, 8, seed=1), *masks(5, 4)), construct=(8, 2, 20)),
        Case((vectors(3, 4, 8), vectors(3, 4, 8, seed=1), *masks(4, 4)), construct=(8, 2, 20)),
        Case(
            (vectors(3, 5, 8), vectors(3, 4, 8, seed=1), *masks(4, 5)),
            construct=(8, 4, 12, 0.1, True),
        ),
        Case(
            (vectors(3, 4, 8), vectors(3, 5, 8, seed=1), *masks(5, 4)),
            construct=(8, 2, 20),
            observe=_what_the_future_changes,
            looks_at="which positions change when the last one does",
        ),
        Case(
            (vectors(2, 3, 4), vectors(2, 5, 4, seed=1)),
            construct=(4, 2, 8),
            observe=gradients,
            looks_at="the gradients of `x`, of the memory and of all parameters",
        ),
        Case(
            (vectors(2, 3, 4), vectors(2, 5, 4, seed=1)),
            construct=(4, 2, 8, 1.0, False),
            looks_at=ALL_DROPPED,
            training=True,
        ),
        Case(
            (vectors(3, 4, 8), vectors(3, 2, 8, seed=1)),
            construct=(8, 2, 6, 0.5, True),
            observe=largest_addition,
            looks_at=DROPPED_ONCE,
            training=True,
        ),
        *(
            Case(
                (vectors(3, 4, 8), vectors(3, 4, 8, seed=1), *masks(4, 4)),
                construct=(8, 2, 12, 0.1, True),
                observe=only(name),
                looks_at=f"the result where only the {words} returns anything but zeros",
            )
            for name, words in _SUBLAYERS.items()
        ),
    ],
    hints=[
        "Three steps, each inside its AddNorm and each on what came out of the step before: the "
        "target looks at itself, then at the memory, then each position works alone. Which of "
        "them needs which mask?",
        "A mask belongs to the sequence that is looked at. In cross-attention the target asks "
        "and the memory answers: `self.cross_attention(y, memory, source_mask)`.",
        "Like the encoder layer, with `lambda y: self.self_attention(y, y, target_mask)` first, "
        "then `lambda y: self.cross_attention(y, memory, source_mask)`, then the feed-forward "
        "network.",
    ],
)
class DecoderLayer(nn.Module):
    """Self-attention, cross-attention and feed-forward network, each inside an AddNorm."""

    def __init__(self, d_model, heads, d_ff, dropout=0.1, norm_first=False) -> None:
        super().__init__()
        self.self_attention = own.MultiHeadAttention(d_model, heads)
        self.cross_attention = own.MultiHeadAttention(d_model, heads)
        self.feed_forward = own.FeedForward(d_model, d_ff)
        self.add_norm_self_attention = own.AddNorm(d_model, dropout, norm_first)
        self.add_norm_cross_attention = own.AddNorm(d_model, dropout, norm_first)
        self.add_norm_feed_forward = own.AddNorm(d_model, dropout, norm_first)

    def forward(self, x: Tensor, memory: Tensor, source_mask=None, target_mask=None) -> Tensor:
        """Return a tensor of the shape of x, (batch, target, d_model)."""
        x = self.add_norm_self_attention(x, lambda y: self.self_attention(y, y, target_mask))
        x = self.add_norm_cross_attention(x, lambda y: self.cross_attention(y, memory, source_mask))
        return self.add_norm_feed_forward(x, self.feed_forward)


class _MasksInOtherOrder(model.DecoderLayer):
    def forward(self, x: Tensor, memory: Tensor, target_mask=None, source_mask=None) -> Tensor:
        return super().forward(x, memory, source_mask, target_mask)


DecoderLayer.mistake(
    "the cross-attention looks at the target, not at the memory",
    edits=[("(y, memory, source_mask)", "(y, y, source_mask)")],
    observed="The memory has no influence: its gradient is zero. Lengths that differ also clash "
    "with the source mask.",
    change="Look at the memory: `self.cross_attention(y, memory, source_mask)`.",
)
DecoderLayer.mistake(
    "the self-attention has no mask",
    edits=[("(y, y, target_mask)", "(y, y, None)")],
    observed="Earlier positions change when the last one does: the target sees its future.",
    change="Give `target_mask` to the self-attention as its third argument.",
)
DecoderLayer.mistake(
    "the cross-attention has no mask",
    edits=[("(y, memory, source_mask)", "(y, memory, None)")],
    observed="The padding of the source has a say in the result.",
    change="Give `source_mask` to the cross-attention as its third argument.",
)
DecoderLayer.mistake(
    "the cross-attention comes before the self-attention",
    edits=[
        ("x = self.add_norm_self_attention", "look = lambda x: self.add_norm_self_attention"),
        ("source_mask))", "source_mask))\n        x = look(x)"),
    ],
    observed="The parts are right and their order is not.",
    change="Self-attention, cross-attention, feed-forward network.",
)
DecoderLayer.mistake(
    "the feed-forward network comes before the cross-attention",
    edits=[
        ("x = self.add_norm_cross_attention", "look = lambda x: self.add_norm_cross_attention"),
        ("return self.add_norm_feed_forward", "x = self.add_norm_feed_forward"),
        ("self.feed_forward)", "self.feed_forward)\n        return look(x)"),
    ],
    observed="The parts are right and their order is not.",
    change="Self-attention, cross-attention, feed-forward network.",
)
DecoderLayer.mistake(
    "the two masks are swapped",
    edits=[
        ("(y, y, target_mask)", "(y, y, source_mask)"),
        ("(y, memory, source_mask)", "(y, memory, target_mask)"),
    ],
    observed="They do not fit if source and target differ in length. If they do not, there is no "
    "error, and earlier positions change when the last one does.",
    change="`target_mask` belongs to the self-attention, `source_mask` to the cross-attention.",
    unless=r"def forward\([^)]*target_mask[^)]*source_mask",
)
DecoderLayer.mistake(
    "the memory asks and the target answers",
    edits=[("(y, memory, source_mask)", "(memory, y, source_mask)")],
    observed="The cross-attention returns one vector for each source position; they cannot be "
    "added to those of the target.",
    change="The target asks, so it comes first: `self.cross_attention(y, memory, source_mask)`.",
)
DecoderLayer.mistake(
    "the second AddNorm is used for the feed-forward network too",
    edits=[("self.add_norm_feed_forward(", "self.add_norm_cross_attention(")],
    observed="`add_norm_feed_forward` is never called: it would not be trained.",
    change="Use `self.add_norm_feed_forward` for the third sub-layer.",
)
DecoderLayer.mistake(
    "the first AddNorm is used for the feed-forward network too",
    edits=[("self.add_norm_feed_forward(", "self.add_norm_self_attention(")],
    observed="`add_norm_feed_forward` is never called: it would not be trained.",
    change="Use `self.add_norm_feed_forward` for the third sub-layer.",
)
DecoderLayer.mistake(
    "the first AddNorm is used for the cross-attention too",
    edits=[("self.add_norm_cross_attention(", "self.add_norm_self_attention(")],
    observed="`add_norm_cross_attention` is never called: it would not be trained.",
    change="Use `self.add_norm_cross_attention` for the second sub-layer.",
)
DecoderLayer.mistake(
    "the self-attention is used for both attentions",
    edits=[("self.cross_attention(y", "self.self_attention(y")],
    observed="The weights of `cross_attention` have no influence on the result.",
    change="Call `self.cross_attention` for the memory.",
)
DecoderLayer.mistake(
    "the target mask is used for both",
    edits=[("(y, memory, source_mask)", "(y, memory, target_mask)")],
    observed="In the cross-attention it forbids source positions by the rules of the target; it "
    "fits only if both have the same length.",
    change="Give `source_mask` to the cross-attention: it looks at the source.",
)
DecoderLayer.mistake(
    "the source mask is used for both",
    edits=[("(y, y, target_mask)", "(y, y, source_mask)")],
    observed="It does not hide the future, and fits the self-attention only if source and target "
    "have the same length.",
    change="Give `target_mask` to the self-attention: it looks at the target.",
)
DecoderLayer.mistake(
    "the memory looks at itself",
    edits=[("(y, memory, source_mask)", "(memory, memory, source_mask)")],
    observed="The cross-attention returns one vector for each source position, and the target "
    "has no say in them.",
    change="The target asks: `self.cross_attention(y, memory, source_mask)`.",
)
DecoderLayer.mistake(
    "the memory is detached",
    edits=[("(y, memory, source_mask)", "(y, memory.detach(), source_mask)")],
    observed="All values are right, but no gradient reaches the memory: the encoder would not "
    "learn.",
    change="Leave out `.detach()`, `.data` and `torch.no_grad()`.",
)
DecoderLayer.mistake(
    "forward takes the masks in the wrong order",
    body=_MasksInOtherOrder,
    observed="Your `forward` takes the target's mask first. The caller gives the source's first, "
    "so each mask is used in place of the other.",
    change="Write `def forward(self, x, memory, source_mask=None, target_mask=None)`.",
    unless=r"(?s)\A(?!.*def forward\([^)]*target_mask[^)]*source_mask)",
)
DecoderLayer.mistake(
    "both masks are turned round",
    edits=[
        ("(y, y, target_mask)", "(y, y, None if target_mask is None else ~target_mask)"),
        ("(y, memory, source_mask)", "(y, memory, None if source_mask is None else ~source_mask)"),
    ],
    observed="Earlier positions change when the last one does: each position sees only what it "
    "should not see.",
    change="True means visible in this course: hand both masks over as they are.",
)
DecoderLayer.shares(
    EncoderLayer,
    "the feed-forward network has no AddNorm",
    "a plain sum stands in place of the feed-forward network's AddNorm",
)
DecoderLayer.mistake(
    "the self-attention has no effect",
    edits=[("x = self.add_norm_self_attention", "self.add_norm_self_attention")],
    observed="The result is that of cross-attention and feed-forward network alone: what the "
    "self-attention returned is not used, or it is never called.",
    change="Assign it, `x = self.add_norm_self_attention(...)`, and go on with this `x`.",
)
DecoderLayer.mistake(
    "the cross-attention has no effect",
    edits=[("x = self.add_norm_cross_attention", "self.add_norm_cross_attention")],
    observed="The memory has no influence: what the cross-attention returned is not used, or it "
    "is never called.",
    change="Assign it, `x = self.add_norm_cross_attention(...)`, and go on with this `x`.",
)
DecoderLayer.mistake(
    "the cross-attention asks with the x from before the self-attention",
    edits=[
        ('d_model)."""', 'd_model)."""\n        before = x'),
        ("(y, memory,", "(before, memory,"),
    ],
    observed="Its questions are the same whatever the self-attention found.",
    change="Ask with what the AddNorm hands over: `lambda y: self.cross_attention(y, ...)`.",
)
DecoderLayer.mistake(
    "the cross-attention reads x, not what AddNorm hands over",
    edits=[("(y, memory,", "(x, memory,")],
    observed="norm_first=False is right. With norm_first=True AddNorm hands over the normalised "
    "`x`, and your `lambda` does not use it.",
    change="Use the argument of the `lambda`: `lambda y: self.cross_attention(y, memory, ...)`.",
)
DecoderLayer.mistake(
    "the feed-forward network is missing",
    edits=[
        ("return self.add_norm_feed_forward", "self.add_norm_feed_forward"),
        ("self.feed_forward)", "self.feed_forward)\n        return x"),
    ],
    observed="The result is that of `self.add_norm_cross_attention(...)`.",
    change="Return `self.add_norm_feed_forward(x, self.feed_forward)`.",
)
DecoderLayer.mistake(
    "the cross-attention is used for both attentions",
    edits=[("self.self_attention(y", "self.cross_attention(y")],
    observed="The weights of `self_attention` have no influence on the result.",
    change="Call `self.self_attention` for the target itself.",
)
DecoderLayer.mistake(
    "the AddNorms of cross-attention and feed-forward network are swapped",
    edits=[
        ("self.add_norm_cross_attention(", "self.add_norm_feed_forward("),
        ("return self.add_norm_feed_forward(", "return self.add_norm_cross_attention("),
    ],
    observed="Each of the two sub-layers is inside the AddNorm that is named after the other.",
    change="Put the cross-attention into `self.add_norm_cross_attention`, the feed-forward network "
    "into `self.add_norm_feed_forward`.",
)
DecoderLayer.mistake(
    "the AddNorms of the two attentions are swapped",
    edits=[
        ("x = self.add_norm_self_attention(", "x = self.add_norm_cross_attention("),
        ("x = self.add_norm_cross_attention(", "x = self.add_norm_self_attention("),
    ],
    observed="Each of the two attentions is inside the AddNorm that is named after the other.",
    change="Put the self-attention into `self.add_norm_self_attention`, the cross-attention into "
    "`self.add_norm_cross_attention`.",
)
DecoderLayer.mistake(
    "the memory is normalised in pre-norm",
    edits=[
        (
            'd_model)."""',
            'd_model)."""\n        if self.add_norm_cross_attention.norm_first:\n'
            "            memory = self.add_norm_cross_attention.norm(memory)",
        )
    ],
    observed="norm_first=False is right. With norm_first=True what the cross-attention gets as the "
    "memory is not the memory.",
    change="Hand the memory over as it is: the encoder's final norm has normalised it already.",
)
DecoderLayer.mistake(
    "the memory is normalised, in both orders",
    edits=[("(y, memory,", "(y, self.add_norm_cross_attention.norm(memory),")],
    observed="What the cross-attention gets as the memory is not the memory.",
    change="Hand the memory over as it is: the norm belongs to the stream.",
)
DecoderLayer.mistake(
    "the cross-attention is added to the x from before the self-attention",
    edits=[
        ("x = self.add_norm_self_attention", "attended = self.add_norm_self_attention"),
        ("(y, memory,", "(attended, memory,"),
    ],
    observed="The cross-attention asks with what the self-attention found, but this is not in the "
    "stream any more.",
    change="Give the second AddNorm what the first one returned, as `x`.",
)
DecoderLayer.mistake(
    "a causal mask is made in the layer",
    edits=[
        (
            "(y, y, target_mask)",
            "(y, y, own.causal_mask(y.shape[1]) if target_mask is None "
            "else target_mask & own.causal_mask(y.shape[1]))",
        )
    ],
    observed="Without a target mask, a position does not see the later ones, though nobody asked "
    "for that.",
    change="Hand `target_mask` over as it is, None included: the caller decides.",
)
DecoderLayer.mistake(
    "the self-attention looks at the memory",
    edits=[("(y, y, target_mask)", "(y, memory, target_mask)")],
    observed="Both attentions look at the memory, and the target's positions never meet. Lengths "
    "that differ also clash with the target mask.",
    change="In self-attention the target looks at itself: "
    "`self.self_attention(y, y, target_mask)`.",
)
