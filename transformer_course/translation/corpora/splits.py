"""Which sentence pairs a translator learns from, and which judge it."""

import random
from collections.abc import Collection, Mapping, Sequence

from transformer_course.translation.corpora.corpus import SentencePair

Splits = dict[str, list[SentencePair]]
HELD_OUT = ("dev", "test")
REPEATED = "the source is in dev or test"


def complete(
    pairs: Sequence[SentencePair],
    given: Mapping[str, list[SentencePair]],
    seed: int = 0,
    size: int | None = None,
) -> tuple[Splits, int]:
    """Hold out of a text what is not given of dev and test; leave the rest for training.

    Source sentences are drawn, not lines: one of a sentence's translations goes to dev or test, and
    the training split has none of the others, nor any source sentence of what is given.

    Parameters
    ----------
    pairs
        The text.
    given
        ``dev`` or ``test``, or both, where they are known.
    seed
        Determines the draws, and the order of the training pairs.
    size
        Pairs of each split that is held out; by default as :func:`held_out` says.

    Returns
    -------
    splits
        ``train``, ``dev`` and ``test``.
    repeated
        Pairs that are in no split, because their source sentence is in dev or test.

    Raises
    ------
    ValueError
        If there are too few source sentences to have all three.
    """
    shuffled = random.Random(seed).sample(pairs, len(pairs))
    size = size or held_out(len({pair.source for pair in pairs}))
    splits = dict(given)
    taken = {pair.source for split in given.values() for pair in split}
    for name in HELD_OUT:
        if name not in given:
            drawn = _draw(shuffled, size, taken)
            splits[name] = list(drawn.values())
            taken |= drawn.keys()
    splits["train"] = [pair for pair in shuffled if pair.source not in taken]
    _check(splits, given)
    new = sum(len(split) for name, split in splits.items() if name not in given)
    return splits, len(pairs) - new


def held_out(sources: int) -> int:
    """Return how many of this many source sentences make a dev or a test split.

    A fiftieth, 200 at least and 1,000 at most; of a small text a tenth.
    """
    return max(1, min(max(200, min(1000, sources // 50)), sources // 10))


def _draw(
    pairs: Sequence[SentencePair], count: int, taken: Collection[str]
) -> dict[str, SentencePair]:
    """Return the first pair of each of ``count`` source sentences that are not taken."""
    drawn: dict[str, SentencePair] = {}
    for pair in pairs:
        if len(drawn) == count:
            break
        if pair.source not in taken:
            drawn.setdefault(pair.source, pair)
    return drawn


def _check(splits: Splits, given: Collection[str]) -> None:
    empty = [name for name, split in splits.items() if not split]
    if empty and given:
        raise ValueError(
            f"nothing is left for {' and '.join(empty)}: each source sentence is in what was "
            f"given for {' or '.join(given)}. Give other text to train on."
        )
    if empty:
        raise ValueError(
            f"train, dev and test need three different source sentences or more, and nothing is "
            f"left for {' and '.join(empty)}: give more text."
        )
