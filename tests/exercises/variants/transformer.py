"""Right answers in other styles, for the exercises of lesson 6."""

import math

import torch
import torch.nn.functional as F
from torch import nn

from transformer_course import model


def logits_by_einsum(vectors, table):
    return torch.einsum("bld,vd->blv", vectors, table)


def logits_by_loop(vectors, table):
    return torch.stack([(vectors * row).sum(dim=-1) for row in table], dim=-1)


def logits_by_linear_layer(vectors, table):
    layer = nn.Linear(table.shape[1], table.shape[0], bias=False)
    layer.weight.data = table
    return layer(vectors).detach()


def tie_to_the_sources_table(network):
    network.output.weight = network.source_embeddings.table.weight
    network.target_embeddings.table.weight = network.source_embeddings.table.weight


def tie_whole_modules(network):
    network.source_embeddings = network.target_embeddings
    network.output.weight = network.target_embeddings.table.weight


def tie_and_return(network):
    shared = network.target_embeddings.table.weight
    for module in (network.source_embeddings.table, network.output):
        del module.weight
        module.register_parameter("weight", shared)
    return network


class Parts(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.config = config
        width, pad = config.d_model, config.pad_id
        sizes = (width, config.heads, config.d_ff, config.dropout, config.norm_first)
        self.source_embeddings = model.Embeddings(config.source_vocab, width, pad)
        self.target_embeddings = model.Embeddings(config.target_vocab, width, pad)
        position = (width, config.max_len, config.dropout)
        self.source_positions = model.SinusoidalPositionalEncoding(*position)
        self.target_positions = model.SinusoidalPositionalEncoding(*position)
        self.encoder = model.Encoder(config.encoder_layers, *sizes)
        self.decoder = model.Decoder(config.decoder_layers, *sizes)
        self.output = nn.Linear(width, config.target_vocab, bias=False)
        if config.tying != "none":
            self.output.weight = self.target_embeddings.table.weight
        if config.tying == "three_way":
            self.source_embeddings.table = self.target_embeddings.table


class TransformerWithOwnMasks(Parts):
    def source_mask(self, ids):
        return (ids != self.config.pad_id).unsqueeze(1).unsqueeze(2)

    def encode(self, source):
        embedded = self.source_embeddings(source)
        return self.encoder(self.source_positions(embedded), source_mask=self.source_mask(source))

    def decode(self, target, memory, source):
        batch, length = target.shape
        order = torch.arange(length)
        allowed = order[:, None] >= order
        real = target != self.config.pad_id
        mask = torch.zeros(batch, 1, length, length, dtype=torch.bool)
        for row in range(batch):
            mask[row, 0] = allowed & real[row]
        x = self.target_positions(self.target_embeddings(target))
        x = self.decoder(x, memory, target_mask=mask, source_mask=self.source_mask(source))
        return F.linear(x, self.output.weight)

    def forward(self, source, target):
        memory = self.encode(source)
        return self.decode(target, memory, source)


class TransformerLayerByLayer(Parts):
    def encode(self, source_ids):
        x, mask = self.source_embeddings(source_ids), self.words(source_ids)
        x = self.source_positions(x)
        for layer in self.encoder.layers:
            x = layer(x, mask)
        return self.encoder.norm(x)

    def words(self, ids):
        return model.padding_mask(ids, self.config.pad_id)

    def decode(self, target_ids, memory, source_ids):
        words = self.words(source_ids)
        mask = model.target_mask(target_ids, self.config.pad_id)
        x = self.target_positions(self.target_embeddings(target_ids))
        for layer in self.decoder.layers:
            x = layer(x, memory, words, mask)
        return self.output(self.decoder.norm(x))

    def forward(self, source_ids, target_ids):
        return self.decode(target_ids, self.encode(source_ids), source_ids)


def count_by_building(config):
    return sum(parameter.numel() for parameter in model.Transformer(config).parameters())


def count_by_adding(config):
    d, f = config.d_model, config.d_ff
    linear = {"q": d * d + d, "k": d * d + d, "v": d * d + d, "o": d * d + d}
    attention = sum(linear.values())
    ff = (d * f + f) + (f * d + d)
    total = 0
    for _ in range(config.encoder_layers):
        total += attention + ff + 4 * d
    for _ in range(config.decoder_layers):
        total += 2 * attention + ff + 6 * d
    if config.norm_first:
        total += 4 * d
    total += config.target_vocab * d
    if config.tying != "three_way":
        total += config.source_vocab * d
    if config.tying == "none":
        total += d * config.target_vocab
    return total


def future_by_the_last_token(network):
    network.eval()
    with torch.no_grad():
        source = torch.randint(1, 8, (3, 4))
        target = torch.randint(1, 8, (3, 6))
        changed = target.clone()
        changed[:, -1] = changed[:, -1] % 7 + 1
        difference = network(source, target) - network(source, changed)
    return difference[:, :-1].abs().max() < 1e-4


def future_by_each_token_in_turn(network):
    was_training = network.training
    network.train(False)
    source, target = torch.tensor([[7, 1]]), torch.tensor([[5, 2, 2, 6]])
    before, fine = network(source, target), True
    for position in range(1, 4):
        changed = target.clone()
        changed[0, position] = 3
        after = network(source, changed)
        fine = fine and torch.equal(before[0, :position], after[0, :position])
    network.train(was_training)
    return fine


def future_by_cutting_off(network):
    network.eval()
    memory = network.encode(torch.tensor([[1, 2, 3]]))
    source, target = torch.tensor([[1, 2, 3]]), torch.tensor([[4, 5, 6, 7]])
    whole = network.decode(target, memory, source)
    parts = [network.decode(target[:, :n], memory, source)[:, -1] for n in range(1, 5)]
    return bool((whole - torch.stack(parts, dim=1)).abs().max() < 1e-6)


def padding_one_side_at_a_time(network):
    network.eval()
    pad = network.config.pad_id
    source, target = torch.tensor([[5, 7, 5, 6]]), torch.tensor([[4, 4, 6]])
    plain = network(source, target)
    nothing = torch.full((1, 3), pad)
    one = network(torch.cat([source, nothing], dim=1), target)
    other = network(source, torch.cat([target, nothing], dim=1))[:, :3]
    return torch.allclose(plain, one) and torch.allclose(plain, other)


def padding_by_batch_mates(network):
    network.eval()
    pad = network.config.pad_id
    longer = torch.tensor([[4, 5, 6, 7, 4, 5]])
    source, target = longer[:, :3], longer[:, 2:4]
    together = network(
        torch.cat([F.pad(source, (0, 3), value=pad), longer]),
        torch.cat([F.pad(target, (0, 4), value=pad), longer]),
    )
    alone = network(source, target)
    return math.isclose((together[:1, :2] - alone).abs().max().item(), 0, abs_tol=1e-4)


VARIANTS = {
    "output_logits": [logits_by_einsum, logits_by_loop],
    "tie": [tie_to_the_sources_table, tie_whole_modules, tie_and_return],
    "Transformer": [TransformerWithOwnMasks, TransformerLayerByLayer],
    "parameter_count": [count_by_building, count_by_adding],
    "sees_no_future": [
        future_by_the_last_token,
        future_by_each_token_in_turn,
        future_by_cutting_off,
    ],
    "ignores_padding": [padding_one_side_at_a_time, padding_by_batch_mates],
}
LOSE_GRADIENTS = {"output_logits": [logits_by_linear_layer]}
