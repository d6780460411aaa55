"""Two tasks that show in seconds what a variant can do, and what it gives up.

Three back: at each position, name the token three places before. Nothing but the position counts,
so trained on short texts and asked on longer ones it tells how positions carry over.

Recall: read pairs of a name and a number, then a name again, and say its number. Nothing but the
content counts, and all pairs must be kept.
"""

from collections.abc import Callable
from functools import partial

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from transformer_course.model.attention import causal_mask, fused_attention
from transformer_course.model.layers import Encoder
from transformer_course.model.positional_encoding import (
    LearnedPositionalEncoding,
    SinusoidalPositionalEncoding,
)
from transformer_course.model.transformer import evaluating
from transformer_course.model.variants.cheaper_attention import linear_attention
from transformer_course.model.variants.parts import look_up_by
from transformer_course.model.variants.positions import (
    BucketAttention,
    RelativeAttention,
    alibi_attention,
    rotary_attention,
)

TOKENS, BACK = 16, 3
SHORTEST, TRAINED_LENGTH, LONGEST = 8, 24, 64
NAMES, NUMBERS, MOST_PAIRS = 64, 16, 32
BATCH, STEPS, RATE = 32, 600, 3e-3

LookUp = Callable[..., Tensor]
Draw = Callable[[int, int], tuple[tuple[Tensor, ...], Tensor]]


def _usual() -> LookUp:
    return fused_attention


# What is added to the words, and how attention looks up.
POSITIONS: dict[str, tuple[Callable[..., nn.Module] | None, Callable[[], LookUp]]] = {
    "none": (None, _usual),
    "sinusoidal": (SinusoidalPositionalEncoding, _usual),
    "learned": (LearnedPositionalEncoding, _usual),
    "relative": (None, partial(RelativeAttention, d_k=32, limit=16)),
    "T5's buckets": (None, partial(BucketAttention, heads=2, both_sides=False)),
    "T5's buckets, to 20": (None, partial(BucketAttention, heads=2, farthest=20, both_sides=False)),
    "rotary": (None, lambda: rotary_attention),
    "ALiBi": (None, lambda: alibi_attention),
}
# How attention looks up, and the steps of training.
RECALLS: dict[str, tuple[LookUp, int]] = {
    "softmax": (fused_attention, 1_000),
    "linear": (linear_attention, 1_000),
    "linear, 10,000 steps": (linear_attention, 10_000),
}


class ThreeBack(nn.Module):
    """One layer under a causal mask, with positions of a kind of :data:`POSITIONS`."""

    def __init__(self, kind: str) -> None:
        super().__init__()
        added, look_up = POSITIONS[kind]
        self.embeddings = nn.Embedding(TOKENS, 64)
        self.positions = added(64, LONGEST, dropout=0.0) if added else nn.Identity()
        self.encoder = Encoder(1, d_model=64, heads=2, d_ff=128, dropout=0.0, norm_first=True)
        look_up_by(self.encoder, lambda attention: look_up())
        self.output = nn.Linear(64, TOKENS)

    def forward(self, ids: Int[Tensor, "batch length"]) -> Float[Tensor, "batch answers vocab"]:
        """Score the token three back, from the first position that has one."""
        x = self.positions(self.embeddings(ids))
        return self.output(self.encoder(x, causal_mask(ids.shape[1])))[:, BACK:]


def draw_three_back(count: int, length: int) -> tuple[tuple[Tensor, ...], Tensor]:
    """Draw texts and what to say at each of their positions."""
    ids = torch.randint(TOKENS, (count, length))
    return (ids,), ids[:, :-BACK]


class Recall(nn.Module):
    """One layer without positions, with an attention of :data:`RECALLS`."""

    def __init__(self, kind: str) -> None:
        super().__init__()
        self.names = nn.Embedding(NAMES, 32)
        self.numbers = nn.Embedding(NUMBERS + 1, 32)  # the last one asks
        self.encoder = Encoder(1, d_model=32, heads=2, d_ff=64, dropout=0.0, norm_first=True)
        look_up, _ = RECALLS[kind]
        look_up_by(self.encoder, lambda attention: look_up)
        self.output = nn.Linear(32, NUMBERS)

    def forward(
        self, names: Int[Tensor, "batch pairs_and_one"], numbers: Int[Tensor, "batch pairs_and_one"]
    ) -> Float[Tensor, "batch 1 numbers"]:
        """Score the number that came with the last name."""
        return self.output(self.encoder(self.names(names) + self.numbers(numbers))[:, -1:])


def draw_recall(count: int, pairs: int) -> tuple[tuple[Tensor, ...], Tensor]:
    """Draw so many pairs for each text, a name that is asked, and its number."""
    names = torch.rand(count, NAMES).argsort(dim=1)[:, :pairs]
    numbers = torch.randint(NUMBERS, (count, pairs))
    asked = torch.randint(pairs, (count, 1))
    blank = torch.full((count, 1), NUMBERS)
    texts = torch.cat([names, names.gather(1, asked)], 1), torch.cat([numbers, blank], 1)
    return texts, numbers.gather(1, asked)


def train(network: nn.Module, draw: Draw, smallest: int, largest: int, steps: int = STEPS) -> float:
    """Train on sizes drawn from ``smallest`` to ``largest``; return the last loss, in nats.

    The learning rate rises over 50 steps and falls to 0 over the last third.
    """
    optimizer = torch.optim.Adam(network.parameters(), lr=RATE)
    for step in range(steps):
        optimizer.param_groups[0]["lr"] = RATE * min(1, (step + 1) / 50, 3 * (1 - step / steps))
        given, answers = draw(BATCH, int(torch.randint(smallest, largest + 1, ())))
        loss = F.cross_entropy(network(*given).flatten(0, -2), answers.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item()


def share_right(network: nn.Module, draw: Draw, size: int, count: int = 250) -> float:
    """Return how much is right, 0 to 1, of the last answers, at most four, in texts of a size."""
    given, answers = draw(count, size)
    with evaluating(network):
        said = network(*given).argmax(dim=-1)
    return (said == answers)[:, -4:].double().mean().item()


def three_back(kind: str, seed: int) -> nn.Module:
    """Return a network with positions of a kind, trained on texts of 8 to 24 tokens."""
    torch.manual_seed(seed)
    network = ThreeBack(kind)
    train(network, draw_three_back, SHORTEST, TRAINED_LENGTH)
    return network


def recall(kind: str, seed: int) -> nn.Module:
    """Return a network with an attention of a kind, trained on 2 to 32 pairs."""
    torch.manual_seed(seed)
    network = Recall(kind)
    _, steps = RECALLS[kind]
    train(network, draw_recall, 2, MOST_PAIRS, steps)
    return network
