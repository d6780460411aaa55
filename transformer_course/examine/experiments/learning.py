"""Whether the subject learns a dozen pairs, and whether it then translates them."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from transformer_course.examine.bench import Bench, BrokenOff, NotExamined
from transformer_course.examine.experiment import Outcome, experiment
from transformer_course.examine.lesson import STUCK, Lesson, lesson
from transformer_course.examine.subject import Pair

ALMOST = 0.9
DIFFERENCES = (
    "one word for ever | all sentences alike | it does not end | it is cut short | "
    "it is cut where the first one ends | it is too short | only the first word is right | "
    "the sentences are in another order"
)


@experiment(
    "learning",
    "Does it learn a dozen pairs?",
    fine="by heart | it is still learning",
    wrong="the token after the next | the token that is fed in | it is stuck | not at all | "
    "it diverges | a step raises an error",
    follows=True,
)
def learning(bench: Bench) -> Outcome:
    """Train on one batch until every token is right, or the time is over."""
    record = bench.once(lesson)
    if record.error:
        return Outcome("a step raises an error", {"error": record.error})
    first, last = record.losses[0], min(record.losses[-5:])
    numbers = {
        "steps": record.steps,
        "loss after one step": first,
        "in the end": record.losses[-1],
        "tokens that are right": record.by_heart,
    }
    if record.learned:
        return Outcome("by heart", numbers)
    if record.after_the_next > ALMOST:
        return Outcome("the token after the next", numbers)
    if record.fed_in > ALMOST and record.copies:
        return Outcome("the token that is fed in", numbers)
    if not last < 2 * first + 5:  # NaN too
        return Outcome("it diverges", numbers)
    if last > 0.97 * first and record.steps >= STUCK:
        return Outcome("not at all", numbers)
    return Outcome("it is stuck" if record.is_stuck else "it is still learning", numbers)


def _learned(bench: Bench) -> Lesson:
    record = bench.once(lesson)
    if record.learned and not record.error:
        return record
    if record.out_of_time:
        raise BrokenOff(f"it had no time to learn the dozen pairs: {record.steps} steps were made")
    raise NotExamined("it has not learned the dozen pairs")


@experiment(
    "fed the right words",
    "Where the right words are fed in, does it say the right next ones?",
    fine="yes",
    wrong="no",
    follows=True,
)
def fed_the_right_words(bench: Bench) -> Outcome:
    """Give it right batches of the pairs that it knows by heart."""
    share = _learned(bench).fed
    return Outcome("yes" if share > ALMOST else "no", {"tokens that are right": share})


@experiment(
    "fed its own words",
    "Where its own words are fed in, one by one, does it say the right sentence?",
    fine="yes",
    wrong="one word for ever | all sentences alike | it does not end | no",
    follows=True,
    loose=True,
)
def fed_its_own_words(bench: Bench) -> Outcome:
    """Translate the pairs by a right greedy search."""
    record = _learned(bench)
    return judged(record.ours, record.pairs)


def judged(said: Sequence[list[int]], pairs: Sequence[Pair]) -> Outcome:
    """Say how translations differ from the targets that are wanted."""
    wanted = [list(target) for _, target in pairs]
    share = sum(s == w for s, w in zip(said, wanted, strict=True)) / len(wanted)
    numbers = {"sentences that are right": share, "the first": said[0], "wanted": wanted[0]}
    if share >= ALMOST:
        return Outcome("yes", numbers)
    commonest = [Counter(row).most_common(1)[0][1] / len(row) for row in said if row]
    if commonest and min(commonest) == 1 and min(map(len, said)) > 1:
        return Outcome("one word for ever", numbers)
    if len({tuple(row) for row in said}) == 1:
        return Outcome("all sentences alike", numbers)
    # What it ought to say, and then something more.
    endless = [s[: len(w)] == w and len(s) > len(w) for s, w in zip(said, wanted, strict=True)]
    if sum(endless) > len(wanted) / 2:
        return Outcome("it does not end", numbers)
    return Outcome("no", numbers)


def beside_ours(theirs: list[list[int]], ours: list[list[int]]) -> Outcome:
    """Say how a search of theirs differs from a right one on the same weights."""
    wrong = [(t, o) for t, o in zip(theirs, ours, strict=True) if t != o]
    numbers = {"sentences that differ": len(wrong), "of": len(ours)}
    if not wrong:
        return Outcome("not at all", numbers)
    numbers |= {"theirs": wrong[0][0], "a right one": wrong[0][1]}
    if sorted(theirs) == sorted(ours):
        return Outcome("the sentences are in another order", numbers)
    if all(t == o[: len(t)] for t, o in wrong):
        first = min(map(len, ours))
        at_the_first = all(len(t) in (first, first + 1) for t, _ in wrong)
        word = "it is cut where the first one ends" if at_the_first else "it is cut short"
        return Outcome(word, numbers)
    verdict = judged(theirs, [((), said) for said in ours])
    if verdict.word not in ("yes", "no"):
        return Outcome(verdict.word, numbers)
    if all(len(t) < len(o) for t, o in wrong):
        return Outcome("it is too short", numbers)
    if all(t[:1] == o[:1] for t, o in wrong):
        return Outcome("only the first word is right", numbers)
    return Outcome("in another way", numbers)


def _of_translate(name: str, question: str, fine: str, wrong: str, **more: bool) -> Callable:
    return experiment(name, question, fine=fine, wrong=wrong, needs="translate", **more)


def _theirs(bench: Bench) -> list[list[int]]:
    said = bench.once(lesson).theirs
    if isinstance(said, str):
        raise NotExamined(said or "a step raises an error")
    return said


@_of_translate(
    "their translation",
    "Does their search say what a right one says?",
    fine="yes",
    wrong="no | it cannot be used",
    follows=True,
)
def their_translation(bench: Bench) -> Outcome:
    """Compare with a right greedy search on the same weights."""
    record = _learned(bench)
    if isinstance(record.theirs, str):
        return Outcome("it cannot be used", {"error": record.theirs})
    return Outcome("yes" if record.theirs == record.ours else "no", {"the first": record.theirs[0]})


@_of_translate(
    "how it differs",
    "How does their search differ from a right one?",
    fine="not at all",
    wrong=f"{DIFFERENCES} | in another way",
    follows=True,
    loose=True,
)
def how_it_differs(bench: Bench) -> Outcome:
    """Compare sentence by sentence."""
    _learned(bench)
    return beside_ours(_theirs(bench), bench.once(lesson).ours)


@_of_translate(
    "mode",
    "In which mode is the network while they translate?",
    fine="eval",
    wrong="train",
)
def mode(bench: Bench) -> Outcome:
    """Look at the modules that are called."""
    _theirs(bench)
    return Outcome("train" if bench.once(lesson).watched.trained else "eval")


@_of_translate(
    "alone",
    "Is a sentence translated alone as in a batch?",
    fine="yes",
    wrong="no",
    follows=True,
)
def alone(bench: Bench) -> Outcome:
    """Translate all at once, and one by one."""
    together = _theirs(bench)
    one_by_one = bench.once(lesson).alone
    if isinstance(one_by_one, str):
        return Outcome("no", {"one by one": one_by_one})
    each = zip(together, one_by_one, bench.once(lesson).ours, strict=True)
    same = sum(_alike(*three) for three in each) / len(together)
    alike = bench.once(lesson).new_alike
    numbers = {"known sentences that are the same": same, "unknown ones are": alike}
    return Outcome("yes" if same == 1 and alike else "no", numbers)


def _alike(together: list[int], alone: list[int], ours: list[int]) -> bool:
    """Whether two translations are the same; where both pass a right one's end, as far as both go.

    How many steps a search takes that finds no end may depend on the batch.
    """
    shorter = min(len(together), len(alone))
    if shorter > len(ours):
        return together[:shorter] == alone[:shorter]
    return together == alone


@_of_translate(
    "twice",
    "Is a sentence translated alike when it is asked for twice?",
    fine="yes",
    wrong="no",
    follows=True,
)
def twice(bench: Bench) -> Outcome:
    """Ask again."""
    _theirs(bench)
    record = bench.once(lesson)
    return Outcome("yes" if record.theirs == record.again else "no")


@_of_translate(
    "weights after translating",
    "Are the weights after translating those before?",
    fine="yes",
    wrong="no",
)
def weights_after_translating(bench: Bench) -> Outcome:
    """Compare them number by number."""
    _theirs(bench)
    moved = bench.once(lesson).moved
    numbers = {"weights": len([*bench.network.parameters()]), "that have changed": moved}
    return Outcome("no" if moved else "yes", numbers)


@_of_translate(
    "first token",
    "With which token does their search begin?",
    fine="the begin token",
    wrong="padding | the end token | another",
)
def first_token(bench: Bench) -> Outcome:
    """Look at what is looked up first after the source."""
    _theirs(bench)
    subject, (fed, *_) = bench.subject, bench.once(_fed_to_the_decoder)
    numbers = {"first ids": fed[0].tolist()[:8], "begin": subject.bos}
    words = {subject.eos: "the end token", subject.pad: "padding", subject.bos: "the begin token"}
    return Outcome(words.get(int(fed[0, 0]), "another"), numbers)


@_of_translate(
    "fed by their search",
    "What does their search feed to the decoder at each step?",
    fine="all that was said | a few tokens",
    wrong="nothing new",
)
def fed_by_their_search(bench: Bench) -> Outcome:
    """Look at what is looked up."""
    _learned(bench)  # else it may have nothing to say
    _theirs(bench)
    fed = bench.once(_fed_to_the_decoder)
    lengths = [each.shape[1] for each in fed]
    numbers = {"lengths": lengths[:8]}
    if len(lengths) < 2:
        raise NotExamined("it takes one step only")
    if max(lengths) > 2 or lengths == [1, 2]:
        return Outcome("all that was said", numbers)
    new = {tuple(each[:, -1].tolist()) for each in fed}
    return Outcome("a few tokens" if len(new) > 1 else "nothing new", numbers)


@_of_translate(
    "source in translating",
    "Is a source in translating what it is in training?",
    fine="yes",
    wrong="without the end | with an end | backwards | no",
)
def source_in_translating(bench: Bench) -> Outcome:
    """Compare what is looked up."""
    _theirs(bench)
    pad, eos = bench.subject.source_pad, bench.subject.eos
    seen, *_ = bench.once(_sources_looked_up)
    wanted = bench.collate(bench.once(lesson).pairs)[0]
    said, taught = ([_without_padding(row, pad) for row in ids.tolist()] for ids in (seen, wanted))
    numbers = {"in translating": said[0], "in training": taught[0]}
    if said[0] == taught[0]:
        return Outcome("yes", numbers)
    if [*said[0], eos] == taught[0]:
        return Outcome("without the end", numbers)
    if said[0] == [*taught[0], eos]:
        return Outcome("with an end", numbers)
    words = [[[i for i in row if i != eos] for row in rows] for rows in (said, taught)]
    if all(one == other[::-1] for one, other in zip(*words, strict=False)):
        return Outcome("backwards", numbers)
    # They may be sorted, in translating or in training.
    sorted_only = sorted(said) == sorted(taught) or (len(said) == 1 and said[0] in taught)
    return Outcome("yes" if sorted_only else "no", numbers)


def _without_padding(row: list[int], pad: int) -> list[int]:
    while len(row) > 1 and row[-1] == pad:
        row = row[:-1]
    return row


class Tables(NamedTuple):
    """Where ids are looked up, and whether the length is the first axis of theirs."""

    source: int
    target: int
    length_first: bool


def _tables(bench: Bench) -> Tables:
    """Find out where source and target are looked up."""
    source, target_in, _ = bench.right_batch(bench.once(lesson).pairs)
    looked_up = bench.once(lesson).watched_ours.looked_up
    for axes in (lambda ids: ids, Tensor.t):
        found = [
            next((table for ids, table in looked_up if torch.equal(ids, axes(wanted))), None)
            for wanted in (source, target_in)
        ]
        if None not in found:
            return Tables(*found, length_first=axes is Tensor.t)
    raise NotExamined("source and target are not looked up apart, each in a table of words")


def _batch_first(ids: Tensor, bench: Bench) -> Tensor:
    """Return ids with the batch first: of one sentence, only the model tells which axis that is."""
    sentences = len(bench.once(lesson).pairs)
    if ids.dim() != 2:
        return ids
    turned = bench.once(_tables).length_first or len(ids) != sentences == ids.shape[1]
    return ids.T if turned else ids


def _looked_up(bench: Bench, table: int) -> list[Tensor]:
    """Return what was looked up in a table while they translated all pairs at once."""
    every = bench.once(lesson).watched.looked_up
    return [_batch_first(ids, bench) for ids, where in every if where == table]


def _sources_looked_up(bench: Bench) -> list[Tensor]:
    found = _looked_up(bench, bench.once(_tables).source)
    if not found or found[0].dim() != 2:
        raise NotExamined("the source is not looked up in a table")
    return found


def _fed_to_the_decoder(bench: Bench) -> list[Tensor]:
    """Return what was looked up for the decoder, call by call.

    Where source and target share a table, the source is what is looked up first, and is known by it
    if it is encoded again at every step.
    """
    tables = bench.once(_tables)
    found = _looked_up(bench, tables.target)
    if tables.source == tables.target:
        source = bench.once(_sources_looked_up)[0]
        found = [ids for ids in found if not torch.equal(ids, source)]
    if not found or any(ids.dim() != 2 for ids in found):
        raise NotExamined("the decoder's input is not looked up in a table")
    return found


@experiment(
    "beam",
    "Does their beam find the likeliest translation, where a greedy search does not?",
    fine="yes",
    wrong="it finds what greedy finds | it finds something less likely | it cannot be used",
    needs="beam",
    follows=True,
    loose=True,
)
def beam(bench: Bench) -> Outcome:
    """Teach a source that has twenty targets, of which the likeliest begins unlikely."""
    record = _learned(bench)
    if isinstance(record.beam, str):
        return Outcome("it cannot be used", {"error": record.beam})
    theirs, ours, greedy = record.fork_theirs, record.fork_ours, record.fork_greedy
    numbers = {"log-probability of theirs": theirs, "of a right beam": ours, "of greedy": greedy}
    if ours < greedy + 0.1:
        raise NotExamined("a right beam finds no more than greedy here")
    if theirs > ours - 0.1:
        return Outcome("yes", numbers)
    near_greedy = abs(theirs - greedy) < 0.1
    word = "it finds what greedy finds" if near_greedy else "it finds something less likely"
    return Outcome(word, numbers)


@experiment(
    "beam alone",
    "Does their beam say of a sentence alone what it says in a batch?",
    fine="yes",
    wrong="no",
    needs="beam",
    follows=True,
)
def beam_alone(bench: Bench) -> Outcome:
    """Translate pairs that are known by heart all at once, and one by one."""
    record = _learned(bench)
    if isinstance(record.beam, str):
        raise NotExamined(record.beam)
    if record.beam_alike is None:
        raise NotExamined("their beam says something else each time")
    numbers = {"known sentences that are the same": record.beam_alike}
    return Outcome("yes" if record.beam_alike == 1 else "no", numbers)


@experiment(
    "beam on the pairs",
    "How does their beam differ from a right one on pairs that are known by heart?",
    fine="not at all | in a single sentence",
    wrong=f"{DIFFERENCES} | in another way",
    needs="beam",
    follows=True,
    loose=True,
)
def beam_on_the_pairs(bench: Bench) -> Outcome:
    """Translate them by their beam, one by one."""
    record = _learned(bench)
    if isinstance(record.beam, str):
        raise NotExamined(record.beam)
    found = beside_ours(record.beam, record.our_beam)
    if _may_have_ended_early(found.numbers):
        return Outcome("in a single sentence", found.numbers)
    return found


def _may_have_ended_early(numbers: Mapping[str, Any]) -> bool:
    """Whether a right beam can differ so: it is no exact search.

    It may end when it has kept as many sentences as it is wide, before a longer, likelier one.
    """
    if numbers["sentences that differ"] != 1:
        return False
    return len(numbers["theirs"]) <= len(numbers["a right one"])
