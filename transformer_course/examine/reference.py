"""The right way to do what a subject brings: a batch, a loss, a step, two searches.

Stands in where the subject brings nothing, and beside which stands what it brings. In plain torch,
slow and short.
"""

from collections.abc import Callable, Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from transformer_course.examine.subject import Pair

Scores = Callable[[Tensor, Tensor], Tensor]


def padded(rows: Sequence[Sequence[int]], pad: int) -> Tensor:
    """Return rows of ids as one tensor, the shorter ones with padding behind."""
    length = max(map(len, rows))
    return torch.tensor([[*row, *[pad] * (length - len(row))] for row in rows])


def collate(
    pairs: Sequence[Pair], pad: int, bos: int, eos: int, source_pad: int, around: Pair | None = None
) -> tuple[Tensor, Tensor, Tensor]:
    """Return source, target in and target out of a batch.

    ``around`` is what stands before and behind the words of a source, by default only an end.
    """
    before, behind = around or ([], [eos])
    source = padded([[*before, *source, *behind] for source, _ in pairs], source_pad)
    target_in = padded([[bos, *target] for _, target in pairs], pad)
    # Not by id: in some models the token that the decoder starts with is the padding.
    target_out = padded([[*target, eos] for _, target in pairs], pad)
    return source, target_in, target_out


def log_probabilities(scores: Tensor, kind: str) -> Tensor:
    """Return log-probabilities, whichever of the three ``kind`` says a model returns."""
    return scores.clamp_min(1e-30).log() if kind == "probabilities" else scores.log_softmax(-1)


def loss(scores: Tensor, target_out: Tensor, pad: int, kind: str = "logits") -> Tensor:
    """Return the cross-entropy per token, padding left out."""
    return F.nll_loss(
        log_probabilities(scores, kind).flatten(0, 1), target_out.flatten(), ignore_index=pad
    )


class Trainer:
    """Takes training steps with Adam (Kingma and Ba, 2015), a warm-up and clipped gradients."""

    WARM_UP = 20

    def __init__(self, network: nn.Module, scores: Scores, loss: Callable) -> None:
        self.network, self.scores, self.loss = network, scores, loss
        weights = [weight for weight in network.parameters() if weight.requires_grad]
        large = sum(weight.numel() for weight in weights) > 5_000_000
        self.rate = 3e-4 if large else 3e-3
        self.optimizer = torch.optim.Adam(weights, self.rate, betas=(0.9, 0.98))
        self.steps = 0

    def step(self, source: Tensor, target_in: Tensor, target_out: Tensor) -> Tensor:
        """Change the weights once; return the loss before."""
        self.network.train()
        self.steps += 1
        for group in self.optimizer.param_groups:
            group["lr"] = self.rate * min(1, self.steps / self.WARM_UP)
        self.optimizer.zero_grad()
        loss = self.loss(self.scores(source, target_in), target_out)
        loss.backward()
        for weight in self.optimizer.param_groups[0]["params"]:
            if weight.grad is not None and weight.grad.is_sparse:  # of an embedding that asks so
                weight.grad = weight.grad.to_dense()
        nn.utils.clip_grad_norm_(self.optimizer.param_groups[0]["params"], 1.0)
        self.optimizer.step()
        return loss.detach()


def greedy(scores: Scores, source: Tensor, bos: int, eos: int, steps: int) -> list[list[int]]:
    """Translate sources (batch, source): the likeliest token, then the next, up to the end."""
    said = torch.full((len(source), 1), bos)
    for _ in range(steps):
        said = torch.cat([said, scores(source, said)[:, -1].argmax(-1, keepdim=True)], dim=1)
        if (said[:, 1:] == eos).any(dim=1).all():
            break
    return [up_to(row, eos) for row in said[:, 1:].tolist()]


def beam_search(
    scores: Scores, source: Tensor, bos: int, eos: int, steps: int, width: int, kind: str
) -> list[int]:
    """Translate one source (1, source): of ``width`` beginnings kept, the likeliest that ends."""
    beams: list[tuple[float, list[int]]] = [(0.0, [bos])]
    ended: list[tuple[float, list[int]]] = []
    for _ in range(steps):
        prefixes = torch.tensor([tokens for _, tokens in beams])
        said = scores(source.expand(len(beams), -1), prefixes)[:, -1]
        best = log_probabilities(said, kind).topk(min(width, said.shape[-1]))
        grown = [
            (total + value, [*tokens, token])
            for (total, tokens), values, ids in zip(
                beams, best.values.tolist(), best.indices.tolist(), strict=True
            )
            for value, token in zip(values, ids, strict=True)
        ]
        grown = sorted(grown, reverse=True)[:width]
        ended += [each for each in grown if each[1][-1] == eos]
        beams = [each for each in grown if each[1][-1] != eos]
        if not beams:
            break
    return up_to(max(ended or beams)[1][1:], eos)


def up_to(tokens: Sequence[int], eos: int) -> list[int]:
    """Return the tokens before the end."""
    tokens = list(tokens)
    return tokens[: tokens.index(eos)] if eos in tokens else tokens
