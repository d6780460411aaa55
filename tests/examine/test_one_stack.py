"""A model of one stack that reads source and target in a row, attached as the book says."""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from transformer_course.examine import Subject, examine

PAD, BOS, EOS, WORDS = 0, 1, 2, 24
WIDTH, HEADS = 32, 4


class OneStack(nn.Module):
    """Layers of torch with a causal mask, and positions that count from the first real token."""

    def __init__(self, causal: bool) -> None:
        super().__init__()
        self.causal = causal
        self.words, self.positions = nn.Embedding(WORDS, WIDTH), nn.Embedding(64, WIDTH)
        layer = nn.TransformerEncoderLayer(
            WIDTH, HEADS, 2 * WIDTH, dropout=0.0, batch_first=True, norm_first=True
        )
        self.layers = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.output = nn.Linear(WIDTH, WORDS)

    def forward(self, row: Tensor, seen: Tensor) -> Tensor:
        """Return logits (batch, length, vocabulary)."""
        places = (seen.long().cumsum(dim=1) - 1).clamp(min=0)
        length = row.shape[1]
        mask = seen[:, None, :].expand(-1, length, -1)
        if self.causal:
            mask = mask.tril()
        mask = mask | torch.eye(length, dtype=torch.bool)
        x = self.words(row) + self.positions(places)
        return self.output(self.layers(x, ~mask.repeat_interleave(HEADS, dim=0)))


def scores_of(network: nn.Module) -> Callable[[Tensor, Tensor], Tensor]:
    def scores(source: Tensor, target: Tensor) -> Tensor:
        real = source != PAD
        in_front = real.long().argsort(dim=1, stable=True)
        row = torch.cat([source.gather(1, in_front), target], dim=1)
        seen = torch.cat([real.gather(1, in_front), torch.ones_like(target, dtype=bool)], dim=1)
        return network(row, seen)[:, source.shape[1] :]

    return scores


def subject(causal: bool) -> Subject:
    torch.manual_seed(0)
    network = OneStack(causal)
    ids = {"source_vocab": WORDS, "target_vocab": WORDS, "pad": PAD, "bos": BOS, "eos": EOS}
    return Subject(network, **ids, scores=scores_of(network))


def test_a_right_one_is_healthy() -> None:
    assert examine(subject(causal=True), 600).verdict == "Healthy"


def test_what_is_wrong_with_it_is_named() -> None:
    found = examine(subject(causal=False), 600)
    assert [fault.name for fault in found.faults] == ["a decoder that sees the future"]
