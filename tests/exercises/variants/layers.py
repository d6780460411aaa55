"""Right answers in other styles, for the exercises of lesson 5."""

import copy
import functools

import torch
import torch.nn.functional as F
from torch import nn

from transformer_course import model


def norm_by_torch(x, gain, bias, eps=1e-5):
    return F.layer_norm(x, gain.shape, gain, bias, eps)


def norm_by_squares(x, gain, bias, eps=1e-5):
    centred = x - torch.mean(x, -1, keepdim=True)
    variance = torch.einsum("...d,...d->...", centred, centred) / x.shape[-1]
    return centred * torch.rsqrt(variance + eps).unsqueeze(-1) * gain + bias


def norm_by_loop(x, gain, bias, eps=1e-5):
    rows = []
    for row in x.reshape(-1, x.shape[-1]):
        mean = sum(row) / len(row)
        variance = sum((number - mean) ** 2 for number in row) / len(row)
        rows.append((row - mean) / (variance + eps) ** 0.5 * gain + bias)
    return torch.stack(rows).reshape(x.shape)


def add_norm_in_steps(x, sublayer, norm, norm_first):
    read = norm(x) if norm_first else x
    total = sublayer(read).add(x)
    return total if norm_first else norm(total)


def add_norm_both_ways(x, sublayer, norm, norm_first):
    pre, post = x + sublayer(norm(x)), norm(torch.add(x, sublayer(x)))
    return [post, pre][int(norm_first)]


class EncoderLayerByDef(model.EncoderLayer):
    def forward(self, x, source_mask=None):
        def attend(z):
            return self.self_attention(query=z, memory=z, mask=source_mask)

        attended = self.add_norm_attention(x, sublayer=attend)
        return self.add_norm_feed_forward(attended, lambda z: self.feed_forward(z))


class EncoderLayerByHand(model.EncoderLayer):
    def forward(self, x, source_mask=None):
        for wrap, sublayer in (
            (self.add_norm_attention, lambda z: self.self_attention(z, z, source_mask)),
            (self.add_norm_feed_forward, self.feed_forward),
        ):
            if wrap.norm_first:
                x = x + wrap.dropout(sublayer(wrap.norm(x)))
            else:
                x = wrap.norm(x + wrap.dropout(sublayer(x)))
        return x


class EncoderLayerInOneExpression(model.EncoderLayer):
    def forward(self, x, mask=None):
        return self.add_norm_feed_forward(
            self.add_norm_attention(x, lambda x: self.self_attention(x, x, mask)),
            self.feed_forward,
        )


class DecoderLayerByDef(model.DecoderLayer):
    def forward(self, y, memory, source_mask=None, target_mask=None):
        def look_back(z):
            return self.self_attention(z, z, mask=target_mask)

        def look_across(z):
            return self.cross_attention(z, memory, mask=source_mask)

        y = self.add_norm_self_attention(y, look_back)
        y = self.add_norm_cross_attention(y, look_across)
        return self.add_norm_feed_forward(y, self.feed_forward.forward)


class DecoderLayerByPartial(model.DecoderLayer):
    def forward(self, x, memory, source_mask=None, target_mask=None):
        cross = functools.partial(self.cross_attention, memory=memory, mask=source_mask)
        steps = [
            (self.add_norm_self_attention, lambda z: self.self_attention(z, z, target_mask)),
            (self.add_norm_cross_attention, cross),
            (self.add_norm_feed_forward, self.feed_forward),
        ]
        for add_norm, sublayer in steps:
            x = add_norm(x, sublayer)
        return x


class EncoderByAppending(nn.Module):
    def __init__(self, n, d_model, heads, d_ff, dropout=0.1, norm_first=False):
        super().__init__()
        self.layers = nn.ModuleList()
        for _ in range(n):
            self.layers.append(
                model.EncoderLayer(d_model, heads, d_ff, norm_first=norm_first, dropout=dropout)
            )
        self.norm = model.LayerNorm(d_model) if norm_first else None

    def forward(self, x, source_mask=None):
        for layer in self.layers:
            x = layer(x, source_mask=source_mask)
        if self.norm is None:
            return x
        return self.norm(x)


class EncoderByCopies(nn.Module):
    def __init__(self, layers, d_model, heads, d_ff, dropout=0.1, norm_first=False):
        super().__init__()
        first = model.EncoderLayer(d_model, heads, d_ff, dropout, norm_first)
        self.layers = nn.Sequential(*(copy.deepcopy(first) for _ in range(layers)))
        self.norm_first = norm_first
        if norm_first:
            self.norm = model.LayerNorm(d_model)

    def forward(self, x, source_mask=None):
        output = functools.reduce(lambda y, layer: layer(y, source_mask), self.layers, x)
        return self.norm(output) if self.norm_first else output


def norm_by_statistics_without_gradient(x, gain, bias, eps=1e-5):
    with torch.no_grad():
        mean, variance = x.mean(-1, keepdim=True), x.var(-1, keepdim=True, correction=0)
    return gain * (x - mean) / (variance + eps).sqrt() + bias


class EncoderLayerWithAttentionCutOff(model.EncoderLayer):
    def forward(self, x, source_mask=None):
        x = self.add_norm_attention(x, lambda y: self.self_attention(y, y, source_mask).data)
        return self.add_norm_feed_forward(x, self.feed_forward)


class DecoderLayerWithCopiedMemory(model.DecoderLayer):
    def forward(self, x, memory, source_mask=None, target_mask=None):
        return super().forward(x, torch.tensor(memory.tolist()), source_mask, target_mask)


class EncoderThatTrainsOneLayer(model.Encoder):
    def forward(self, x, source_mask=None):
        for layer in self.layers:
            x = layer(x.detach(), source_mask)
        return self.norm(x)


VARIANTS = {
    "layer_norm": [norm_by_torch, norm_by_squares, norm_by_loop],
    "add_norm": [add_norm_in_steps, add_norm_both_ways],
    "EncoderLayer": [EncoderLayerByDef, EncoderLayerByHand, EncoderLayerInOneExpression],
    "DecoderLayer": [DecoderLayerByDef, DecoderLayerByPartial],
    "Encoder": [EncoderByAppending, EncoderByCopies],
}
LOSE_GRADIENTS = {
    "layer_norm": [norm_by_statistics_without_gradient],
    "EncoderLayer": [EncoderLayerWithAttentionCutOff],
    "DecoderLayer": [DecoderLayerWithCopiedMemory],
    "Encoder": [EncoderThatTrainsOneLayer],
}
