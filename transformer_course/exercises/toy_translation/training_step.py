"""One update of the weights."""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from transformer_course.checker.cases import Case, vectors
from transformer_course.checker.exercise import exercise
from transformer_course.exercises import own
from transformer_course.exercises.toy_translation.smoothed_cross_entropy import (
    smoothed_cross_entropy,
)

_WEIGHTS = [
    vectors(*shape, seed=seed).double() for seed, shape in enumerate([(8, 4), (8, 4), (4, 8)])
]


class _SmallNetwork(nn.Module):
    """A stand-in for the Transformer: scores from the token just read and the source's mean."""

    def __init__(self) -> None:
        super().__init__()
        # Made in a moment, unlike layers: a check makes hundreds of networks.
        self.source, self.target, self.output = (
            nn.Parameter(weights.clone()) for weights in _WEIGHTS
        )

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        mean = self.source[source].mean(dim=1, keepdim=True)
        return (self.target[target] + mean) @ self.output


def _two_steps(code: Callable, make_network: type, make_optimizer: type, *batch: Tensor) -> dict:
    """Train a small model by two steps; return both losses and the sum of each parameter."""
    network = make_network()
    optimizer = make_optimizer(network.parameters(), lr=0.5)
    losses = [code(network, optimizer, *batch) for _ in range(2)]
    with torch.no_grad():
        weights = [
            (p * torch.arange(p.numel()).view_as(p).cos()).sum() for p in network.parameters()
        ]
    return {"losses": losses, "weights": torch.stack(weights), "training": network.training}


_PADDED = (
    torch.tensor([[4, 5, 6, 2], [5, 2, 0, 0]]),
    torch.tensor([[1, 6, 7, 5], [1, 4, 0, 0]]),
    torch.tensor([[6, 7, 5, 2], [4, 2, 0, 0]]),
)
_WHOLE = torch.tensor([[4, 3, 2]]), torch.tensor([[1, 6]]), torch.tensor([[6, 2]])
_OTHER_PAD = tuple(torch.where(ids == 0, 3, torch.where(ids == 4, 0, ids)) for ids in _PADDED)


def _case(batch: tuple[Tensor, ...], pad: int, smoothing: float, looks_at: str) -> Case:
    return Case(
        (_SmallNetwork, torch.optim.SGD, *batch, pad, smoothing),
        observe=_two_steps,
        looks_at=looks_at,
        written=f"(network, optimizer, source, target_in, target_out, {pad}, {smoothing})",
    )


@exercise(
    cases=[
        _case(
            _PADDED,
            0,
            0.0,
            "the losses of two steps on one batch, the weights after them, and the mode",
        ),
        _case(_WHOLE, 0, 0.0, "the same on a batch without padding"),
        _case(_PADDED, 0, 0.1, "the same on the first batch with `smoothing=0.1`"),
        _case(_OTHER_PAD, 3, 0.0, "the same where padding is 3, and 0 is a word"),
    ],
    parts={"own.smoothed_cross_entropy": smoothed_cross_entropy},
    hints=[
        "Ask of each line: what goes in, and what comes out? Which of the two targets may the "
        "decoder read, and which must it predict?",
        "Which tokens should the loss leave out? And what does `backward()` do with gradients "
        "that are already there?",
        "The decoder reads `target_in` and predicts `target_out`; the loss is "
        "`own.smoothed_cross_entropy(logits.flatten(0, 1), target_out.flatten(), smoothing, pad)`; "
        "`zero_grad()` comes before `backward()`, and `step()` after it.",
    ],
)
def training_step(network, optimizer, source, target_in, target_out, pad, smoothing=0.0) -> float:
    """Update the weights once on a batch; return its loss per real token as a number."""
    logits = network(source, target_in)
    loss = own.smoothed_cross_entropy(logits.flatten(0, 1), target_out.flatten(), smoothing, pad)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item()


# What mistakes in training_step.toml are made with.


def _sentence_by_sentence(
    network, optimizer, source, target_in, target_out, pad, smoothing=0.0
) -> float:
    sentences = zip(source.split(1), target_in.split(1), target_out.split(1), strict=True)
    step = training_step.task.answer
    losses = [step(network, optimizer, *sentence, pad, smoothing) for sentence in sentences]
    return sum(losses) / len(losses)


def _unflattened(network, optimizer, source, target_in, target_out, pad, smoothing=0.0) -> float:
    loss = own.smoothed_cross_entropy(network(source, target_in), target_out, smoothing, pad)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item()
