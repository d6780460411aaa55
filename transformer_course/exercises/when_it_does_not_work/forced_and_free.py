"""How many sentences are right with the right words fed in, and how many with the system's own."""

from collections.abc import Callable

import torch
from torch import Tensor

from transformer_course.checker.cases import Case, Property
from transformer_course.checker.exercise import exercise
from transformer_course.exercises.when_it_does_not_work.systems import (
    BOS,
    EOS,
    Batch,
    Pair,
    System,
    batch_of,
    fed_past_the_end,
    one_hot,
)

Sentences = list[list[int]]

_OTHER = 3
"""A word that no target holds: what a system says that is wrong."""


def _network(sources: Sentences, said: Sentences, pad: int, at_padding: int) -> System:
    """Return a system that says a sentence for each source, whatever words are fed in.

    It expects the begin token first, and without it gets every word wrong. After the end of a
    sentence it says ``at_padding``.
    """
    known = {tuple(source): [*words, EOS] for source, words in zip(sources, said, strict=True)}

    def scores(source: Tensor, target_in: Tensor) -> Tensor:
        length = target_in.shape[1]
        words = [
            tuple(token for token in row if token not in (EOS, pad)) for row in source.tolist()
        ]
        rows = [(known.get(each, []) + [at_padding] * length)[:length] for each in words]
        return one_hot(torch.where(target_in[:, :1] == BOS, torch.tensor(rows), _OTHER))

    return System("network", scores)


class _Search:
    """A search that translates the sources that it knows, and says nothing to all others."""

    def __init__(self, sources: Sentences, said: Sentences) -> None:
        self.known = {tuple(source): words for source, words in zip(sources, said, strict=True)}

    def __call__(self, sources: Sentences) -> Sentences:
        for source in sources:
            if not isinstance(source, list):
                kind = type(source).__name__
                raise TypeError(f"translate wants a list of lists of ids; one of these is {kind}")
        return [list(self.known.get(tuple(source), [])) for source in sources]


_PAIRS: list[Pair] = [
    ([4, 5], [6, 7]),
    ([6], [5, 4, 6, 7]),
    ([7, 5, 4], [4]),
    ([5, 4], [7, 6, 5]),
    ([7, 5], [7, 5]),
]
_TARGETS = [target for _, target in _PAIRS]


def _changed(
    sentences: Sentences, *numbers: int, how: Callable[[list[int]], list[int]]
) -> Sentences:
    """Return the sentences, some of them in another form."""
    return [how(s) if n in numbers else s for n, s in enumerate(sentences)]


def _wrong_at_first(words: list[int]) -> list[int]:
    return [_OTHER, *words[1:]]


def _wrong_at_the_end(words: list[int]) -> list[int]:
    return [*words[:-1], _OTHER]


def _padding_at_the_end(words: list[int]) -> list[int]:
    return [*words[:-1], 0]


def _too_short(words: list[int]) -> list[int]:
    return words[:-1]


def _goes_on(words: list[int]) -> list[int]:
    return [*words, *words[-1:]]


def _reversed(words: list[int]) -> list[int]:
    return words[::-1]


_EVERY = range(len(_PAIRS))


def _judged(
    words: str,
    forced: Sentences,
    free: Sentences | None = None,
    at_padding: int = _OTHER,
    pairs: list[Pair] = _PAIRS,
    pad: int = 0,
    fed: Callable[[Batch], Batch] = lambda batch: batch,
) -> Case:
    """Return a case; a search that says nothing of its own says what the network says."""
    sources = [source for source, _ in pairs]
    network = _network(sources, forced, pad, at_padding)
    search = _Search(sources, forced if free is None else free)
    return Case(
        (network, search, pairs, fed(batch_of(pairs, pad)), pad),
        written=f"(scores, translate, pairs, batch, pad={pad})  # {words}",
    )


_ZERO_IS_A_WORD = [([4, 0], [0, 7]), ([6], [5, 4, 0]), ([0], [0])]
_SOME_WRONG = _changed(_TARGETS, 1, 3, how=_wrong_at_first)


@exercise(
    cases=[
        _judged("both sentences are right", _TARGETS[:2], pairs=_PAIRS[:2]),
        _judged("2 of 5 sentences have a wrong word", _SOME_WRONG),
        _judged("the same, and it says padding after the end", _SOME_WRONG, at_padding=0),
        _judged(
            "4 of 5 sentences have a wrong word",
            _changed(_TARGETS, 0, 1, 3, 4, how=_wrong_at_the_end),
        ),
        _judged(
            "2 of 5 sentences have padding in place of a word",
            _changed(_TARGETS, 0, 3, how=_padding_at_the_end),
            at_padding=0,
        ),
        _judged("it copies the source", [source for source, _ in _PAIRS]),
        _judged("it says the word that it was fed", [[BOS, *target] for target in _TARGETS]),
        _judged("it says the word after the next", [target[1:] for target in _TARGETS]),
        _judged(
            "the search begins wrongly",
            _TARGETS,
            _changed(_TARGETS, *_EVERY, how=_wrong_at_first),
        ),
        _judged(
            "the search never stops in 3 sentences",
            _TARGETS,
            _changed(_TARGETS, 0, 2, 3, how=_goes_on),
        ),
        _judged(
            "the search keeps the end token",
            _TARGETS,
            [[*target, EOS] for target in _TARGETS],
        ),
        _judged(
            "the search stops early in 2 sentences",
            _TARGETS,
            _changed(_TARGETS, 1, 4, how=_too_short),
        ),
        _judged(
            "the search reverses all sentences",
            _TARGETS,
            _changed(_TARGETS, *_EVERY, how=_reversed),
        ),
        _judged(
            "the network misses the end of 3 sentences, and the search knows when to stop",
            _changed(_TARGETS, 0, 1, 4, how=_goes_on),
            _TARGETS,
        ),
        _judged(
            "different sentences are wrong",
            _changed(_TARGETS, 0, 3, how=_wrong_at_first),
            _changed(_TARGETS, 1, how=_wrong_at_first),
        ),
        _judged(
            "the search returns two sentences in each other's place",
            _TARGETS,
            [_TARGETS[1], _TARGETS[0], *_TARGETS[2:]],
        ),
        _judged(
            "padding is 3, and 0 is a word",
            _changed([target for _, target in _ZERO_IS_A_WORD], 2, how=lambda words: [5]),
            pairs=_ZERO_IS_A_WORD,
            at_padding=6,
            pad=3,
        ),
        _judged("the end token is fed in, too", _SOME_WRONG, fed=fed_past_the_end),
    ],
    properties=[
        Property(
            "both shares lie between 0 and 1",
            lambda value, case: all(0 <= share <= 1 for share in value),
        ),
    ],
    hints=[
        "Forced: in how many sentences is the best word the right one at every real position? "
        "Free: how many of the lists that `translate` returns are equal to their targets?",
        "`scores(source, target_in).argmax(dim=-1)` are the best words. A sentence is right if all "
        "of its tokens are right *or* are padding: `all(dim=1)`. Lists can be compared as a whole, "
        "with `==`.",
        "`right = (best == target_out) | (target_out == pad)`, `forced = right.all(dim=1)`; "
        "`said = translate([source for source, _ in pairs])`, and `free` is the list of `words == "
        "target`, pair by pair. The shares are `forced.float().mean().item()` and `sum(free) / "
        "len(pairs)`.",
    ],
)
def forced_and_free(
    scores: Callable, translate: Callable, pairs: list, batch: tuple, pad: int
) -> tuple[float, float]:
    """Return the shares of sentences that are right, forced and free."""
    source, target_in, target_out = batch
    best = scores(source, target_in).argmax(dim=-1)
    right = (best == target_out) | (target_out == pad)
    forced = right.all(dim=1)
    said = translate([source for source, _ in pairs])
    free = [words == target for words, (_, target) in zip(said, pairs, strict=True)]
    return forced.float().mean().item(), sum(free) / len(pairs)
