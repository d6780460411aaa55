"""Right answers in other styles, for the exercises of lesson 1."""

import itertools
import math
from collections import Counter

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from transformer_course.model.positional_encoding import sinusoidal_encoding


def vocabulary_by_counter(sentences):
    counts = Counter(itertools.chain(*sentences))
    words = sorted(sorted(counts), key=counts.get, reverse=True)
    tokens = ["<pad>", "<bos>", "<eos>", "<unk>", *words]
    return dict(zip(tokens, range(len(tokens)), strict=True))


def vocabulary_by_most_common(sentences):
    vocabulary = {"<unk>": 3, "<pad>": 0, "<bos>": 1, "<eos>": 2}
    every_word = [word for sentence in sentences for word in sentence]
    for word, _ in Counter(sorted(every_word)).most_common():
        vocabulary[word] = len(vocabulary)
    return vocabulary


def wavelengths_in_a_list(d_model):
    return torch.tensor([2 * math.pi * 10000 ** (2 * i / d_model) for i in range(d_model // 2)])


def wavelengths_by_exp(d_model):
    step = math.log(10000) / d_model
    return 2 * math.pi * torch.exp(torch.arange(0, d_model, 2, dtype=torch.float64) * step)


def encoding_by_loops(length, d_model):
    rows = []
    for position in range(length):
        row = []
        for i in range(d_model // 2):
            angle = position / 10000 ** (2 * i / d_model)
            row += [math.sin(angle), math.cos(angle)]
        rows.append(row)
    return torch.tensor(rows)


def encoding_by_exp_and_stack(length, d_model):
    scale = torch.exp(torch.arange(0, d_model, 2) * (-math.log(10000.0) / d_model))
    angle = torch.einsum("p,i->pi", torch.arange(length).float(), scale)
    return torch.stack((angle.sin(), angle.cos()), dim=2).view(length, d_model)


def encoding_by_phase(length, d_model):
    column = torch.arange(d_model)
    angle = torch.arange(length)[:, None] / 10000 ** (column // 2 * 2 / d_model)
    return torch.sin(angle + (column % 2) * math.pi / 2)


class EncodingAsModule(nn.Module):
    def forward(self, length, d_model):
        pe = torch.zeros(length, d_model)
        div = torch.pow(10000, torch.arange(0, d_model, 2, dtype=torch.float) / d_model)
        pe[:, 0::2] = torch.sin(torch.arange(length).unsqueeze(1) / div)
        pe[:, 1::2] = torch.cos(torch.arange(length).unsqueeze(1) / div)
        return pe


def encoding_by_numpy(length, d_model):
    angle = np.outer(np.arange(length), 10000.0 ** (-np.arange(0, d_model, 2) / d_model))
    pairs = np.stack([np.sin(angle), np.cos(angle)], axis=-1)
    return torch.from_numpy(pairs.reshape(length, d_model)).float()


def shift_by_block_diag(offset, d_model):
    blocks = []
    for i in range(d_model // 2):
        angle = offset / 10000 ** (2 * i / d_model)
        cos, sin = math.cos(angle), math.sin(angle)
        blocks.append(torch.tensor([[cos, sin], [-sin, cos]]))
    return torch.block_diag(*blocks)


def shift_by_matrix_power(offset, d_model):
    frequency = 10000.0 ** (-torch.arange(0, d_model, 2, dtype=torch.float64) / d_model)
    even, odd = torch.arange(0, d_model, 2), torch.arange(1, d_model, 2)
    once = torch.zeros(d_model, d_model, dtype=torch.float64)
    once[even, even] = once[odd, odd] = frequency.cos()
    once[even, odd] = frequency.sin()
    once[odd, even] = -frequency.sin()
    return torch.linalg.matrix_power(once, offset).float()


class WithBatchAxisInBuffer(nn.Module):
    def __init__(self, d_model, max_len=5000, dropout=0.1):
        super().__init__()
        self.drop = nn.Dropout(p=dropout)
        table = encoding_by_loops(max_len, d_model).unsqueeze(0)
        self.register_buffer("encoding", table, persistent=False)

    def forward(self, x):
        x = x + self.encoding[:, : x.size(1), :].requires_grad_(False)
        return self.drop(x)


class WithFunctionalDropout(nn.Module):
    def __init__(self, d_model, max_len, dropout):
        super().__init__()
        self.p = dropout
        self.register_buffer("encoding", sinusoidal_encoding(max_len, d_model))

    def forward(self, x):
        _, length, _ = x.shape
        positions = self.encoding.narrow(0, 0, length).expand_as(x)
        return F.dropout(torch.add(positions, x), self.p, training=self.training)


class WithOwnDropout(nn.Module):
    def __init__(self, d_model, max_len, dropout):
        super().__init__()
        self.p = dropout
        self.register_buffer("encoding", sinusoidal_encoding(max_len, d_model))

    def forward(self, x):
        rows = [sentence + self.encoding[: len(sentence)] for sentence in x]
        total = torch.stack(rows)
        if self.training:
            keep = torch.rand_like(total) >= self.p
            total = total * keep / (1 - self.p)
        return total


class LearnedBySlicing(nn.Module):
    def __init__(self, d_model, max_len, dropout):
        super().__init__()
        self.encoding = nn.Embedding(max_len, d_model)
        nn.init.uniform_(self.encoding.weight)
        self.p = dropout

    def forward(self, x):
        return F.dropout(x + self.encoding.weight[: x.size(1)], self.p, self.training)


class LearnedByIdsOfTheBatch(nn.Module):
    def __init__(self, d_model, max_len, dropout):
        super().__init__()
        self.encoding = nn.Embedding(num_embeddings=max_len, embedding_dim=d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        batch, length = x.shape[:2]
        ids = torch.arange(length).repeat(batch, 1)
        return self.dropout(self.encoding(ids).add(x))


class EmbeddingsByOneHot(nn.Module):
    def __init__(self, vocab, d_model, pad_id):
        super().__init__()
        weight = torch.randn(vocab, d_model) / math.sqrt(d_model)
        weight[pad_id] = 0
        self.table = nn.Embedding(vocab, d_model, _weight=weight, padding_idx=pad_id)
        self.pad_id = pad_id

    def forward(self, ids):
        weight = self.table.weight
        real = torch.arange(len(weight)) != self.pad_id
        one_hot = F.one_hot(ids, len(weight)) * real
        return one_hot.to(weight.dtype) @ weight * weight.shape[1] ** 0.5


class EmbeddingsFunctional(nn.Module):
    def __init__(self, vocab, d_model, pad_id):
        super().__init__()
        self.table = nn.Embedding(vocab, d_model, pad_id)
        self.table.weight.data.normal_(0, 1 / d_model**0.5)
        self.table.weight.data[pad_id].zero_()
        self.pad_id = pad_id

    def forward(self, ids):
        vectors = F.embedding(ids, self.table.weight, padding_idx=self.pad_id)
        return vectors * vectors.size(-1) ** 0.5


VARIANTS = {
    "build_vocabulary": [vocabulary_by_counter, vocabulary_by_most_common],
    "wavelengths": [wavelengths_in_a_list, wavelengths_by_exp],
    "sinusoidal_encoding": [
        encoding_by_loops,
        encoding_by_exp_and_stack,
        encoding_by_phase,
        encoding_by_numpy,
        EncodingAsModule(),
    ],
    "shift_matrix": [shift_by_block_diag, shift_by_matrix_power],
    "SinusoidalPositionalEncoding": [WithBatchAxisInBuffer, WithFunctionalDropout, WithOwnDropout],
    "LearnedPositionalEncoding": [LearnedBySlicing, LearnedByIdsOfTheBatch],
    "Embeddings": [EmbeddingsByOneHot, EmbeddingsFunctional],
}
