"""Right answers in other styles, for the exercises of lesson 12."""

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn


def loss_flattened(scores, batch, pad):
    source, target_in, target_out = batch
    logits = scores(source, target_in)
    losses = F.cross_entropy(
        logits.flatten(0, 1), target_out.flatten(), ignore_index=pad, reduction="none"
    )
    return losses.view_as(target_out).sum(dim=0) / target_out.ne(pad).sum(dim=0)


def loss_token_by_token(scores, batch, pad):
    source, target_in, target_out = batch
    logits = scores(source, target_in)
    means = []
    for position in range(target_out.shape[1]):
        losses = [
            -torch.log_softmax(row[position], dim=0)[ids[position]]
            for row, ids in zip(logits, target_out, strict=True)
            if ids[position] != pad
        ]
        means.append(sum(losses) / len(losses))
    return torch.stack(means)


def loss_by_nanmean(scores, batch, pad):
    *inputs, target_out = batch
    log_probabilities = scores(*inputs).log_softmax(dim=-1)
    losses = -log_probabilities.gather(-1, target_out.unsqueeze(-1)).squeeze(-1)
    return losses.masked_fill(target_out == pad, torch.nan).nanmean(dim=0)


def loss_in_numpy(scores, batch, pad):
    source, target_in, target_out = batch
    with torch.no_grad():
        logits = scores(source, target_in).numpy()
    logits = logits - logits.max(axis=-1, keepdims=True)
    chosen = np.take_along_axis(logits, target_out.numpy()[..., None], axis=-1)[..., 0]
    losses = np.log(np.exp(logits).sum(axis=-1)) - chosen
    return torch.from_numpy(np.average(losses, axis=0, weights=target_out.numpy() != pad)).float()


def loss_position_by_position(scores, batch, pad):
    source, target_in, target_out = batch
    criterion = nn.CrossEntropyLoss(ignore_index=pad)
    logits = scores(source, target_in).unbind(dim=1)
    return torch.stack([criterion(*pair) for pair in zip(logits, target_out.T, strict=True)])


VARIANTS = {
    "loss_by_position": [
        loss_flattened,
        loss_token_by_token,
        loss_by_nanmean,
        loss_in_numpy,
        loss_position_by_position,
    ],
}
