"""What the subject makes of sentence pairs."""

from collections.abc import Callable, Sequence

import torch.nn.functional as F
from torch import Tensor

from transformer_course.examine.bench import EFFECT, Bench, NotExamined, in_a_line, place_of
from transformer_course.examine.experiment import Outcome, experiment

LONG = 60
"""Words of a long sentence."""


def _of_batches(name: str, question: str, fine: str, wrong: str) -> Callable:
    return experiment(name, question, fine=fine, wrong=wrong, needs="collate")


@_of_batches(
    "begin",
    "With what does the decoder's input begin?",
    fine="the begin token",
    wrong="the first word | something else",
)
def begin(bench: Bench) -> Outcome:
    """Look at the first column of target in."""
    _, target_in, _ = bench.collated
    first = target_in[:, 0].tolist()
    numbers = {"first ids": first, "begin": bench.subject.bos}
    if set(first) == {bench.subject.bos}:
        return Outcome("the begin token", numbers)
    words = [target[0] for _, target in bench.pairs]
    return Outcome("the first word" if first == words else "something else", numbers)


@_of_batches(
    "end",
    "With what does the wanted output end?",
    fine="the end token",
    wrong="the last word | not in the longest | something else",
)
def end(bench: Bench) -> Outcome:
    """Look at the last id of each row of target out that is not padding."""
    last = [row[-1] for row in _rows(bench, bench.collated[2])]
    numbers = {"last ids": last, "end": bench.subject.eos}
    if set(last) == {bench.subject.eos}:
        return Outcome("the end token", numbers)
    words = [target[-1] for _, target in bench.pairs]
    if last == words:
        return Outcome("the last word", numbers)
    # The first pair has the longest target.
    only_longest = {*last[1:]} == {bench.subject.eos} and last[0] == words[0]
    return Outcome("not in the longest" if only_longest else "something else", numbers)


@_of_batches(
    "shift",
    "By how many places is the wanted output ahead of the input?",
    fine="by one",
    wrong="not at all | by two | it is another text",
)
def shift(bench: Bench) -> Outcome:
    """Find the middle words of a long target in both."""
    _, target_in, target_out = bench.collated
    numbers = {"target in": target_in[0].tolist(), "target out": target_out[0].tolist()}
    middle = list(bench.pairs[0][1][1:-1])
    places = [_place(row, middle) for row in (target_in[0], target_out[0])]
    if None in places:
        return Outcome("it is another text", numbers)
    ahead = {0: "not at all", 1: "by one", 2: "by two"}
    return Outcome(ahead.get(places[0] - places[1], "it is another text"), numbers)


@_of_batches(
    "texts",
    "Are source and target those of the pairs?",
    fine="yes",
    wrong="they are swapped | the source is reversed | no",
)
def texts(bench: Bench) -> Outcome:
    """Look for the words of each side in the rows, the end of a target left out."""
    source, _, target_out = bench.collated
    numbers = {"source": source[0].tolist(), "target out": target_out[0].tolist()}
    rows = [*zip(source, target_out, bench.pairs, strict=True)]

    def all_have(words_of_source: Callable, words_of_target: Callable) -> bool:
        return all(
            _place(s, words_of_source(*pair)) is not None
            and _place(t, words_of_target(*pair)[1:-1]) is not None
            for s, t, pair in rows
        )

    if all_have(lambda source, target: source, lambda source, target: target):
        return Outcome("yes", numbers)
    if all_have(lambda source, target: target[:-1], lambda source, target: source):
        return Outcome("they are swapped", numbers)
    if all_have(lambda source, target: source[::-1], lambda source, target: target):
        return Outcome("the source is reversed", numbers)
    return Outcome("no", numbers)


@_of_batches(
    "padding",
    "Where is the padding of the shorter sentence?",
    fine="at the end | at the front of the source, unseen",
    wrong="at the front | before the end token | it has another id | there is none",
)
def padding(bench: Bench) -> Outcome:
    """Look at both ends of all rows; in each tensor one at least is padded."""
    source, _, target_out = bench.collated
    numbers = {"source": source.tolist(), "target out": target_out.tolist()}
    sides = [(source, bench.subject.source_pad), (target_out, bench.subject.pad)]
    if all((ids[:, -1] == pad).any() for ids, pad in sides):
        return Outcome("at the end", numbers)
    if any((ids[:, 0] == pad).any() for ids, pad in sides):
        ends = (target_out[:, -1] == bench.subject.pad).any()
        if ends and _is_unseen_in_front(bench):
            return Outcome("at the front of the source, unseen", numbers)
        return Outcome("at the front", numbers)
    before_the_end = (target_out[:, -1] == bench.subject.eos) & (
        target_out[:, -2] == bench.subject.pad
    )
    if before_the_end.any():
        return Outcome("before the end token", numbers)
    longest = max(len(source) for source, _ in bench.pairs)
    padded = source.shape[1] >= longest
    return Outcome("it has another id" if padded else "there is none", numbers)


def _is_unseen_in_front(bench: Bench) -> bool:
    """Whether padding in front of sources moves no scores: positions begin behind it, then."""
    padded = F.pad(bench.sources, (3, 0), value=bench.subject.source_pad)
    with bench.aloud():
        effect = bench.effect(bench.scores(padded, bench.targets), bench.usual_scores)
    return bool(effect.max() <= EFFECT)


@_of_batches(
    "long sentences",
    "Does a long target still end with the end token?",
    fine="yes",
    wrong="no",
)
def long_sentences(bench: Bench) -> Outcome:
    """Make a batch of one long pair."""
    source = (bench.source_words * LONG)[:LONG]
    target = (bench.target_words * LONG)[:LONG]
    try:
        _, _, target_out = bench.collate([(source, target)])
    except Exception as error:
        raise NotExamined(f"a pair of {LONG} words raises {in_a_line(error)}") from None
    (row,) = _rows(bench, target_out)
    short_ends = [short[-1] for short in _rows(bench, bench.collated[2])]
    numbers = {"words": LONG, "length of target out": len(row), "last id": row[-1]}
    ends = row[-1] == short_ends[0] or row[-1] == bench.subject.eos
    return Outcome("yes" if ends else "no", numbers)


def _rows(bench: Bench, ids: Tensor) -> list[list[int]]:
    """Return the rows without the padding behind; where that would leave nothing, as they are."""
    rows = []
    for row in ids.tolist():
        kept = list(row)
        while len(kept) > 1 and kept[-1] == bench.subject.pad:
            kept.pop()
        rows.append(kept)
    return rows


def _place(row: Tensor, words: Sequence[int]) -> int | None:
    return place_of(words, row.tolist())
