"""The stack of encoder layers."""

from torch import Tensor, nn

from transformer_course import model
from transformer_course.checker.cases import Case, gradients, vectors
from transformer_course.checker.exercise import exercise
from transformer_course.exercises import own
from transformer_course.exercises.layers.inputs import (
    ALL_DROPPED,
    Trained,
    source_mask,
    what_padding_changes,
)


class _TrainedEncoder(Trained, model.Encoder):
    pass


@exercise(
    reference=_TrainedEncoder,
    cases=[
        Case((vectors(2, 3, 4),), construct=(2, 4, 2, 4, 0.1, False)),
        Case((vectors(3, 5, 8), source_mask(5)), construct=(3, 8, 2, 20, 0.1, False)),
        Case((vectors(3, 4, 8), source_mask(4)), construct=(2, 8, 4, 12, 0.1, True)),
        Case(
            (vectors(3, 5, 8), source_mask(5)),
            construct=(2, 8, 2, 20, 0.1, False),
            observe=what_padding_changes,
            looks_at="which positions change when only the padding changes",
        ),
        Case(
            (vectors(1, 3, 4),),
            construct=(2, 4, 2, 8, 0.1, False),
            observe=gradients,
            looks_at="the gradients of `x` and of all parameters",
        ),
        Case(
            (vectors(2, 3, 4),),
            construct=(2, 4, 2, 8, 1.0, False),
            looks_at=ALL_DROPPED,
            training=True,
        ),
    ],
    hints=[
        "Each layer needs weights of its own, and PyTorch must know of them: which container "
        "registers a list of modules? In `forward`, each layer reads what the one before "
        "returned.",
        "Build with `nn.ModuleList(own.EncoderLayer(...) for _ in range(layers))`; dropout and "
        "norm_first go on to every layer. If `norm_first`, set `self.norm` too.",
        "`self.norm = own.LayerNorm(d_model) if norm_first else nn.Identity()`; in `forward`, "
        "`for layer in self.layers: x = layer(x, source_mask)`, then `return self.norm(x)`.",
    ],
)
class Encoder(nn.Module):
    """A stack of encoder layers; with norm_first a final norm follows."""

    def __init__(self, layers, d_model, heads, d_ff, dropout=0.1, norm_first=False) -> None:
        super().__init__()
        self.layers = nn.ModuleList(
            own.EncoderLayer(d_model, heads, d_ff, dropout, norm_first) for _ in range(layers)
        )
        self.norm = own.LayerNorm(d_model) if norm_first else nn.Identity()

    def forward(self, x: Tensor, source_mask: Tensor | None = None) -> Tensor:
        """Return a tensor of the shape of x, (batch, source, d_model)."""
        for layer in self.layers:
            x = layer(x, source_mask)
        return self.norm(x)
