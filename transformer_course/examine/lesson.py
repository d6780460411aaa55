"""A subject learns a dozen pairs, then translates them: what several experiments look at."""

import contextlib
import math
import random
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

from transformer_course.examine import reference
from transformer_course.examine.bench import Bench, BrokenOff, NotExamined, in_a_line
from transformer_course.examine.subject import Pair, Subject, are_ids

PAIRS = 12
LOOK_EVERY = 5
MOST_STEPS = 1200
SURE, SURE_AFTER = 0.05, 100
"""Loss at which, or steps after which, what is known by heart is known well.

A source with twenty targets takes the steps: its loss never gets low. After 30 of them, one of
fifteen right models of other people said by its beam something else alone than in a batch.
"""
STUCK = 100
"""Steps without a lower loss after which nothing more is expected."""
COPIED = 0.3
"""Share to which the loss of copying falls where that is what is learned."""
LONGER = 6
"""How many tokens a search may say beyond the longest target, before it counts as endless."""
SHARE_OF_LEARNING = 0.6
"""Of the time that is left; translating, and what comes after, needs the rest."""
WIDTH = 4
WORSE = 0.5
"""By how much the log-probability of a translation is lower than another's where that is clear."""
BEAMED = 6
"""Pairs that are translated by a beam too."""
FORKS = ((0, (3, 3, 2, 2)), (1, (6, 1)), (2, (3,)))
"""Twenty targets of one source: with which word they begin, and how many go on in which way.

The likeliest beginning (10 of 20) has four ends, so the likeliest whole (6 of 20) begins
otherwise; and the end that is surest (3 of 3) belongs to neither.
"""


@dataclass
class Lesson:
    """What happened.

    Attributes
    ----------
    pairs
        What was to be learned.
    steps, out_of_time
        How many were taken, and whether more would have been in more time.
    curve
        Steps and the loss after them, at each look.
    error
        What a step raised.
    by_heart
        The share of tokens that are right on the batches of the subject's own making.
    after_the_next, fed_in
        The share at which it says the token after the wanted one, or the one that it is given.
    copying_before, copies
        The loss of saying the token that it is given, before; and whether that has fallen a lot. A
        model with one table may say that token before it has learned anything.
    fed
        The share that is right where the right words are fed in, and the right ones wanted.
    ours, theirs, alone
        Translations by a right greedy search and by theirs, all at once and one by one.
    new_alike
        Whether unknown sentences are translated alike alone and together.
    beam, our_beam
        Translations of single sentences by a beam, theirs and a right one.
    beam_alike
        At which share of the sentences theirs says alone what it says in a batch; none if it says
        something else each time.
    fork
        One source with twenty targets.
    fork_theirs, fork_ours, fork_greedy
        The log-probability of what their beam, a right one and a greedy search say of it.
    again
        What their search says when it is asked once more.
    moved
        How many weights their search has left changed.
    watched, watched_ours
        What was seen while they translated, and when the right words were fed in.
    """

    pairs: list[Pair]
    fork: list[Pair]
    steps: int = 0
    out_of_time: bool = False
    curve: list[tuple[int, float]] = field(default_factory=list)
    error: str = ""
    by_heart: float = 0.0
    after_the_next: float = 0.0
    fed_in: float = 0.0
    copying_before: float = math.inf
    copies: bool = False
    fed: float = 0.0
    ours: list[list[int]] = field(default_factory=list)
    theirs: list[list[int]] | str = ""
    again: list[list[int]] | str = ""
    moved: int = 0
    alone: list[list[int]] | str = ""
    new_alike: bool = True
    beam: list[list[int]] | str = ""
    our_beam: list[list[int]] = field(default_factory=list)
    beam_alike: float | None = None
    fork_theirs: float = 0.0
    fork_ours: float = 0.0
    fork_greedy: float = 0.0
    watched: "Watched | None" = None
    watched_ours: "Watched | None" = None

    @property
    def learned(self) -> bool:
        """Whether all is right on the subject's own batches."""
        return self.by_heart > 0.995

    @property
    def losses(self) -> list[float]:
        """The loss at each look."""
        return [loss for _, loss in self.curve]

    @property
    def is_stuck(self) -> bool:
        """Whether the loss, which is not low yet, has not fallen for long."""
        looks, losses = STUCK // LOOK_EVERY, self.losses
        before, now = losses[-3 * looks : -looks], losses[-looks:]
        return len(before) == 2 * looks and min(now) > 0.97 * min(before) and not self.learned


def lesson(bench: Bench) -> Lesson:
    """Teach the subject a dozen pairs in the time that is left; put the network back."""
    seconds = bench.seconds_left * SHARE_OF_LEARNING
    record = Lesson(*_pairs(bench))
    with bench.untouched():
        torch.manual_seed(0)
        _teach(bench, record, seconds)
        if record.error:
            return record
        right = bench.right_batch(record.pairs)
        record.fed = _share_right(bench, right)
        source, target_in, target_out = right
        record.after_the_next = _share_right(bench, (source, target_in, _later(bench, target_out)))
        copying = _copying(bench, record)
        record.fed_in = _share_right(bench, copying)
        record.copies = _loss(bench, copying) < COPIED * record.copying_before
        _translate(bench, record)
        if bench.subject.beam and record.learned:
            _search_by_beam(bench, record)
    return record


# Pairs


def _pairs(bench: Bench) -> tuple[list[Pair], list[Pair]]:
    """Draw a dozen pairs, and one source with twenty targets.

    Every second source is the one before in reverse, with another target: a model without positions
    cannot tell them apart. Words are repeated in targets.
    """
    chance = random.Random(0)
    sources, targets = bench.source_words[:40], bench.target_words[:40]
    if len(sources) < 4 or len(targets) < 7:
        raise BrokenOff("a vocabulary has too few words: give one of at least ten ids")
    pairs: list[Pair] = []
    while len(pairs) < PAIRS:
        source = chance.sample(sources, chance.randint(2, min(5, len(sources))))
        if any(source == known for known, _ in pairs):
            continue  # nobody could learn two targets of one source
        for each in (source, source[::-1]):
            target = [chance.choice(targets) for _ in range(chance.randint(2, 5))]
            pairs.append((each, target[:1] + target))
    chance.shuffle(pairs)  # else a search that sorts by length might find them sorted
    fork = [sources[0]] * 3
    twenty = [
        (fork, [targets[first], targets[3 + way]])
        for first, ways in FORKS
        for way, times in enumerate(ways)
        for _ in range(times)
    ]
    return pairs, twenty


# Learning


def _teach(bench: Bench, record: Lesson, seconds: float) -> None:
    taught = record.pairs + (record.fork if bench.subject.beam else [])
    try:
        batch = tuple(each.to(bench.device) for each in bench.collate(taught))
        own = bench.collate(record.pairs)
        record.copying_before = _loss(bench, _copying(bench, record))
        ends, known_for, is_last = time.monotonic() + seconds, 0, False
        while not is_last:
            bench.network.train()
            bench.step(*batch)
            record.steps += 1
            record.out_of_time = time.monotonic() > ends
            is_last = record.steps == MOST_STEPS or record.out_of_time
            if not is_last and record.steps > 1 and record.steps % LOOK_EVERY:
                continue
            _look(bench, record, own)
            known_for += LOOK_EVERY * record.learned
            is_sure = record.losses[-1] < SURE and not bench.subject.beam
            knows_well = record.learned and (is_sure or known_for > SURE_AFTER)
            if knows_well or (not known_for and record.is_stuck):
                break
    except NotExamined:
        raise
    except Exception as error:
        record.error = in_a_line(error)


def _look(bench: Bench, record: Lesson, batch: Sequence[Tensor]) -> None:
    """Note the loss, and the share of tokens that are right."""
    source, target_in, target_out = batch
    scores = bench.scores(source, target_in)
    record.by_heart = _share(bench, scores, target_out)
    record.curve.append((record.steps, float(bench.right_loss(scores, target_out))))


def _loss(bench: Bench, batch: Sequence[Tensor]) -> float:
    return float(bench.right_loss(bench.scores(*batch[:2]), batch[2]))


def _share_right(bench: Bench, batch: Sequence[Tensor]) -> float:
    """Return at which share of the tokens the likeliest is the wanted one."""
    source, target_in, target_out = batch
    return _share(bench, bench.scores(source, target_in), target_out)


def _share(bench: Bench, scores: Tensor, target_out: Tensor) -> float:
    counted = target_out != bench.subject.pad
    right = (scores.argmax(-1) == target_out)[counted]
    return float(right.float().mean()) if counted.any() else 0.0


def _copying(bench: Bench, record: Lesson) -> tuple[Tensor, Tensor, Tensor]:
    """Return a batch in which the wanted tokens are those that are fed in."""
    source, target_in, _ = bench.right_batch(record.pairs)
    return source, target_in, target_in


def _later(bench: Bench, target_out: Tensor) -> Tensor:
    """Return what is wanted one position later, with padding at the end."""
    return torch.nn.functional.pad(target_out[:, 1:], (0, 1), value=bench.subject.pad)


# Translating


def _translate(bench: Bench, record: Lesson) -> None:
    sources = [list(source) for source, _ in record.pairs]
    steps = max(len(target) for _, target in record.pairs) + LONGER
    record.ours = bench.greedy(bench.right_batch(record.pairs)[0], steps)
    if bench.subject.translate is None:
        return
    with watching(bench) as record.watched_ours:
        bench.scores(*bench.right_batch(record.pairs)[:2])
    weights = [*bench.network.parameters()]
    before = [weight.detach().clone() for weight in weights]
    with watching(bench) as record.watched:
        said = _said(bench, bench.subject.translate, sources)
    record.moved = sum(
        not torch.allclose(*each, rtol=0, atol=0, equal_nan=True)
        for each in zip(weights, before, strict=True)
    )
    again = _said(bench, bench.subject.translate, sources)
    alone = [_said(bench, bench.subject.translate, [source]) for source in sources]
    errors = [each for each in alone if isinstance(each, str)]
    one_by_one = errors[0] if errors else [each[0] for each in alone]
    # In a batch a search may go on until the last sentence has ended; alone it has no reason to.
    cut = _whole if not errors and _goes_on(bench.subject, one_by_one) else _up_to_the_end
    record.theirs, record.again, record.alone = (
        _as_far_as(record.ours, steps, cut(bench, each)) for each in (said, again, one_by_one)
    )
    record.new_alike = not errors and _new_sentences_are_alike(bench, sources)


def _said(bench: Bench, translate: Callable, sources: list[list[int]]) -> list[list[int]] | str:
    """Return what a search of theirs says; a sentence if it cannot be used."""
    bench.network.train()  # as it is between two training steps
    try:
        said = translate(sources)
        if not isinstance(said, Iterable):
            return f"it returns {type(said).__name__}: let it return lists of ids"
        said = [*said]
    except Exception as error:
        return f"it raises {in_a_line(error)}"
    if any(isinstance(row, str) for row in said):
        return "it returns texts: let it return lists of ids"
    try:
        rows = [row.tolist() if isinstance(row, Tensor) else [*map(int, row)] for row in said]
    except (TypeError, ValueError):
        return "it returns no lists of ids"
    if not all(map(are_ids, rows)):
        return "it returns no lists of ids"
    if len(rows) != len(sources):
        return f"it returns {len(rows)} translations of {len(sources)} sentences"
    return rows


def _goes_on(subject: Subject, rows: list[list[int]]) -> bool:
    """Whether anything but padding comes after the end in some row."""
    ended = [row[row.index(subject.eos) + 1 :] for row in rows if subject.eos in row]
    return any({*rest} - {subject.pad} for rest in ended)


def _whole(bench: Bench, rows: list[list[int]] | str) -> list[list[int]] | str:
    if isinstance(rows, str):
        return rows
    return [row[1:] if row[:1] == [bench.subject.bos] else row for row in rows]


def _up_to_the_end(bench: Bench, rows: list[list[int]] | str) -> list[list[int]] | str:
    rows = _whole(bench, rows)
    if isinstance(rows, str):
        return rows
    return [reference.up_to(row, bench.subject.eos) for row in rows]


def _new_sentences_are_alike(bench: Bench, known: list[list[int]]) -> bool:
    """Whether unknown sentences, of which a model is less sure, are translated alike alone.

    Two are alike as far as both go: how many steps a search takes may depend on the batch.
    """
    chance = random.Random(1)
    new = [[*source[1:], chance.choice(bench.source_words)] for source in known[::2]]
    new[0] += new[1]  # one that is longer than all others
    together = _up_to_the_end(bench, _said(bench, bench.subject.translate, new))
    alone = [_up_to_the_end(bench, _said(bench, bench.subject.translate, [each])) for each in new]
    if isinstance(together, str) or any(isinstance(each, str) for each in alone):
        return False
    pairs = zip(together, (each[0] for each in alone), strict=True)
    return all(a[: len(b)] == b[: len(a)] for a, b in pairs)


def _as_far_as(
    ours: list[list[int]], steps: int, theirs: list[list[int]] | str
) -> list[list[int]] | str:
    """Take for the same what only goes on for longer or shorter, where a right search never ends.

    How many steps a search takes at most is its own affair.
    """
    if isinstance(theirs, str):
        return theirs
    return [
        o if len(o) == steps and t[: len(o)] == o[: len(t)] else t
        for o, t in zip(ours, theirs, strict=True)
    ]


def _search_by_beam(bench: Bench, record: Lesson) -> None:
    """Let both beams look for the likeliest translation of the source with twenty targets."""
    subject = bench.subject
    (source, _), *_ = record.fork
    ids = bench.right_batch(record.fork[:1])[0]
    said = _said(bench, subject.beam, [list(source)])
    ours = _our_beam(bench, ids, 2 + LONGER)
    (greedy,) = bench.greedy(ids, 2 + LONGER)
    record.fork_ours, record.fork_greedy = (_likelihood(bench, ids, t) for t in (ours, greedy))
    if isinstance(said, str):
        record.beam = said
        return
    (row,) = _up_to_the_end(bench, said)
    record.fork_theirs = _likelihood(bench, ids, row)
    pairs = record.pairs[:BEAMED]
    sources = [list(source) for source, _ in pairs]
    _beam_in_a_batch_and_alone(bench, record, sources)
    steps = max(len(target) for _, target in pairs) + LONGER
    record.our_beam = [_our_beam(bench, bench.right_batch([pair])[0], steps) for pair in pairs]
    if isinstance(record.beam, list):
        record.beam = [
            _ours_unless_worse(bench, pair, *said)
            for pair, *said in zip(pairs, record.beam, record.our_beam, record.ours, strict=False)
        ]


def _beam_in_a_batch_and_alone(bench: Bench, record: Lesson, sources: list[list[int]]) -> None:
    def said(sources: list[list[int]]) -> list[list[int]] | str:
        return _up_to_the_end(bench, _said(bench, bench.subject.beam, sources))

    together, alone = said(sources), [said([source]) for source in sources]
    errors = [each for each in (together, *alone) if isinstance(each, str)]
    if errors:
        record.beam = errors[0]
        return
    record.beam = [row for (row,) in alone]
    if record.beam == together or said(sources) == together:
        alike = [one == row for one, row in zip(record.beam, together, strict=True)]
        record.beam_alike = sum(alike) / len(alike)


def _ours_unless_worse(
    bench: Bench, pair: Pair, theirs: list[int], ours: list[int], greedy: list[int]
) -> list[int]:
    """Return what their beam says only if greedy says something clearly likelier.

    A beam is no exact search: two right ones may differ.
    """
    source = bench.right_batch([pair])[0]
    worse = _likelihood(bench, source, theirs) < _likelihood(bench, source, greedy) - WORSE
    return theirs if worse else ours


def _our_beam(bench: Bench, source: Tensor, steps: int) -> list[int]:
    subject = bench.subject
    return reference.beam_search(
        bench.scores, source, subject.bos, subject.eos, steps, WIDTH, bench.kind
    )


def _likelihood(bench: Bench, source: Tensor, said: list[int]) -> float:
    """Return the log-probability of a translation."""
    subject = bench.subject
    known = [token for token in said if 0 <= token < subject.target_vocab]
    fed = torch.tensor([[subject.bos, *known]])
    log_p = reference.log_probabilities(bench.scores(source, fed), bench.kind)[0]
    wanted = torch.tensor([*known, subject.eos])
    return float(log_p[torch.arange(len(wanted)), wanted].sum())


# Watching


@dataclass
class Watched:
    """What was seen while a subject translated.

    Attributes
    ----------
    trained
        Whether a module was in train mode while it was called.
    looked_up
        The ids that were looked up in tables of vectors, in the order of the calls, and a number
        for the table.
    """

    trained: bool = False
    looked_up: list[tuple[Tensor, int]] = field(default_factory=list)


class _LookUps(TorchFunctionMode):
    """Keeps the ids of every look-up."""

    def __init__(self, watched: Watched) -> None:
        super().__init__()
        self.watched = watched

    def __torch_function__(self, function, types, args=(), kwargs=None):
        if function is torch.nn.functional.embedding and len(args) > 1:
            ids, table = args[:2]
            self.watched.looked_up.append((ids.detach().cpu().clone(), table.data_ptr()))
        return function(*args, **(kwargs or {}))


@contextlib.contextmanager
def watching(bench: Bench) -> Iterator[Watched]:
    """Note the mode in which modules are called, and what they look up."""
    watched = Watched()

    def note(module: torch.nn.Module, inputs: object) -> None:
        watched.trained |= module.training

    # Not the mode of the network as a whole: what counts is what is called.
    hooks = [
        module.register_forward_pre_hook(note)
        for module in bench.network.modules()
        if not isinstance(module, torch.jit.ScriptModule)  # these take no hooks
    ]
    try:
        with _LookUps(watched):
            yield watched
    finally:
        for hook in hooks:
            hook.remove()
