"""Which weights a model holds: those in training, their moving average, or the best so far."""

import torch
from torch import Tensor, nn

from transformer_course.translation.training.averaging import WeightAverage
from transformer_course.translation.translator import parameters_by_name

Weights = dict[str, Tensor]


class HeldWeights:
    """Swaps weights that translate better into a model, and those in training back again.

    Parameters
    ----------
    model
        The model in training.
    decay
        See :class:`WeightAverage`; 0 for no average.
    """

    def __init__(self, model: nn.Module, decay: float) -> None:
        self.model = model
        self.best: Weights = {}
        self._average = WeightAverage(model, decay) if decay else None
        self._aside: Weights = {}  # those in training, while the model holds others

    @property
    def average(self) -> Weights:
        """The moving average; empty where there is none."""
        return self._average.tensors if self._average else {}

    @property
    def in_training(self) -> Weights:
        """The weights that the next step changes."""
        return self._aside or parameters_by_name(self.model)

    def update_average(self, step: int) -> None:
        """Take in the weights after ``step`` steps."""
        if self._average:
            self._average.update(step)

    def keep_as_best(self) -> None:
        """Keep a copy of what the model holds."""
        self.best = _copies(parameters_by_name(self.model))

    def swap_in(self, weights: Weights) -> None:
        """Let the model hold these, if there are any; those in training are kept aside."""
        if not weights:
            return
        if not self._aside:
            self._aside = _copies(parameters_by_name(self.model))
        self._fill_in(weights)

    def swap_out(self) -> None:
        """Let the model hold the weights in training again."""
        self._fill_in(self._aside)
        self._aside = {}

    def load(self, average: Weights, best: Weights) -> None:
        """Go on from a stored state; the model holds the weights in training already."""
        self._aside = {}
        self.best = best
        if self._average:
            self._average.load(average)

    @torch.no_grad()
    def _fill_in(self, weights: Weights) -> None:
        held = parameters_by_name(self.model)
        for name, tensor in weights.items():
            held[name].copy_(tensor)


def _copies(weights: Weights) -> Weights:
    return {name: tensor.detach().clone() for name, tensor in weights.items()}
