"""Right answers in other styles, for the exercises of lesson 3."""

import math

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from transformer_course import model

with FlopCounterMode(display=False):
    F.linear(torch.ones(1), torch.ones(1, 1))  # torch imports much at the first use


def split_by_chunks(x, heads):
    return torch.stack(x.chunk(heads, dim=-1), dim=1)


def split_by_permute(x, heads):
    batch, length, d_model = x.size()
    d_k = int(d_model / heads)
    return x.reshape(batch, length, heads, d_k).permute(0, 2, 1, 3).contiguous()


def split_by_copying(x, heads):
    batch, length, d_model = x.shape
    d_k = d_model // heads
    pieces = torch.zeros(batch, heads, length, d_k, dtype=x.dtype)
    for head in range(heads):
        pieces[:, head] = x[:, :, head * d_k : (head + 1) * d_k]
    return pieces


def merge_by_concatenation(x):
    return torch.cat([x[:, head] for head in range(x.shape[1])], dim=-1)


def merge_by_contiguous_view(x):
    batch, heads, _, d_k = x.shape
    return x.permute(0, 2, 1, 3).contiguous().view(batch, -1, heads * d_k)


class _Projections(nn.Module):
    def __init__(self, d_model, heads):
        super().__init__()
        self.heads = heads
        self.query_projection = nn.Linear(d_model, d_model)
        self.key_projection = nn.Linear(d_model, d_model)
        self.value_projection = nn.Linear(d_model, d_model)
        self.output_projection = nn.Linear(d_model, d_model)


class FusedAndFolded(_Projections):
    """The heads stay a part of the batch; the mask is repeated for each of them."""

    def forward(self, query, memory, mask=None):
        def fold(x):
            return model.split_heads(x, self.heads).flatten(0, 1)

        if mask is not None:
            shape = (len(query), self.heads, query.shape[1], memory.shape[1])
            mask = mask.expand(shape).flatten(0, 1)
        q = fold(self.query_projection(query))
        k = fold(self.key_projection(memory))
        v = fold(self.value_projection(memory))
        out = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        out = out.unflatten(0, (len(query), self.heads))
        return self.output_projection(merge_by_concatenation(out))


class HeadByHead(_Projections):
    """A loop over the heads, each with its rows of the projections."""

    def forward(self, query, memory, mask=None):
        q, k, v = (
            projection(x).chunk(self.heads, dim=-1)
            for projection, x in (
                (self.query_projection, query),
                (self.key_projection, memory),
                (self.value_projection, memory),
            )
        )
        if mask is not None and mask.dim() == 4:
            mask = mask[:, 0]  # the same for every head
        outputs = []
        for head in range(self.heads):
            scores = torch.bmm(q[head], k[head].mT) / math.sqrt(q[head].shape[-1])
            if mask is not None:
                scores = torch.where(mask, scores, float("-inf"))
            weights = torch.nan_to_num(torch.softmax(scores, dim=-1))
            outputs.append(torch.bmm(weights, v[head]))
        return self.output_projection(torch.cat(outputs, dim=-1))


class ByEinsum(_Projections):
    """No transposes: the letters say where the heads are."""

    def forward(self, query, memory, mask=None):
        batch, length, d_model = query.shape
        d_k = d_model // self.heads
        q = self.query_projection(query).view(batch, length, self.heads, d_k)
        k = self.key_projection(memory).view(batch, -1, self.heads, d_k)
        v = self.value_projection(memory).view(batch, -1, self.heads, d_k)
        scores = torch.einsum("bqhd,bkhd->bhqk", q, k) * d_k**-0.5
        if mask is not None:
            scores = scores.masked_fill(mask == 0, -1e9)
        weights = scores.softmax(-1)
        if mask is not None:
            weights = weights * mask
        merged = torch.einsum("bhqk,bkhd->bqhd", weights, v).reshape(batch, length, d_model)
        return self.output_projection(merged)


def cost_counted(d_model, heads, query, key):
    """Run the course's module once, and count what happens."""
    attention = model.MultiHeadAttention(d_model, heads)
    sentences = torch.randn(1, query, d_model), torch.randn(1, key, d_model)
    with (
        torch.no_grad(),
        FlopCounterMode(display=False) as counter,
        model.capture_attention(attention) as maps,
    ):
        attention(*sentences)
    return {
        "stored weights": maps[""].numel(),
        "parameters": sum(parameter.numel() for parameter in attention.parameters()),
        "multiplications": counter.get_total_flops() // 2,  # a multiplication and an addition
    }


def cost_head_by_head(d_model, heads, query, key):
    d_k = d_model / heads
    total = 0
    for _ in range(heads):
        total += (query + 2 * key) * d_model * d_k  # queries, keys and values
        total += query * key * d_k * 2
    total += query * d_model**2
    return {
        "parameters": 4 * d_model * (d_model + 1),
        "multiplications": int(total),
        "stored weights": heads * query * key,
    }


class WithFixedWeights(model.MultiHeadAttention):
    """The queries and keys are never trained."""

    def forward(self, query, memory, mask=None):
        q = model.split_heads(self.query_projection(query), self.heads)
        k = model.split_heads(self.key_projection(memory), self.heads)
        v = model.split_heads(self.value_projection(memory), self.heads)
        _, weights = model.scaled_dot_product_attention(q, k, v, mask)
        return self.output_projection(model.merge_heads(weights.detach() @ v))


VARIANTS = {
    "split_heads": [split_by_chunks, split_by_permute, split_by_copying],
    "merge_heads": [merge_by_concatenation, merge_by_contiguous_view],
    "MultiHeadAttention": [FusedAndFolded, HeadByHead, ByEinsum],
    "attention_cost": [cost_counted, cost_head_by_head],
}
LOSE_GRADIENTS = {"MultiHeadAttention": [WithFixedWeights]}
