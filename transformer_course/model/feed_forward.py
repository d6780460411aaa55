"""Lesson 4: the feed-forward network, applied to each position alone.

Source: Vaswani et al. (2017), "Attention Is All You Need", section 3.3.
"""

from jaxtyping import Float
from torch import Tensor, nn


class FeedForward(nn.Module):
    """Expand each vector to ``d_ff`` features, apply ReLU, contract it again (equation 2).

    Parameters
    ----------
    d_model
        Width of the vectors that go in and come out.
    d_ff
        Width in between, four times ``d_model`` in the paper.
    """

    def __init__(self, d_model: int, d_ff: int) -> None:
        super().__init__()
        self.expand = nn.Linear(d_model, d_ff)
        self.contract = nn.Linear(d_ff, d_model)

    def forward(
        self, x: Float[Tensor, "batch length d_model"]
    ) -> Float[Tensor, "batch length d_model"]:
        """Apply the same two layers at every position."""
        return self.contract(self.expand(x).relu())
