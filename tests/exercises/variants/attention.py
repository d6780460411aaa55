"""Right answers to the exercises of lesson 2, each written differently."""

import math

import torch
import torch.nn.functional as F
from torch import nn


def attention_by_einsum(query, key, value, mask=None):
    scores = torch.einsum("...qd,...kd->...qk", query, key) / query.size(-1) ** 0.5
    if mask is not None:
        scores = torch.where(mask, scores, torch.tensor(float("-inf"), dtype=scores.dtype))
    weights = torch.softmax(scores, -1).nan_to_num(0.0)
    return torch.einsum("...qk,...kv->...qv", weights, value), weights


def attention_with_scaled_query(query, key, value, mask=None):
    scores = torch.matmul(query * query.shape[-1] ** -0.5, key.transpose(-1, -2))
    if mask is None:
        mask = torch.ones_like(scores, dtype=torch.bool)
    scores = scores.masked_fill(mask == 0, -1e9)
    growth = torch.exp(scores - scores.max(dim=-1, keepdim=True).values) * mask
    weights = growth / growth.sum(dim=-1, keepdim=True).clamp(min=1e-9)
    return [torch.matmul(weights, value), weights]


def attention_row_by_row(query, key, value, mask=None):
    if query.dim() > 2:
        if mask is not None:
            mask = mask.expand(*query.shape[:-1], key.shape[-2])
        masks = [None] * len(query) if mask is None else mask
        parts = [attention_row_by_row(*part) for part in zip(query, key, value, masks, strict=True)]
        return tuple(map(torch.stack, zip(*parts, strict=True)))
    rows = []
    for i, q in enumerate(query):
        row = torch.stack([q @ k for k in key]) / math.sqrt(len(q))
        if mask is None:
            rows.append(row.softmax(0))
        elif mask[i].any():
            rows.append(row.masked_fill(~mask[i], -math.inf).softmax(0))
        else:
            rows.append(torch.zeros_like(row))
    weights = torch.stack(rows)
    return weights @ value, weights


class AttentionByTorch(nn.Module):
    def forward(self, query, key, value, mask=None):
        def attend(values):
            return F.scaled_dot_product_attention(query, key, values, attn_mask=mask)

        ones = torch.eye(key.shape[-2], dtype=key.dtype).expand(*key.shape[:-2], -1, -1)
        return attend(value), attend(ones)


def padding_by_unsqueeze(ids, pad_id):
    return ids.ne(pad_id).unsqueeze(1).unsqueeze(2)


def padding_by_view(ids, pad_id):
    batch, length = ids.size()
    return (~(ids == pad_id)).view(batch, 1, 1, length)


def padding_by_loops(ids, pad_id):
    return torch.tensor([[[[token != pad_id for token in row]]] for row in ids.tolist()])


def causal_by_comparison(length):
    position = torch.arange(length)
    return position[:, None] >= position


def causal_by_loops(length):
    return torch.tensor([[j <= i for j in range(length)] for i in range(length)])


def causal_by_triu(length):
    return ~torch.triu(torch.ones(length, length), diagonal=1).bool()


def target_by_multiplication(ids, pad_id):
    return padding_by_view(ids, pad_id) * causal_by_triu(ids.size(1))[None, None]


def target_by_logical_and(ids, pad_id):
    return torch.logical_and(padding_by_unsqueeze(ids, pad_id), causal_by_loops(ids.shape[-1]))


def target_by_tril(ids, pad_id):
    batch, length = ids.shape
    return (ids != pad_id)[:, None, None].expand(batch, 1, length, length).tril()


def sees_by_derivatives(layer, x):
    length = x.shape[1]
    x = x.clone().requires_grad_()
    output = layer(x)
    sees = torch.zeros(length, length, dtype=torch.bool)
    for i in range(length):
        for feature in range(x.shape[2]):
            (gradient,) = torch.autograd.grad(output[:, i, feature].sum(), x, retain_graph=True)
            sees[i] |= gradient.abs().amax(dim=(0, 2)) > 0
    return sees & (torch.arange(length) > torch.arange(length)[:, None])


def sees_by_loops(layer, x):
    length, before = x.size(1), layer(x)
    sees = torch.full((length, length), False)
    for i in range(length):
        for j in range(i + 1, length):
            changed = x.clone()
            changed[:, j] = 100
            sees[i, j] = bool(((layer(changed)[:, i] - before[:, i]).abs() > 1e-5).any())
    return sees


def sees_by_other_vectors(layer, x):
    other = torch.randn(x.shape, generator=torch.Generator().manual_seed(5))
    columns = []
    for j in range(x.shape[1]):
        chosen = (torch.arange(x.shape[1]) == j)[None, :, None]
        after = layer(torch.where(chosen, other, x))
        columns.append(~torch.isclose(after, layer(x)).all(dim=2).all(dim=0))
    return torch.triu(torch.stack(columns, dim=1), diagonal=1)


def sees_by_subtraction(layer, x):
    length = x.shape[1]
    return torch.tensor(
        [
            [
                j > i and not torch.allclose(layer(_changed(x, j))[:, i], layer(x)[:, i])
                for j in range(length)
            ]
            for i in range(length)
        ]
    )


def _changed(x, j):
    return torch.cat([x[:, :j], x[:, j : j + 1] - 3, x[:, j + 1 :]], dim=1)


VARIANTS = {
    "scaled_dot_product_attention": [
        attention_by_einsum,
        attention_with_scaled_query,
        attention_row_by_row,
        AttentionByTorch(),
    ],
    "padding_mask": [padding_by_unsqueeze, padding_by_view, padding_by_loops],
    "causal_mask": [causal_by_comparison, causal_by_loops, causal_by_triu],
    "target_mask": [target_by_multiplication, target_by_logical_and, target_by_tril],
    "sees_the_future": [
        sees_by_derivatives,
        sees_by_loops,
        sees_by_other_vectors,
        sees_by_subtraction,
    ],
}
