"""Cross-entropy against smoothed targets."""

import torch
from torch import Tensor, nn

from transformer_course.checker.cases import Case, Property, gradients
from transformer_course.checker.exercise import exercise
from transformer_course.exercises import own
from transformer_course.translation.training import loss


def _logits(tokens: int, vocab: int) -> Tensor:
    grid = torch.arange(tokens * vocab, dtype=torch.float32).reshape(tokens, vocab)
    return 3 * torch.sin(2.7 * grid)


@exercise(
    reference=loss.smoothed_cross_entropy,
    cases=[
        Case((_logits(1, 4), torch.tensor([2]), 0.1, 0)),
        Case((_logits(5, 7), torch.tensor([3, 1, 6, 0, 0]), 0.1, 0)),
        Case((_logits(6, 5), torch.tensor([0, 4, 4, 1, 0, 2]), 0.3, 4)),
        Case((_logits(3, 6) + 100, torch.tensor([5, 1, 1]), 0.0, 0)),
        # A model so sure of itself that most of its probabilities are 0 in float32.
        Case((60 * _logits(3, 5), torch.tensor([2, 1, 4]), 0.1, 0)),
        Case(
            (_logits(3, 4), torch.tensor([2, 1, 0]), 0.1, 0),
            observe=gradients,
            looks_at="the gradients of the logits",
        ),
    ],
    properties=[
        Property("the loss is not negative", lambda value, case: float(value) >= 0),
    ],
    hints=[
        "Begin without smoothing: the loss of a token is minus the log-probability of the right "
        "one, `logits.log_softmax(dim=-1)` looked up at its target.",
        "The smoothed target gives `1 - smoothing` to the right token and spreads `smoothing` "
        "evenly over all tokens. The loss is the mean of two losses with these weights: that of "
        "the right token, and the mean over all tokens.",
        "`-(1 - smoothing) * right - smoothing * log_probabilities.mean(dim=-1)` for each token, "
        "then `own.masked_mean(per_token, targets != pad)`.",
    ],
)
def smoothed_cross_entropy(logits: Tensor, targets: Tensor, smoothing: float, pad: int) -> Tensor:
    """Return the mean loss per real token, a tensor without axes."""
    vocab = logits.shape[-1]
    right = nn.functional.one_hot(targets, vocab)
    wanted = (1 - smoothing) * right + smoothing / vocab
    log_probabilities = logits.log_softmax(dim=-1)
    per_token = -(wanted * log_probabilities).sum(dim=-1)
    return own.masked_mean(per_token, targets != pad)


# What mistakes in smoothed_cross_entropy.toml are made with.


def _plain_number(logits: Tensor, targets: Tensor, smoothing: float, pad: int) -> float:
    return loss.smoothed_cross_entropy(logits, targets, smoothing, pad).item()


def _integers(logits: Tensor, targets: Tensor, smoothing: float, pad: int) -> Tensor:
    wanted = nn.functional.one_hot(targets, logits.shape[-1])
    wanted *= 1 - smoothing
    return own.masked_mean(-(wanted * logits.log_softmax(dim=-1)).sum(dim=-1), targets != pad)
