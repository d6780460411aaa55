"""How well the two sides of each sentence pair fit together, learned from the text alone.

Words that often stand in the two sides of one pair get vectors that point the same way; a pair fits
if the sums of its words' vectors do. Source: Littman, Dumais and Landauer (1998), "Automatic
Cross-Language Information Retrieval Using Latent Semantic Indexing"; here the vectors come from how
often words of the two sides meet, whose singular vectors are found by the method of Halko,
Martinsson and Tropp (2011), "Finding Structure with Randomness".
"""

import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from transformer_course.translation.corpora.languages import WITHOUT_BLANKS

WORD = re.compile(r"\w+")
WORDS = 20_000
"""The most frequent words that are looked at."""
DIRECTIONS, BEYOND = 200, 20
"""Singular vectors that are kept; a few more are computed, which makes these better."""
ROUNDS = 3
FEWEST = 20
"""Pairs that say something about each other."""
FOLDS, MOST = 2, 30_000
"""A pair is judged by what others show: of two halves, each by the words of the other; of a large
half, by so many of its pairs."""
SHIFTS = (1, 7, 31)
"""By how many lines sides are moved to see how well sides fit that do not belong together."""
CHANCE = 0.9
"""A pair is doubted if of pairs that do not belong together more than a tenth fit better."""

NEAR = (-3, -2, -1, 1, 2, 3)
"""By how many lines a block of one text may be moved against the other."""
FEWEST_MOVED, GAINED = 4, 2.0
"""Lines of a block that is moved, and by how much they fit better then, all together."""

Words = list[str]


def words_in(text: str, language: str) -> Words:
    """Return the words of a sentence in small letters, or its characters where no blanks help."""
    words = WORD.findall(text.lower())
    return [*chain(*words)] if language in WITHOUT_BLANKS else words


@dataclass(frozen=True)
class Fit:
    """How well the sides of pairs fit.

    Attributes
    ----------
    pairs
        For each pair a cosine, -1 to 1; NaN where a side has no word that other pairs have, and for
        all of very few pairs.
    doubt
        What is below is in doubt: of pairs put together at random nine tenths fit less well.
    moved
        For some numbers n, how well each source fits the target n lines further down.
    """

    pairs: Float[np.ndarray, "pairs"]
    doubt: float
    moved: dict[int, Float[np.ndarray, "pairs"]]

    @property
    def doubted(self) -> np.ndarray:
        """The pairs in doubt, the one that fits worst first, counted from 0."""
        worst = np.argsort(self.pairs)
        return worst[self.pairs[worst] < self.doubt]


@dataclass(frozen=True)
class Block:
    """Sources ``first`` to ``last``, from 0, that fit the targets ``by`` lines further down."""

    first: int
    last: int
    by: int


def fit_of(sources: Sequence[Words], targets: Sequence[Words]) -> Fit:
    """Return how well the words of the two sides of each pair fit."""
    nowhere = np.full(len(sources), np.nan)
    fit, by_chance, moved = nowhere.copy(), [], {by: nowhere.copy() for by in NEAR}
    x, y = _weights(sources), _weights(targets)
    if len(sources) < FEWEST or not (x.shape[1] and y.shape[1]):
        return Fit(fit, -1.0, moved)
    fold = torch.arange(len(sources)) % FOLDS
    new = torch.tensor(_first_of_their_kind(sources, targets))  # equal pairs fit each other
    for number in range(FOLDS):
        others = (fold != number).nonzero()[:, 0]
        a, b = _projected(x, y, others[:: math.ceil(len(others) / MOST)])
        known_a, known_b = (side.abs().sum(1) > 0 for side in (a, b))
        a, b = (torch.nn.functional.normalize(side - side.mean(0)) for side in (a, b))
        for by, found in {0: fit, **moved}.items():
            there = (fold == number) & known_a & known_b.roll(-by)
            rows = there.nonzero()[:, 0]
            found[rows.numpy()] = _cosines(a, rows, b, (rows + by) % len(b))
        rows = ((fold == number) & known_a & known_b & new).nonzero()[:, 0]
        by_chance += [_cosines(a, rows, b, rows.roll(shift)) for shift in SHIFTS]
    for by, found in moved.items():  # what was rolled round the ends
        found[: max(0, -by)] = found[len(found) - max(0, by) :] = np.nan
    chance = np.concatenate(by_chance)
    return Fit(fit, float(np.quantile(chance, CHANCE)) if len(chance) else -1.0, moved)


def _first_of_their_kind(sources: Sequence[Words], targets: Sequence[Words]) -> list[bool]:
    first: dict[tuple[tuple[str, ...], ...], int] = {}
    pairs = zip(map(tuple, sources), map(tuple, targets), strict=True)
    return [first.setdefault(pair, number) == number for number, pair in enumerate(pairs)]


def moved_blocks(fit: Fit) -> list[Block]:
    """Return blocks of lines that fit much better beside targets further up or down."""
    found: dict[Block, float] = {}
    for by, there in fit.moved.items():
        found |= _rises(np.nan_to_num(there - fit.pairs), by)
    best: list[Block] = []
    for block in sorted(found, key=lambda each: -found[each]):
        if all(block.last < other.first or other.last < block.first for other in best):
            best.append(block)
    return sorted(best, key=lambda block: block.first)


def _rises(gains: Float[np.ndarray, "pairs"], by: int) -> Iterator[tuple[Block, float]]:
    """Yield where the sum of gains, which never falls below 0, rises high; with how high."""
    total = highest = 0.0
    first = last = 0
    for line, gain in enumerate([*gains, -math.inf]):
        if total == 0:
            first = line
        total = max(0.0, total + gain)
        if total > highest:
            highest, last = total, line
        elif total < highest - GAINED or total == 0:
            if highest > GAINED and last - first + 1 >= FEWEST_MOVED:
                yield Block(first, last, by), highest
            total = highest = 0.0


def _cosines(a: Tensor, rows: Tensor, b: Tensor, others: Tensor) -> Float[np.ndarray, "pairs"]:
    """Return the cosines of rows of one matrix and of the other, which have length 1."""
    return (a[rows] * b[others]).sum(1).numpy()


def _weights(sentences: Sequence[Words]) -> Tensor:
    """Return a sparse matrix: for each sentence its words, the rarer the heavier, length 1."""
    # Not sets: their order, and with it the sums, would be another one in each process.
    different = [[*dict.fromkeys(words)] for words in sentences]
    counts = Counter(chain.from_iterable(different))
    frequent = [word for word, count in counts.most_common(WORDS) if count > 1]
    ids = {word: number for number, word in enumerate(frequent)}
    rarity = np.log(len(sentences) / np.array([counts[word] for word in frequent], dtype=float))
    rows = [[ids[word] for word in words if word in ids] for words in different]
    lengths = np.array([len(row) for row in rows], dtype=np.int64)
    columns = np.fromiter(chain.from_iterable(rows), dtype=np.int64)
    values = rarity[columns]
    of_row = np.repeat(np.arange(len(rows)), lengths)
    norms = np.sqrt(np.bincount(of_row, values**2, minlength=len(rows))).clip(min=1e-9)
    indices = torch.from_numpy(np.stack([of_row, columns]))
    values = torch.from_numpy((values / norms[of_row]).astype(np.float32))
    size = len(rows), len(frequent)
    return torch.sparse_coo_tensor(indices, values, size, check_invariants=True).coalesce()


def _projected(x: Tensor, y: Tensor, learned: Int[Tensor, "rows"]) -> tuple[Tensor, Tensor]:
    """Return vectors of the sides of all pairs, in directions that some of the pairs show."""
    shown_x, shown_y = (side.index_select(0, learned) for side in (x, y))
    count = min(DIRECTIONS + BEYOND, *x.shape, *y.shape)
    generator = torch.Generator().manual_seed(0)
    right = torch.randn(y.shape[1], count, generator=generator)
    for _ in range(ROUNDS):
        left = torch.linalg.qr(shown_x.T @ (shown_y @ right))[0]
        right = torch.linalg.qr(shown_y.T @ (shown_x @ left))[0]
    u, _, v = torch.linalg.svd((shown_x @ left).T @ (shown_y @ right))
    return x @ (left @ u)[:, :DIRECTIONS], y @ (right @ v.T)[:, :DIRECTIONS]
