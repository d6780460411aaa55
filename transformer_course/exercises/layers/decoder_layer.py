"""The decoder layer."""

from torch import Tensor, nn

from transformer_course import model
from transformer_course.checker.cases import Case, gradients, vectors
from transformer_course.checker.exercise import exercise
from transformer_course.exercises import own
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


# What mistakes in decoder_layer.toml are made with.


class _MasksInOtherOrder(model.DecoderLayer):
    def forward(self, x: Tensor, memory: Tensor, target_mask=None, source_mask=None) -> Tensor:
        return super().forward(x, memory, source_mask, target_mask)
