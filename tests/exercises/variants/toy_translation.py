"""Right answers in other styles, for the exercises of lesson 7."""

import math

import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.utils.rnn import pad_sequence


def collate_with_pad_sequence(pairs, bos, eos, pad):
    def fill(rows):
        return pad_sequence(
            [torch.tensor(row) for row in rows], batch_first=True, padding_value=pad
        )

    sources, targets = zip(*pairs, strict=True)
    return (
        fill([[*s, eos] for s in sources]),
        fill([[bos, *t] for t in targets]),
        fill([[*t, eos] for t in targets]),
    )


def collate_by_slicing(pairs, bos, eos, pad):
    # The end token of short rows goes in too, where only padding comes out: harmless.
    width = max(len(t) for _, t in pairs) + 2
    whole = torch.full((len(pairs), width), pad)
    for row, (_, target) in enumerate(pairs):
        ids = [bos, *target, eos]
        whole[row, : len(ids)] = torch.tensor(ids)
    source = torch.full((len(pairs), max(len(s) for s, _ in pairs) + 1), pad)
    for row, (ids, _) in enumerate(pairs):
        source[row, : len(ids)] = torch.tensor(ids)
        source[row, len(ids)] = eos
    return [source, whole[:, :-1], whole[:, 1:]]


def masked_mean_by_sum(loss, mask):
    return (loss * mask).sum() / mask.sum()


def masked_mean_by_loop(loss, mask):
    total, count = torch.tensor(0.0), 0
    for each, real in zip(loss.flatten(), mask.flatten(), strict=True):
        if real:
            total = total + each
            count += 1
    return total / count


def smoothed_by_torch(logits, targets, smoothing, pad):
    return F.cross_entropy(logits, targets, label_smoothing=smoothing, ignore_index=pad)


def smoothed_by_two_losses(logits, targets, smoothing, pad):
    real = targets != pad
    logits, targets = logits[real], targets[real]
    log_p = logits - torch.logsumexp(logits, -1, keepdim=True)
    nll = -log_p[torch.arange(len(targets)), targets]
    spread = -log_p.sum(-1) / logits.size(-1)
    return torch.mean((1 - smoothing) * nll + smoothing * spread)


def smoothed_by_soft_targets(logits, targets, smoothing, pad):
    vocab = logits.size(-1)
    wanted = F.one_hot(targets, vocab).float() * (1 - smoothing) + smoothing / vocab
    return F.cross_entropy(logits[targets != pad], wanted[targets != pad])


def adam_by_lerp(weight, gradient, mean, square, step, rate, beta1=0.9, beta2=0.98, eps=1e-9):
    mean = torch.lerp(mean, gradient, 1 - beta1)
    square = square.mul(beta2).addcmul(gradient, gradient, value=1 - beta2)
    size = torch.sqrt(square / (1 - beta2**step)).add(eps)
    return [weight.addcdiv(mean, size, value=-rate / (1 - beta1**step)), mean, square]


def adam_with_one_factor(weight, grad, m, v, t, lr, b1=0.9, b2=0.98, eps=1e-9):
    m = m - (1 - b1) * (m - grad)
    v = v - (1 - b2) * (v - grad * grad)
    unbiased = math.sqrt(1 - b2**t)
    return weight - lr * unbiased / (1 - b1**t) * m / (v**0.5 + eps * unbiased), m, v


def noam_with_if(step, d_model, warmup):
    rate = step / warmup**1.5 if step < warmup else 1 / math.sqrt(step)
    return rate / math.sqrt(d_model)


def noam_with_tensors(step, d_model, warmup):
    branches = torch.tensor([step**-0.5, step * warmup**-1.5], dtype=torch.float64)
    return float(branches.min() * d_model**-0.5)


def step_with_module_loss(network, optimizer, source, target_in, target_out, pad, smoothing=0.0):
    optimizer.zero_grad()
    scores = network(source, target_in)
    loss = nn.CrossEntropyLoss(ignore_index=pad, label_smoothing=smoothing)(
        scores.reshape(-1, scores.shape[-1]), target_out.reshape(-1)
    )
    loss.backward()
    optimizer.step()
    return float(loss)


def step_by_torch(network, optimizer, source, target_in, target_out, pad, smoothing=0.0):
    logits = network(source, target_in).transpose(1, 2)
    loss = F.cross_entropy(logits, target_out, ignore_index=pad, label_smoothing=smoothing)
    network.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item()


def step_clearing_at_the_end(network, optimizer, source, target_in, target_out, pad, share=0.0):
    log_p = network(source, target_in).log_softmax(-1)
    right = log_p.gather(-1, target_out.unsqueeze(-1)).squeeze(-1)
    per_token = -(1 - share) * right - share * log_p.mean(-1)
    loss = per_token[target_out != pad].mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    return loss.detach().item()


def masked_mean_as_a_number(loss, mask):
    return torch.tensor((loss * mask).sum().item() / mask.sum().item())


@torch.no_grad()
def smoothed_without_gradient(logits, targets, smoothing, pad):
    return smoothed_by_torch(logits, targets, smoothing, pad)


VARIANTS = {
    "collate": [collate_with_pad_sequence, collate_by_slicing],
    "masked_mean": [masked_mean_by_sum, masked_mean_by_loop],
    "smoothed_cross_entropy": [
        smoothed_by_torch,
        smoothed_by_two_losses,
        smoothed_by_soft_targets,
    ],
    "adam_update": [adam_by_lerp, adam_with_one_factor],
    "noam": [noam_with_if, noam_with_tensors],
    "training_step": [step_with_module_loss, step_by_torch, step_clearing_at_the_end],
}
LOSE_GRADIENTS = {
    "masked_mean": [masked_mean_as_a_number],
    "smoothed_cross_entropy": [smoothed_without_gradient],
}
