"""Three tasks that show in seconds what a variant can do, and what it gives up.

Three back: at each position, name the token three places before. Nothing but the position counts,
so trained on short texts and asked on longer ones it tells how positions carry over.

Recall: read pairs of a name and a number, then a name again, and say its number. Nothing but the
content counts, and all pairs must be kept. With corrections, each name comes with two numbers, one
after the other, and the later one counts.
"""

from collections.abc import Callable
from functools import partial

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from transformer_course.model.attention import causal_mask, fused_attention
from transformer_course.model.layers import Encoder
from transformer_course.model.multi_head_attention import MultiHeadAttention
from transformer_course.model.positional_encoding import (
    LearnedPositionalEncoding,
    SinusoidalPositionalEncoding,
)
from transformer_course.model.transformer import evaluating
from transformer_course.model.variants.cheaper_attention import linear_attention
from transformer_course.model.variants.delta_rule import DeltaAttention
from transformer_course.model.variants.parts import look_up_by, replace_parts
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
WIDTH, HEADS = 32, 2  # of recall: the values of a head have 16 features
KEY_FEATURES = (4, 8, 16, 32, 64)  # and its keys so many


def _linear(key_features: int) -> MultiHeadAttention:
    attention = MultiHeadAttention(WIDTH, HEADS)
    attention.query_projection = nn.Linear(WIDTH, HEADS * key_features)
    attention.key_projection = nn.Linear(WIDTH, HEADS * key_features)
    attention.attend = linear_attention
    return attention


def _delta(key_features: int) -> MultiHeadAttention:
    return DeltaAttention(WIDTH, HEADS, key_features)


# The attention, and the steps of training; the numbers are those that the state holds.
RECALLS: dict[str, tuple[Callable[[], MultiHeadAttention], int]] = {
    "softmax": (lambda: MultiHeadAttention(WIDTH, HEADS), 1_000),
    **{
        f"linear, {WIDTH * features:,} numbers": (partial(_linear, features), 1_000)
        for features in KEY_FEATURES
    },
    "linear, 512 numbers, 10,000 steps": (partial(_linear, 16), 10_000),
}
CORRECTIONS: dict[str, tuple[Callable[[], MultiHeadAttention], int]] = {
    "linear": (partial(_linear, 16), 1_000),
    "delta rule": (partial(_delta, 16), 1_000),
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
    """One layer without positions, with an attention of its own."""

    def __init__(self, attention: Callable[[], MultiHeadAttention]) -> None:
        super().__init__()
        self.names = nn.Embedding(NAMES, WIDTH)
        self.numbers = nn.Embedding(NUMBERS + 1, WIDTH)  # the last one asks
        self.encoder = Encoder(1, WIDTH, HEADS, d_ff=64, dropout=0.0, norm_first=True)
        replace_parts(self.encoder, MultiHeadAttention, lambda usual: attention())
        self.output = nn.Linear(WIDTH, NUMBERS)

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


def draw_corrections(count: int, pairs: int) -> tuple[tuple[Tensor, ...], Tensor]:
    """Draw the same with half as many names, each with two numbers; the later one is right."""
    names = torch.rand(count, NAMES).argsort(dim=1)[:, : pairs // 2].repeat(1, 2)
    names = names.gather(1, torch.rand(names.shape).argsort(dim=1))
    numbers = torch.randint(NUMBERS, names.shape)
    asked = names.gather(1, torch.randint(names.shape[1], (count, 1)))
    place = torch.arange(names.shape[1])
    later = (place * (names == asked)).argmax(dim=1, keepdim=True)
    blank = torch.full((count, 1), NUMBERS)
    return (torch.cat([names, asked], 1), torch.cat([numbers, blank], 1)), numbers.gather(1, later)


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
    return _trained_to_recall(*RECALLS[kind], draw_recall, seed)


def corrections(kind: str, seed: int) -> nn.Module:
    """Return a network with an attention of a kind, trained on 2 to 32 pairs with corrections."""
    return _trained_to_recall(*CORRECTIONS[kind], draw_corrections, seed)


def _trained_to_recall(
    attention: Callable[[], MultiHeadAttention], steps: int, draw: Draw, seed: int
) -> nn.Module:
    torch.manual_seed(seed)
    network = Recall(attention)
    train(network, draw, 2, MOST_PAIRS, steps)
    return network
