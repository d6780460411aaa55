"""What is wrong with the text, where pairs are given."""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from statistics import median

import torch
from torch import Tensor

from transformer_course.examine.bench import Bench, NotExamined
from transformer_course.examine.experiment import Outcome, experiment
from transformer_course.examine.subject import Pair

FEW = 30
"""Pairs of which nothing can be said."""
MOST = 20_000
"""Pairs that are looked at where the order does not matter."""
PLACES, NEIGHBOURS, FURTHEST = 10, 300, 20
"""In how many places lines are compared, how many lines there, and how far apart they are put."""
BEYOND_CHANCE, CLEAR = 2.0, 6.0
"""Standard deviations below which a fit is chance, and above which words tell what fits."""
NUMBERED_ALIKE = 1 / 3
"""Share of places with the same id, in pairs that differ, above which ids do not show copies."""


def _of_text(name: str, question: str, fine: str, wrong: str, needs: str = "train") -> Callable:
    return experiment(name, question, fine=fine, wrong=wrong, needs=needs)


def _share(flags: Iterable[bool]) -> float:
    flags = list(flags)
    return sum(flags) / max(1, len(flags))


@_of_text("ids", "Are all ids those of the vocabularies?", fine="yes", wrong="no")
def ids(bench: Bench) -> Outcome:
    """Look for ids that no table has a row for."""
    subject = bench.subject
    pairs = [*subject.train, *subject.test]
    largest = {
        "largest id of a source": max(max(source, default=0) for source, _ in pairs),
        "of a target": max(max(target, default=0) for _, target in pairs),
        "ids": [subject.source_vocab, subject.target_vocab],
    }
    limits = zip((*largest.values(),)[:2], largest["ids"], strict=True)
    negative = any(number < 0 for pair in pairs for side in pair for number in side)
    return Outcome("no" if negative or any(n >= size for n, size in limits) else "yes", largest)


@_of_text(
    "special ids",
    "Have words of the text the id of padding, begin or end?",
    fine="no",
    wrong="yes",
)
def special_ids(bench: Bench) -> Outcome:
    """Look for these ids where no sentence begins or ends."""
    subject, pairs = bench.subject, _some(bench)
    sought = (
        ("sources", 0, "padding", subject.source_pad),
        ("targets", 1, "padding", subject.pad),
        ("targets", 1, "begin", subject.bos),
        ("targets", 1, "end", subject.eos),
    )
    # Text that is marked already has its marks at the ends of a sentence.
    shares = {
        f"share of the {side} with the id of {name}": _share(
            token in pair[place][1:-1] for pair in pairs
        )
        for side, place, name, token in sought
    }
    return Outcome("yes" if max(shares.values()) > 0.01 else "no", shares)


@_of_text(
    "test in train",
    "Are sources of the test also in the training text?",
    fine="hardly any",
    wrong="many",
    needs="train test",
)
def test_in_train(bench: Bench) -> Outcome:
    """Count them; of one with an unknown word nobody knows whether it is the same."""
    known = {tuple(source) for source, _ in bench.subject.train}
    unknown = bench.subject.unknown
    share = _share(
        unknown not in source and tuple(source) in known for source, _ in bench.subject.test
    )
    return Outcome("many" if share > 0.1 else "hardly any", {"share of the test": share})


@_of_text(
    "lines",
    "Do the lines of source and target belong together?",
    fine="yes",
    wrong="no",
)
def lines(bench: Bench) -> Outcome:
    """Ask whether source and target fit better as they stand than some lines apart.

    Where a line is missing, all that follow are apart, until another is. So the text is looked at
    in several places, and always at its end.
    """
    fits = {start: _fit(pairs) for start, pairs in _places(_all(bench))}
    apart = [start + 1 for start, fit in fits.items() if fit < BEYOND_CHANCE]
    numbers = {"fit in each place, in standard deviations": [*fits.values()]}
    if apart:
        numbers["places that do not fit begin at pair"] = apart
    # Where sums are learned, say, words hardly tell which lines belong together.
    together = [fit for fit in fits.values() if fit >= BEYOND_CHANCE]
    is_clear = len(apart) > len(together) or median(together) > CLEAR
    return Outcome("no" if apart and is_clear else "yes", numbers)


def _places(pairs: Sequence[Pair]) -> Iterator[tuple[int, Sequence[Pair]]]:
    """Yield neighbours with the number of their first, here and there, the last pairs included."""
    size = min(len(pairs), NEIGHBOURS)
    last = len(pairs) - size
    step = max(size, last // (PLACES - 1))
    for start in range(last % step, last + 1, step):
        yield start, pairs[start : start + size]


def _fit(pairs: Sequence[Pair]) -> float:
    """Return how far words or lengths fit better than with some lines between.

    In standard deviations of the fit with lines between; infinity where all lines are alike.
    """
    source, target = zip(*pairs, strict=True)
    fits = [_beyond_shifted(*map(table, (source, target))) for table in (_likeness, _lengths)]
    return max((fit for fit in fits if not math.isnan(fit)), default=math.inf)


def _beyond_shifted(source: Tensor, target: Tensor) -> float:
    """Compare the product of two tables, a row and a column for each line, with shifted ones."""
    here, shifts = (source * target).sum(), [n for n in range(-FURTHEST, FURTHEST + 1) if n]
    shifted = torch.stack([(source * target.roll((n, n), (0, 1))).sum() for n in shifts])
    if torch.allclose(here, shifted):
        return math.nan
    return ((here - shifted.mean()) / shifted.std()).item()


def _likeness(sentences: Sequence[Sequence[int]]) -> Tensor:
    """Return how many words each two sentences share, a rare one counting more.

    The product of two such tables is the sum, over all words of source and target, of how often the
    two met, squared, divided by how often each of them is there.
    """
    columns = {word: column for column, word in enumerate({w for each in sentences for w in each})}
    contains = torch.zeros(len(sentences), len(columns), dtype=torch.double)
    for row, sentence in enumerate(sentences):
        contains[row, [columns[word] for word in sentence]] = 1
    contains /= contains.sum(0).sqrt()
    return contains @ contains.T


def _lengths(sentences: Sequence[Sequence[int]]) -> Tensor:
    """Return the products of the lengths of each two sentences, measured from the mean."""
    lengths = torch.tensor([len(each) for each in sentences], dtype=torch.double)
    return torch.outer(lengths - lengths.mean(), lengths - lengths.mean())


@_of_text(
    "copies",
    "Are targets copies of their sources?",
    fine="hardly any",
    wrong="many",
)
def copies(bench: Bench) -> Outcome:
    """Count the pairs whose sides are the same.

    Two vocabularies that are numbered alike, by how frequent a word is, give a word and its
    translation one id: then the same ids are no copies.
    """
    pairs = [(list(source), list(target)) for source, target in _some(bench)]
    others = [pair for pair in pairs if pair[0] != pair[1]]
    if _share(a == b for pair in others for a, b in zip(*pair, strict=False)) > NUMBERED_ALIKE:
        raise NotExamined("most words have the id of their translation")
    share = _share(source == target for source, target in pairs)
    return Outcome("many" if share > 0.1 else "hardly any", {"share of the pairs": share})


@_of_text(
    "unknown words",
    "How many words of the text are unknown?",
    fine="few",
    wrong="many of the test | many",
    needs="train test unknown",
)
def unknown_words(bench: Bench) -> Outcome:
    """Count them in training text and test."""
    train, test = (
        _share(word == bench.subject.unknown for pair in pairs for side in pair for word in side)
        for pairs in (bench.subject.train, bench.subject.test)
    )
    numbers = {"share in the test": test, "in training": train}
    if test > train + 0.15:
        return Outcome("many of the test", numbers)
    return Outcome("many" if train > 0.1 else "few", numbers)


@_of_text(
    "vocabularies",
    "Are the ids of the test those of the training text?",
    fine="yes",
    wrong="no",
    needs="train test",
)
def vocabularies(bench: Bench) -> Outcome:
    """Compare how often each id occurs."""
    sides = []
    for side in (0, 1):
        counts = [
            Counter(word for pair in pairs for word in pair[side])
            for pairs in (bench.subject.train, bench.subject.test)
        ]
        sides.append(_overlap(*counts))
    numbers = {"overlap of the frequencies, source and target": sides}
    if len(bench.subject.test) < FEW:
        raise NotExamined(f"the test has fewer than {FEW} pairs")
    return Outcome("no" if min(sides) < 0.35 else "yes", numbers)


def _overlap(train: Counter, test: Counter) -> float:
    """Return the mass that two distributions share, from 0 to 1."""
    sizes = max(1, train.total()), max(1, test.total())
    return sum(min(train[word] / sizes[0], test[word] / sizes[1]) for word in test)


def _all(bench: Bench) -> Sequence[Pair]:
    if len(bench.subject.train) < FEW:
        raise NotExamined(f"the text has fewer than {FEW} pairs")
    return bench.subject.train


def _some(bench: Bench) -> Sequence[Pair]:
    return _all(bench)[:MOST]
