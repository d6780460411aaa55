"""The mean of the weights over the last steps, in which the noise of single batches cancels.

Sources: Polyak and Juditsky (1992), "Acceleration of Stochastic Approximation by Averaging", take
the mean over all steps; Vaswani et al. (2017), "Attention Is All You Need", section 6.1, over the
last checkpoints. An exponential moving average serves the same purpose, and forgets the early
weights without waiting for the last.
"""

import torch
from torch import Tensor, nn


class WeightAverage:
    """An exponential moving average of a model's weights.

    Parameters
    ----------
    model
        Whose weights to average.
    decay
        Share of the old average that each step keeps, 0 to 1; it averages over about
        ``1 / (1 - decay)`` steps. Early steps keep less, so that the first random weights are
        soon forgotten.
    """

    def __init__(self, model: nn.Module, decay: float) -> None:
        self.decay = decay
        self._weights = dict(model.named_parameters())
        self.tensors = {name: weight.detach().clone() for name, weight in self._weights.items()}

    @torch.no_grad()
    def update(self, step: int) -> None:
        """Take in the weights after ``step`` steps."""
        keep = min(self.decay, step / (step + 10))
        average, weights = list(self.tensors.values()), list(self._weights.values())
        torch._foreach_lerp_(average, weights, 1 - keep)

    def load(self, tensors: dict[str, Tensor]) -> None:
        """Go on with an average kept earlier."""
        for name, tensor in self.tensors.items():
            tensor.copy_(tensors[name])
