"""Whether the subject learns a dozen pairs, and whether it then translates them."""

from collections import Counter
from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from transformer_course.examine.bench import Bench
from transformer_course.examine.experiment import NotExamined, Outcome, experiment
from transformer_course.examine.lesson import LONGER, Lesson, lesson

ALMOST = 0.9


@experiment(
    "learning",
    "Does it learn a dozen pairs?",
    fine="by heart | it is still learning",
    wrong="it is stuck | not at all | it diverges | a step raises an error",
)
def learning(bench: Bench) -> Outcome:
    """Train on one batch until every token is right, or the time is over."""
    record = bench.once(lesson)
    if record.error:
        return Outcome("a step raises an error", {"error": record.error})
    first, last = record.curve[0], min(record.curve[-5:])
    numbers = {
        "steps": len(record.curve),
        "loss before": first,
        "after": record.curve[-1],
        "tokens that are right": record.by_heart,
    }
    if record.learned:
        return Outcome("by heart", numbers)
    if not last < 2 * first + 5:  # NaN too
        return Outcome("it diverges", numbers)
    if last > 0.97 * first:
        return Outcome("not at all", numbers)
    return Outcome("it is stuck" if record.is_stuck else "it is still learning", numbers)


def _learned(bench: Bench) -> Lesson:
    if bench.once(lesson).error or not bench.once(lesson).learned:
        raise NotExamined("it has not learned the dozen pairs")
    return bench.once(lesson)


@experiment(
    "fed the right words",
    "Where the right words are fed in, does it say the right next ones?",
    fine="yes",
    wrong="no",
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
)
def fed_its_own_words(bench: Bench) -> Outcome:
    """Translate the pairs by a right greedy search."""
    record = _learned(bench)
    return _judged(bench, record.ours, record.pairs)


def _judged(bench: Bench, said: list[list[int]], pairs: Sequence) -> Outcome:
    wanted = [list(target) for _, target in pairs]
    share = sum(s == w for s, w in zip(said, wanted, strict=True)) / len(wanted)
    numbers = {"sentences that are right": share, "the first": said[0], "wanted": wanted[0]}
    if share >= ALMOST:
        return Outcome("yes", numbers)
    longest = max(map(len, wanted)) + LONGER
    commonest = [Counter(row).most_common(1)[0][1] / len(row) for row in said if row]
    if commonest and min(commonest) == 1 and min(map(len, said)) > 1:
        return Outcome("one word for ever", numbers)
    if len({tuple(row) for row in said}) == 1:
        return Outcome("all sentences alike", numbers)
    # What it ought to say, and then something more.
    endless = [s[: len(w)] == w and len(s) > len(w) for s, w in zip(said, wanted, strict=True)]
    if sum(endless) > len(wanted) / 2 or min(map(len, said)) >= longest - 1:
        return Outcome("it does not end", numbers)
    return Outcome("no", numbers)


def _of_translate(name: str, question: str, fine: str, wrong: str) -> Callable:
    return experiment(name, question, fine=fine, wrong=wrong, needs="translate")


def _theirs(bench: Bench) -> list[list[int]]:
    said = bench.once(lesson).theirs
    if isinstance(said, str):
        raise NotExamined(said or "a step raises an error")
    return said


@_of_translate(
    "their translation",
    "Does their search say what a right one says?",
    fine="yes",
    wrong="one word for ever | all sentences alike | it does not end | no | it raises an error",
)
def their_translation(bench: Bench) -> Outcome:
    """Compare with a right greedy search on the same weights."""
    record = _learned(bench)
    if isinstance(record.theirs, str):
        return Outcome("it raises an error", {"error": record.theirs})
    if record.theirs == record.ours:
        return Outcome("yes", {"the first": record.theirs[0]})
    judged = _judged(bench, record.theirs, [(None, said) for said in record.ours])
    return Outcome(judged.word, judged.numbers)


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
)
def alone(bench: Bench) -> Outcome:
    """Translate all at once, and one by one."""
    together = _theirs(bench)
    one_by_one = bench.once(lesson).alone
    if isinstance(one_by_one, str):
        return Outcome("no", {"one by one": one_by_one})
    same = sum(a == b for a, b in zip(together, one_by_one, strict=True)) / len(together)
    return Outcome("yes" if same == 1 else "no", {"sentences that are the same": same})


@_of_translate(
    "first token",
    "With which token does their search begin?",
    fine="the begin token",
    wrong="padding | the end token | another",
)
def first_token(bench: Bench) -> Outcome:
    """Look at what is looked up first after the source."""
    _theirs(bench)
    subject, fed = bench.subject, _fed_to_the_decoder(bench)
    first = int(fed[0].flatten()[0])
    numbers = {"first ids": fed[0][0].tolist()[:8], "begin": subject.bos}
    words = {subject.eos: "the end token", subject.pad: "padding", subject.bos: "the begin token"}
    return Outcome(words.get(first, "another"), numbers)


@_of_translate(
    "source in translating",
    "Is a source in translating what it is in training?",
    fine="yes",
    wrong="without the end | with an end | backwards | no",
)
def source_in_translating(bench: Bench) -> Outcome:
    """Compare what is looked up."""
    _theirs(bench)
    seen = _sources_looked_up(bench)
    wanted = bench.collate(bench.once(lesson).pairs)[0]
    numbers = {"in translating": _row(bench, seen[0]), "in training": _row(bench, wanted[0])}
    in_translating, in_training = numbers["in translating"], numbers["in training"]
    if in_translating == in_training:
        return Outcome("yes", numbers)
    eos = bench.subject.eos
    if [*in_translating, eos] == in_training:
        return Outcome("without the end", numbers)
    if in_translating == [*in_training, eos]:
        return Outcome("with an end", numbers)
    said, taught = ([i for i in row if i != eos] for row in (in_translating, in_training))
    return Outcome("backwards" if said == taught[::-1] else "no", numbers)


def _row(bench: Bench, ids: Tensor) -> list[int]:
    row = ids.tolist()
    while len(row) > 1 and row[-1] == bench.subject.source_pad:
        row.pop()
    return row


def _is_source(bench: Bench, ids: Tensor) -> bool:
    """Whether looked-up ids are the sources: the words of the first are in its row."""
    words = list(bench.once(lesson).pairs[0][0])
    if ids.dim() != 2:
        return False
    row = ids[0].tolist()
    return any(row[i : i + len(words)] in (words, words[::-1]) for i in range(len(row)))


def _sources_looked_up(bench: Bench) -> Tensor:
    for ids in bench.once(lesson).watched.looked_up:
        if _is_source(bench, ids):
            return ids
    raise NotExamined("the source is not looked up in a table")


def _fed_to_the_decoder(bench: Bench) -> list[Tensor]:
    looked_up = bench.once(lesson).watched.looked_up
    places = torch.arange(500)
    fed = [
        ids
        for ids in looked_up
        if ids.dim() == 2
        and not _is_source(bench, ids)
        and not torch.equal(ids[0].cpu(), places[: ids.shape[1]])  # a table of positions
    ]
    begins = next((n for n, ids in enumerate(looked_up) if _is_source(bench, ids)), None)
    if begins is None or not fed:
        raise NotExamined("its input is not looked up in a table")
    return fed


@experiment(
    "beam",
    "Does their beam find the likeliest translation, where a greedy search does not?",
    fine="yes",
    wrong="it finds what greedy finds | it finds something less likely | it raises an error",
    needs="beam",
)
def beam(bench: Bench) -> Outcome:
    """Teach a source that has twenty targets, of which the likeliest begins unlikely."""
    record = _learned(bench)
    if isinstance(record.beam, str):
        return Outcome("it raises an error", {"error": record.beam})
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
    "beam on the pairs",
    "Does their beam say the dozen pairs that it knows by heart?",
    fine="yes",
    wrong="one word for ever | all sentences alike | it does not end | no",
    needs="beam",
)
def beam_on_the_pairs(bench: Bench) -> Outcome:
    """Translate them by their beam."""
    record = _learned(bench)
    if isinstance(record.beam, str):
        raise NotExamined(record.beam)
    if record.beam == record.our_beam:
        return Outcome("yes")
    return _judged(bench, record.beam, [(None, said) for said in record.our_beam])
