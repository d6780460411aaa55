"""What training makes small.

Sources: Szegedy et al. (2016), "Rethinking the Inception Architecture", section 7, for label
smoothing; Vaswani et al. (2017), "Attention Is All You Need", section 5.4, for its use here.
"""

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor

from transformer_course.model import Transformer
from transformer_course.translation.corpora.batches import Batch
from transformer_course.translation.training.cpu_loss import cpu_loss
from transformer_course.translation.training.precision import mixed_precision


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


def training_loss(
    model: Transformer, batch: Batch, smoothing: float, precision: torch.dtype, fast: bool
) -> Float[Tensor, ""]:
    """Return the loss of one step, by :func:`cpu_loss` where it applies: in 32 bits on a CPU.

    An output layer with a bias, as published translators have, takes torch's kernel.
    """
    device = batch.source.device
    applies = precision == torch.float32 and device.type == "cpu" and model.output.bias is None
    if fast and applies:
        return cpu_loss(model, batch.source, batch.target_in, batch.target_out, smoothing)
    # torch's kernel for smoothed_cross_entropy; tests hold them equal.
    with mixed_precision(device, precision):
        logits = model(batch.source, batch.target_in).flatten(0, 1)
        targets = batch.target_out.flatten()
        return F.cross_entropy(
            logits, targets, ignore_index=model.config.pad_id, label_smoothing=smoothing
        )
