"""Right answers in other styles, for the exercises of lesson 10."""

import math

import torch
import torch.nn.functional as F
from torch import nn

from transformer_course.model import variants


def bias_by_embedding(table, length):
    limit = (table.size(0) - 1) // 2
    rows = torch.arange(length).unsqueeze(0) - torch.arange(length).unsqueeze(1)
    rows = torch.minimum(torch.maximum(rows, torch.tensor(-limit)), torch.tensor(limit)) + limit
    return F.embedding(rows, table).movedim(2, 0)


def bias_by_loops(table, length):
    limit = table.shape[0] // 2
    return torch.stack(
        [
            torch.stack(
                [table[max(-limit, min(limit, j - i)) + limit] for j in range(length)], dim=-1
            )
            for i in range(length)
        ],
        dim=1,
    )


def rotate_by_complex_numbers(x, first=0):
    pairs = torch.view_as_complex(x.unflatten(-1, (-1, 2)).contiguous())
    d_k, length = x.shape[-1], x.shape[-2]
    angles = torch.outer(
        torch.arange(first, first + length).float(), 10000 ** (-torch.arange(0, d_k, 2) / d_k)
    )
    turned = pairs * torch.polar(torch.ones_like(angles), angles)
    return torch.view_as_real(turned).flatten(-2)


def rotate_feature_by_feature(x, first=0):
    out = x.clone()
    for place in range(x.shape[-2]):
        for i in range(x.shape[-1] // 2):
            angle = (place + first) / 10000 ** (2 * i / x.shape[-1])
            a, b = x[..., place, 2 * i], x[..., place, 2 * i + 1]
            out[..., place, 2 * i] = a * math.cos(angle) - b * math.sin(angle)
            out[..., place, 2 * i + 1] = a * math.sin(angle) + b * math.cos(angle)
    return out


def alibi_by_the_package(heads, length):
    return variants.alibi_bias(heads, length, length)


def alibi_by_loops(heads, length):
    bias = torch.zeros(heads, length, length)
    start = 2.0 ** (-8 / heads)
    for h in range(heads):
        for i in range(length):
            for j in range(length):
                bias[h, i, j] = -(start ** (h + 1)) * abs(i - j)
    return bias


def rms_norm_by_torch(x, gain, eps=1e-6):
    return F.rms_norm(x, gain.shape, gain, eps)


def rms_norm_by_length(x, gain, eps=1e-6):
    square = torch.linalg.vecdot(x, x).unsqueeze(-1) / x.size(-1)
    return x * torch.rsqrt(square + eps) * gain


class GatedByHand(nn.Module):
    def __init__(self, d_model, d_ff):
        super().__init__()
        width = int(d_ff * 2 / 3)
        self.gate = nn.Linear(d_model, width, bias=False)
        self.expand = nn.Linear(d_model, width, bias=False)
        self.contract = nn.Linear(width, d_model, bias=False)

    def forward(self, x):
        gate = x @ self.gate.weight.T
        return (gate * torch.sigmoid(gate) * self.expand(x)) @ self.contract.weight.T


class GatedByModule(nn.Module):
    def __init__(self, d_model, d_ff):
        super().__init__()
        self.contract = nn.Linear(d_ff * 2 // 3, d_model, False)
        self.expand = nn.Linear(d_model, d_ff * 2 // 3, False)
        self.gate = nn.Linear(d_model, d_ff * 2 // 3, False)
        self.act = nn.SiLU()

    def forward(self, x):
        return self.contract(torch.mul(self.expand(x), self.act(self.gate(x))))


class WithCopiedWeights(variants.SwiGLU):
    def forward(self, x):
        return self.contract(F.silu(F.linear(x, self.gate.weight.data)) * self.expand(x))


def grouped_by_reshape(query, key, value, cache):
    cache.setdefault("k", []).append(key)
    cache.setdefault("v", []).append(value)
    keys, values = torch.cat(cache["k"], 2), torch.cat(cache["v"], 2)
    groups = key.shape[1]
    q = query.reshape(query.shape[0], groups, -1, query.shape[-1])
    weights = (q @ keys.transpose(-2, -1) / math.sqrt(q.shape[-1])).softmax(-1)
    return (weights @ values).reshape(query.shape)


def grouped_by_expand(query, key, value, cache):
    def join(name, new):
        old = cache.get(name)
        cache[name] = new if old is None else torch.cat((old, new), dim=-2)
        b, g, n, d = cache[name].shape
        shared = cache[name][:, :, None].expand(b, g, query.shape[1] // g, n, d)
        return shared.reshape(b, query.shape[1], n, d)

    return F.scaled_dot_product_attention(query, join("key", key), join("value", value))


def linear_by_einsum(query, key, value, state):
    q, k = F.elu(query).add(1), F.elu(key).add(1)
    memory = state[0] + torch.einsum("bk,bv->bkv", k, value)
    total = state[1] + k
    above = torch.einsum("bk,bkv->bv", q, memory)
    return above / torch.einsum("bk,bk->b", q, total)[:, None], (memory, total)


def linear_by_where(query, key, value, state):
    def features(x):
        return torch.where(x > 0, x + 1, x.exp())

    q, k = features(query), features(key)
    memory, total = state
    memory = memory + torch.bmm(k.unsqueeze(2), value.unsqueeze(1))
    total = total + k
    return torch.bmm(q.unsqueeze(1), memory).squeeze(1) / (q * total).sum(1, True), (memory, total)


def route_by_threshold(logits, active):
    lowest = logits.sort(dim=-1, descending=True).values[:, active - 1 : active]
    chosen = logits >= lowest
    weights = logits.masked_fill(~chosen, -math.inf).softmax(dim=-1)
    return weights, chosen.sum(dim=0) / chosen.sum()


def route_token_by_token(logits, active):
    rows, counts = [], torch.zeros(logits.shape[1])
    for row in logits:
        order = row.argsort(descending=True)[:active]
        all_shares = row.softmax(0)
        kept = torch.zeros(len(row)).index_fill(0, order, 1.0)
        counts += kept
        rows.append(all_shares * kept / (all_shares * kept).sum())
    return torch.stack(rows), counts / counts.sum()


def delta_by_matrices(query, key, value, keep, rate, state):
    """As papers write it: the state is multiplied by I - rate k k^T."""
    outer = torch.einsum("bi,bj->bij", key, key)
    forget = keep.view(-1, 1, 1) * (torch.eye(key.shape[1]) - rate.view(-1, 1, 1) * outer)
    state = forget @ state + rate.view(-1, 1, 1) * torch.einsum("bk,bv->bkv", key, value)
    return torch.einsum("bk,bkv->bv", query, state), state


def delta_by_blending(query, key, value, keep, rate, state):
    kept = state * keep.unsqueeze(-1).unsqueeze(-1)
    old = (kept * key.unsqueeze(-1)).sum(1)
    goal = torch.lerp(old, value, rate.unsqueeze(-1))
    kept = kept + torch.bmm(key.unsqueeze(2), (goal - old).unsqueeze(1))
    return torch.bmm(query.unsqueeze(1), kept).squeeze(1), kept


VARIANTS = {
    "relative_bias": [bias_by_embedding, bias_by_loops],
    "rotate": [rotate_by_complex_numbers, rotate_feature_by_feature],
    "alibi_bias": [alibi_by_the_package, alibi_by_loops],
    "rms_norm": [rms_norm_by_torch, rms_norm_by_length],
    "SwiGLU": [GatedByHand, GatedByModule],
    "grouped_query_step": [grouped_by_reshape, grouped_by_expand],
    "linear_attention_step": [linear_by_einsum, linear_by_where],
    "route": [route_by_threshold, route_token_by_token],
    "delta_rule_step": [delta_by_matrices, delta_by_blending],
}
LOSE_GRADIENTS = {"SwiGLU": [WithCopiedWeights]}
