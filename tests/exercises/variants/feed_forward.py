"""Right answers in other styles, for the exercises of lesson 4."""

import torch
import torch.nn.functional as F
from torch import nn

from transformer_course import model


class WithSequential(nn.Module):
    def __init__(self, d_model, d_ff):
        super().__init__()
        self.expand = nn.Linear(in_features=d_model, out_features=d_ff)
        self.contract = nn.Linear(d_ff, d_model)
        self.net = nn.Sequential(self.expand, nn.ReLU(), self.contract)

    def forward(self, x):
        return self.net(x)


class ByConvolutions(nn.Module):
    """Two convolutions that see one position each."""

    def __init__(self, d_model, d_ff):
        super().__init__()
        self.expand = nn.Linear(d_model, d_ff)
        self.contract = nn.Linear(d_ff, d_model)

    def forward(self, x):
        h = F.conv1d(x.transpose(1, 2), self.expand.weight[:, :, None], self.expand.bias)
        h = torch.maximum(h, torch.zeros_like(h))
        return F.conv1d(h, self.contract.weight[:, :, None], self.contract.bias).transpose(1, 2)


class PositionByPosition(nn.Module):
    def __init__(self, d_model, d_ff):
        super().__init__()
        self.expand = nn.Linear(d_model, d_ff, bias=True)
        self.contract = nn.Linear(d_ff, d_model, bias=True)

    def forward(self, x):
        outputs = []
        for position in range(x.size(1)):
            h = x[:, position] @ self.expand.weight.T + self.expand.bias
            h = h * (h > 0)
            outputs.append(F.linear(h, self.contract.weight, self.contract.bias))
        return torch.stack(outputs, dim=1)


def positions_as_sentences(layer, x):
    """Make each position a sentence of its own."""
    batch, length, width = x.shape
    alone = layer(x.reshape(batch * length, 1, width)).reshape(batch, length, -1)
    return bool(((alone - layer(x)).abs() < 1e-4).all())


def change_and_shuffle(layer, x):
    before = layer(x)
    for i in range(x.shape[1]):
        changed = x.clone()
        changed[:, i] = torch.randn(x.shape[0], x.shape[2])
        after = layer(changed)
        for j in range(x.shape[1]):
            if j != i and not torch.allclose(after[:, j], before[:, j], atol=1e-5):
                return False
    for i in range(1, x.shape[1]):
        order = torch.arange(x.shape[1])
        order[0], order[i] = i, 0
        if not torch.allclose(layer(x[:, order]), before[:, order], atol=1e-5):
            return False
    return True


def gradients_and_equal_vectors(layer, x):
    sentence = x[:1]
    jacobian = torch.autograd.functional.jacobian(layer, sentence)[0, :, :, 0]
    influence = jacobian.abs().sum(dim=(1, 3))  # of each position (column) on each output (row)
    mixes = (influence - influence.diag().diag()).sum() > 1e-4
    output = layer(sentence[:, :1].repeat(1, x.shape[1], 1))
    alike = torch.allclose(output, output[:, :1].expand_as(output), atol=1e-5)
    return not mixes and alike


def count_parameters(d_model, d_ff):
    return sum(p.numel() for p in model.FeedForward(d_model, d_ff).parameters())


def count_with_a_one(d_model, d_ff):
    return (d_model + 1) * d_ff + (d_ff + 1) * d_model


class WithCopiedWeights(model.FeedForward):
    def forward(self, x):
        expanded = F.linear(x, self.expand.weight.data, self.expand.bias.data).relu()
        return self.contract(expanded)


VARIANTS = {
    "FeedForward": [WithSequential, ByConvolutions, PositionByPosition],
    "acts_per_position": [positions_as_sentences, change_and_shuffle, gradients_and_equal_vectors],
    "feed_forward_parameters": [count_parameters, count_with_a_one],
}
LOSE_GRADIENTS = {"FeedForward": [WithCopiedWeights]}
