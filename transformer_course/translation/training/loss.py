"""What training makes small.

Sources: Szegedy et al. (2016), "Rethinking the Inception Architecture", section 7, for label
smoothing; Vaswani et al. (2017), "Attention Is All You Need", section 5.4, for its use here.
"""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor


def masked_mean(loss: Float[Tensor, "*tokens"], mask: Bool[Tensor, "*tokens"]) -> Float[Tensor, ""]:
    """Return the mean loss of the tokens where the mask is True: padding does not count.

    The result is 0 if the mask is False everywhere.
    """
    return torch.where(mask, loss, 0.0).sum() / mask.sum().clamp(min=1)


def smoothed_cross_entropy(
    logits: Float[Tensor, "tokens vocab"],
    targets: Int[Tensor, "tokens"],
    smoothing: float,
    pad: int,
) -> Float[Tensor, ""]:
    """Return the mean cross-entropy against smoothed targets, in nats per token.

    A share ``smoothing`` of the probability is spread evenly over all ``vocab`` types, the right
    one included: the convention of torch's ``label_smoothing``. Tokens equal to ``pad`` are left
    out of the mean.
    """
    log_probabilities = logits.log_softmax(dim=-1)
    right = log_probabilities.gather(-1, targets[:, None]).squeeze(-1)
    uniform = log_probabilities.mean(dim=-1)
    loss = -(1 - smoothing) * right - smoothing * uniform
    return masked_mean(loss, targets != pad)
