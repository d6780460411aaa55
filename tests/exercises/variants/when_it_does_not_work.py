"""Right answers in other styles, for the exercises of lesson 12."""

import copy

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


def steps_by_while(step, batch, most):
    source, target_in, target_out = batch
    taken = 0
    while taken < most:
        taken += 1
        if step(source, target_in, target_out) < 0.1:
            return taken
    return None


def steps_by_next(step, batch, most):
    return next((n for n in range(1, most + 1) if step(*batch) < 0.1), None)


def steps_with_a_flag(step, batch, most):
    count, learnt = 0, False
    while not learnt and count != most:
        learnt = step(*batch) < 0.1
        count = count + 1
    return count if learnt else None


def steps_with_a_history(step, batch, most):
    losses = []
    for _ in range(most):
        losses.append(step(*batch))
        if losses[-1] < 0.1:
            break
    return len(losses) if losses[-1] < 0.1 else None


def steps_until_nan(step, batch, most):
    for number in range(most):
        loss = torch.tensor(step(*batch))
        if loss.isnan():
            break
        if loss.lt(0.1):
            return number + 1
    return None


def moved_by_where(scores, batch, pad):
    source, target_in, target_out = batch
    longer = torch.cat([source, torch.full((len(source), 3), pad)], dim=1)
    moved = torch.abs(scores(source, target_in) - scores(longer, target_in))
    return float(torch.where((target_out == pad).unsqueeze(-1), 0, moved).max())


def moved_sentence_by_sentence(scores, batch, pad):
    source, target_in, target_out = batch
    padding = source.new_full((source.size(0), 3), pad)
    before = scores(source, target_in)
    after = scores(torch.hstack([source, padding]), target_in)
    largest = 0.0
    for old, new, ids in zip(before, after, target_out, strict=True):
        for position, token in enumerate(ids.tolist()):
            if token != pad:
                largest = max(largest, (new[position] - old[position]).abs().max().item())
    return largest


def moved_one_sentence_at_a_time(scores, batch, pad):
    largest = []
    for source, target_in, target_out in zip(*(ids.split(1) for ids in batch), strict=True):
        longer = F.pad(source, [0, 3], "constant", pad)
        moved = scores(longer, target_in) - scores(source, target_in)
        largest.append(moved[0, target_out[0] != pad].abs().max())
    return max(largest).item()


def moved_by_both_extremes(scores, batch, pad):
    source, target_in, target_out = batch
    longer = source.new_full((source.shape[0], source.shape[1] + 3), pad)
    longer[:, : source.shape[1]] = source
    change = scores(longer, target_in) - scores(source, target_in)
    change = change * target_out.ne(pad)[:, :, None]
    return max(change.max().item(), -change.min().item())


def moved_in_numpy(scores, batch, pad):
    source, target_in, target_out = batch
    longer = torch.tensor([[*row, pad, pad, pad] for row in source.tolist()])
    before, after = (scores(ids, target_in).numpy() for ids in (source, longer))
    return float(np.abs(after - before)[target_out.numpy() != pad].max())


def shares_by_loops(scores, translate, pairs, batch, pad):
    source, target_in, target_out = batch
    logits = scores(source, target_in)
    forced = free = 0
    for (_, target), row, wanted in zip(pairs, logits, target_out, strict=True):
        length = len(target) + 1
        forced += row[:length].argmax(1).tolist() == wanted[:length].tolist()
    for (_, target), translation in zip(pairs, translate([s for s, _ in pairs]), strict=True):
        if translation == target:
            free += 1
    return forced / len(pairs), free / len(pairs)


def shares_by_counting_faults(scores, translate, pairs, batch, pad):
    source, target_in, target_out = batch
    _, best = scores(source, target_in).max(-1)
    faults = ((best != target_out) * (target_out != pad)).sum(1)
    sources, targets = map(list, zip(*pairs, strict=True))
    same = [said == target for said, target in zip(translate(sources), targets, strict=True)]
    return (faults == 0).double().mean().item(), float(np.mean(same))


def shares_by_filling(scores, translate, pairs, batch, pad):
    source, target_in, target_out = batch
    best = torch.where(target_out == pad, pad, scores(source, target_in).argmax(2))
    forced = [torch.equal(*rows) for rows in zip(best, target_out, strict=True)]
    free = [translate([source])[0] == target for source, target in pairs]
    return sum(forced) / len(forced), sum(free) / len(free)


def shares_one_sentence_at_a_time(scores, translate, pairs, batch, pad):
    forced, free = [], []
    for (words, target), *ids in zip(pairs, *batch, strict=True):
        source, target_in, target_out = (row[None] for row in ids)
        best = scores(source, target_in)[0].topk(1).indices.flatten().tolist()
        wanted = [token for token in target_out[0].tolist() if token != pad]
        forced.append(best[: len(wanted)] == wanted)
        free.append(translate([words]) == [target])
    return np.mean(forced), np.mean(free)


def shares_by_masked_fill(scores, translate, pairs, batch, pad):
    *inputs, target_out = batch
    wrong = scores(*inputs).argmax(dim=-1).ne(target_out).masked_fill(target_out.eq(pad), False)
    translations = translate([pair[0] for pair in pairs])
    count = sum(pair[1] == said for pair, said in zip(pairs, translations, strict=True))
    return 1 - float(wrong.any(dim=-1).float().mean()), count / len(translations)


def still_by_a_copy(network, step, batch):
    old = copy.deepcopy(network)
    step(*batch)
    pairs = zip(network.named_parameters(), old.parameters(), strict=True)
    return [name for (name, now), then in pairs if bool((now == then).all())]


def still_by_moves(network, step, batch):
    names = [name for name, _ in network.named_parameters()]
    then = [weight.detach().clone() for weight in network.parameters()]
    step(*batch)
    moves = [(now - old).abs().max() for now, old in zip(network.parameters(), then, strict=True)]
    return [name for name, move in zip(names, moves, strict=True) if move.item() == 0]


def still_in_numpy(network, step, batch):
    def numbers():
        return {n: p.detach().numpy().copy() for n, p in network.named_parameters()}

    before, _, after = numbers(), step(*batch), numbers()
    return [name for name in before if np.array_equal(before[name], after[name])]


def still_by_lists(network, step, batch):
    source, target_in, target_out = batch
    before = {}
    for name, weight in network.named_parameters():
        before[name] = weight.tolist()
    step(source, target_in, target_out)
    still = list(before)
    for name, weight in network.named_parameters():
        if weight.tolist() != before[name]:
            still.remove(name)
    return still


def still_by_state(network, step, batch):
    state = {name: tensor.clone() for name, tensor in network.state_dict().items()}
    step(*batch)
    return [n for n, p in network.named_parameters() if not torch.any(p != state[n])]


VARIANTS = {
    "loss_by_position": [
        loss_flattened,
        loss_token_by_token,
        loss_by_nanmean,
        loss_in_numpy,
        loss_position_by_position,
    ],
    "steps_to_learn": [
        steps_by_while,
        steps_by_next,
        steps_with_a_flag,
        steps_with_a_history,
        steps_until_nan,
    ],
    "moved_by_padding": [
        moved_by_where,
        moved_sentence_by_sentence,
        moved_one_sentence_at_a_time,
        moved_by_both_extremes,
        moved_in_numpy,
    ],
    "forced_and_free": [
        shares_by_loops,
        shares_by_counting_faults,
        shares_by_filling,
        shares_one_sentence_at_a_time,
        shares_by_masked_fill,
    ],
    "still_weights": [
        still_by_a_copy,
        still_by_moves,
        still_in_numpy,
        still_by_lists,
        still_by_state,
    ],
}
