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
