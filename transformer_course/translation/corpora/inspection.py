"""What is in two files that should be translations of each other, before anything is trained."""

import html
import math
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from itertools import chain, groupby, islice
from pathlib import Path

import ftfy.badness
import numpy as np

from transformer_course.translation.corpora.languages import (
    language_name,
    language_of,
    language_seen,
)
from transformer_course.translation.corpora.similarity import (
    Block,
    Fit,
    Words,
    fit_of,
    moved_blocks,
    words_in,
)
from transformer_course.translation.corpora.text_files import TOO_LONG, read_lines

LONG = 100
"""Words of a side above which training leaves a pair out."""
FEW = 3
"""Words of a side below which both sides may well be the same: names, numbers."""
DIGIT = re.compile(r"\d")
ENTITY = re.compile(r"&#?\w+;")
LETTERS = 20
"""Letters of a line whose script is looked at."""
USUAL, FAR = 10, 5.0
"""Characters above which lengths are compared; usual deviations that are too many."""
BEGINNING, SURE = 0.1, 5.0
"""Share of the lines that shows which side has which language; nats that make a line sure."""
EVERY = 10
"""Every tenth line shows how many words a vocabulary of the others would not know."""
REPLACED = "\ufffd"


@dataclass(frozen=True)
class Side:
    """One of the two files.

    Attributes
    ----------
    path, language
        Where it is, and the code of its language.
    lines
        Its lines, without blanks around them.
    """

    path: Path
    language: str
    lines: list[str]

    @cached_property
    def words(self) -> list[Words]:
        """The words of each line."""
        return [words_in(line, self.language) for line in self.lines]

    @cached_property
    def counts(self) -> Counter[str]:
        """How often each word occurs."""
        return Counter(word for words in self.words for word in words)

    @cached_property
    def unknown(self) -> float:
        """Share of the words of every tenth line that the other lines do not have."""
        known = {word for n, words in enumerate(self.words) if n % EVERY for word in words}
        there = [word for words in self.words[::EVERY] for word in words]
        return sum(word not in known for word in there) / max(1, len(there))

    @cached_property
    def scripts(self) -> list[str]:
        """The script of each line."""
        return [*map(script_of, self.lines)]

    @cached_property
    def script(self) -> str:
        """The script of most lines, such as ``LATIN``."""
        scripts = Counter(filter(None, self.scripts))
        return scripts.most_common(1)[0][0] if scripts else ""


@dataclass(frozen=True)
class Finding:
    """Lines of which something is to be said.

    Attributes
    ----------
    name
        What is the matter with them.
    change
        What to do.
    lines
        Their numbers, from 1; where one can be worse than another, the worst come first.
    doubt
        Whether it is a guess about each line, or sure.
    left_out
        Whether training leaves the lines out by itself.
    first
        For lines that repeat another one, the number of that one.
    """

    name: str
    change: str
    lines: list[int]
    doubt: bool
    left_out: bool = False
    first: Mapping[int, int] = field(default_factory=dict)

    @property
    def runs(self) -> list[list[int]]:
        """The lines, together where one follows the other, and where what they repeat does."""
        places = groupby(
            enumerate(self.lines),
            lambda place: (place[1] - place[0], place[1] - self.first.get(place[1], place[1])),
        )
        return [[line for _, line in run] for _, run in places]


@dataclass(frozen=True)
class Inspection:
    """What two files hold.

    Attributes
    ----------
    source, target
        The two files.
    findings
        What is to be said of some of their lines, in the order in which to mend it: first what may
        hide or explain the rest.
    """

    source: Side
    target: Side
    findings: list[Finding]

    @property
    def pairs(self) -> int:
        """How many lines have something on both sides."""
        return sum(bool(s and t) for s, t in zip(self.source.lines, self.target.lines, strict=True))


def inspect_text(source: Path, target: Path) -> Inspection:
    """Look at two files line by line.

    Raises
    ------
    OSError, ValueError
        If a file cannot be read, its name does not say its language, both are the same one, or the
        numbers of lines differ or are 0, or all lines are blank.
    """
    languages = language_of(source), language_of(target)
    sides = [
        Side(path, language, lines)
        for path, language, lines in zip(
            (source, target), languages, read_lines(source, target), strict=True
        )
    ]
    if not sides[0].lines:
        raise ValueError(f"{source} and {target} are empty: there is nothing to look at.")
    if not any(any(side.lines) for side in sides):
        raise ValueError(f"every line of {source} and {target} is blank.")
    fit = fit_of(*(side.words for side in sides))
    blocks = moved_blocks(fit)
    found = [
        *filter(None, map(_other_language, sides)),
        *(_moved(block, *sides) for block in blocks),
        *(_of_a_kind(kind, *sides) for kind in KINDS),
        _repeated(*sides),
        *(_of_a_kind(kind, *sides) for kind in (*LEFT_OUT, *DOUBTS)),
        _unfit(fit, blocks),
    ]
    return Inspection(*sides, [finding for finding in found if finding.lines])


def _of_a_kind(kind: "Kind", source: Side, target: Side) -> Finding:
    lines = [number + 1 for number in kind.find(source, target)]
    return Finding(kind.name, kind.change, lines, kind in DOUBTS, kind in LEFT_OUT)


def _other_language(side: Side) -> Finding | None:
    if (seen := language_seen(side.counts, side.language)) == side.language:
        return None
    return Finding(
        f"{side.path.name} looks like {language_name(seen)}, its name says "
        f"{language_name(side.language)}",
        "Give the file the name of its language; look whether the two files are exchanged.",
        [*range(1, len(side.lines) + 1)],
        doubt=False,
    )


# What is looked for: each function returns the numbers of lines, from 0


def _blank(source: Side, target: Side) -> list[int]:
    return _where(source, target, lambda s, t: not (s and t))


def _broken(source: Side, target: Side) -> list[int]:
    return _where(source, target, lambda s, t: _is_broken(s) or _is_broken(t))


def _is_broken(line: str) -> bool:
    return REPLACED in line or (not line.isascii() and ftfy.badness.is_bad(line))


def _with_entities(source: Side, target: Side) -> list[int]:
    return _where(source, target, lambda s, t: _has_entity(s) or _has_entity(t))


def _has_entity(line: str) -> bool:
    return "&" in line and any(html.unescape(found) != found for found in ENTITY.findall(line))


def _other_script(source: Side, target: Side) -> list[int]:
    usual = {"", source.script}, {"", target.script}
    return [
        number
        for number, (s, t) in enumerate(zip(source.scripts, target.scripts, strict=True))
        if s not in usual[0] or t not in usual[1]
    ]


def script_of(line: str) -> str:
    """Return the script of most of a line's first letters; empty where there are none."""
    if line.isascii():
        return "LATIN" if any(map(str.isalpha, line)) else ""
    letters = islice(filter(str.isalpha, line), LETTERS)
    scripts = Counter(map(_script, letters))
    return scripts.most_common(1)[0][0] if scripts else ""


JAPANESE = ("HIRAGANA", "KATAKANA", "CJK")


@cache
def _script(letter: str) -> str:
    name = unicodedata.name(letter, "").split(" ")[0]
    return "CJK" if name in JAPANESE else name


def _exchanged(source: Side, target: Side) -> list[int]:
    """Find lines whose source is in the target's language, and the other way round.

    The first lines say which words belong to which language.
    """
    beginning = max(1, round(BEGINNING * len(source.lines)))
    belongs = _leanings(source.words[:beginning], target.words[:beginning])
    return [
        number
        for number, (s, t) in enumerate(zip(source.words, target.words, strict=True))
        if _sum(belongs, s) < -SURE and _sum(belongs, t) > SURE
    ]


def _leanings(source: Iterable[Words], target: Iterable[Words]) -> dict[str, float]:
    """Return for each word how much likelier it is in the source, in nats."""
    counts = [Counter(word for words in side for word in words) for side in (source, target)]
    totals = [counter.total() + len(counter) + 1 for counter in counts]
    return {
        word: math.log((counts[0][word] + 1) / totals[0])
        - math.log((counts[1][word] + 1) / totals[1])
        for word in counts[0] | counts[1]
    }


def _sum(values: dict[str, float], words: Words) -> float:
    return sum(values.get(word, 0.0) for word in words)


def _copied(source: Side, target: Side) -> list[int]:
    return [
        number
        for number, words in enumerate(source.words)
        if len(words) >= FEW and source.lines[number] == target.lines[number]
    ]


def _repeated(source: Side, target: Side) -> Finding:
    """Find pairs that are there already, a block of many before single ones."""
    seen: dict[tuple[str, str], int] = {}
    first = {}
    for number, pair in enumerate(zip(source.lines, target.lines, strict=True), start=1):
        if all(pair) and seen.setdefault(pair, number) != number:
            first[number] = seen[pair]
    found = Finding(
        "the pair stands further up already",
        "Keep one of each, or nothing: what repeats weighs more, and none is in two splits.",
        [*first],
        doubt=False,
        first=first,
    )
    return replace(found, lines=[*chain(*sorted(found.runs, key=len, reverse=True))])


def _too_long(source: Side, target: Side) -> list[int]:
    return _where(source, target, lambda s, t: max(len(s.split()), len(t.split())) > LONG)


def _too_many_characters(source: Side, target: Side) -> list[int]:
    return _where(source, target, lambda s, t: max(len(s), len(t)) > TOO_LONG)


def _other_numbers(source: Side, target: Side) -> list[int]:
    """Find lines with other digits, the surest first.

    Where each side has some that the other lacks, no number is just written in words. Of two that
    are on one side only, the longer one is less likely to be written in words on the other.
    """
    differ: dict[int, tuple[int, int]] = {}
    for number, pair in enumerate(zip(source.lines, target.lines, strict=True)):
        s, t = map(_digits, pair)
        if all(pair) and s != t:
            few, many = sorted(((s - t).total(), (t - s).total()))
            differ[number] = few, many
    return sorted(differ, key=differ.get, reverse=True)


def _digits(line: str) -> Counter[int]:
    """Count the digits of all numbers: languages group and order them differently."""
    return Counter(map(unicodedata.digit, DIGIT.findall(html.unescape(line))))


def _other_lengths(source: Side, target: Side) -> list[int]:
    lengths = np.array([[len(line) for line in side.lines] for side in (source, target)])
    compared = lengths.min(axis=0) > 0
    ratios = np.log((lengths[0] + USUAL) / (lengths[1] + USUAL))
    usual = np.median(ratios[compared]) if compared.any() else 0.0
    deviation = np.median(abs(ratios[compared] - usual)) if compared.any() else 0.0
    distance = np.where(compared, abs(ratios - usual), 0.0) / max(1.5 * deviation, 0.05)
    return _worst(distance, distance > FAR)


def _moved(block: Block, source: Side, target: Side) -> Finding:
    """Say which lines are moved, and which to take out so that they are no longer."""
    longer, shorter = (target, source) if block.by > 0 else (source, target)
    by, number = abs(block.by), block.last - block.first + 1
    first = block.first - max(0, -block.by)  # where the longer one has lines that belong to none
    lines = [block.first + 1 + place for place in range(number)]
    return Finding(
        f"moved lines, {lines[0]:,} to {lines[-1]:,}: the translation of each stands "
        f"{by} further {'down' if block.by > 0 else 'up'}",
        f"Take {_from(first, by)} out of {longer.path.name}, and {_from(first + number, by)} out "
        f"of {shorter.path.name}. Look at both places first: it may be a line earlier or later.",
        lines,
        doubt=False,
    )


def _from(first: int, number: int) -> str:
    return f"line {first + 1:,}" if number == 1 else f"lines {first + 1:,} to {first + number:,}"


def _unfit(fit: Fit, blocks: Sequence[Block]) -> Finding:
    moved = {line for block in blocks for line in range(block.first, block.last + 1)}
    return Finding(
        "words that elsewhere do not go together",
        "Look at some: rare words and free translations may stay, what is no translation may not.",
        [line + 1 for line in fit.doubted.tolist() if line not in moved],
        doubt=True,
    )


def _worst(badness: np.ndarray, chosen: np.ndarray) -> list[int]:
    """Return the places that are chosen, the worst first."""
    return [number for number in np.argsort(-badness).tolist() if chosen[number]]


def _where(source: Side, target: Side, says: Callable[[str, str], bool]) -> list[int]:
    pairs = zip(source.lines, target.lines, strict=True)
    return [number for number, pair in enumerate(pairs) if says(*pair)]


@dataclass(frozen=True)
class Kind:
    """Something that is looked for."""

    name: str
    find: Callable[[Side, Side], Sequence[int]]
    change: str


KINDS = (
    Kind(
        "the two languages are exchanged",
        _exchanged,
        "Exchange these lines in both files: a model that is shown both learns neither.",
    ),
    Kind(
        "letters in a wrong encoding",
        _broken,
        "Ask for the file as UTF-8, or mend each of its lines in Python by `ftfy.fix_encoding`.",
    ),
    Kind(
        "letters written as in HTML, such as &eacute; or &#39;",
        _with_entities,
        "Take out tags such as <b>, then mend each line in Python by `html.unescape`.",
    ),
    Kind(
        "another script than the rest of the file",
        _other_script,
        "See whether they are in another language; if so, take them out of both files.",
    ),
    Kind(
        "both sides are the same",
        _copied,
        "Take them out of both files: they teach to copy what should be translated.",
    ),
)
LEFT_OUT = (
    Kind("a side is blank", _blank, "Nothing: training leaves them out."),
    Kind(
        f"over {LONG} words on a side",
        _too_long,
        "Training leaves them out, unless its settings say otherwise. If they are many, put one "
        "sentence on each line.",
    ),
    Kind(
        f"over {TOO_LONG:,} characters on a side",
        _too_many_characters,
        "Training leaves them out. If they are many, put one sentence on each line.",
    ),
)
DOUBTS = (
    Kind(
        "other numbers on the other side",
        _other_numbers,
        "Look at some: a number may be written in words, or the lines may be moved.",
    ),
    Kind(
        "a side much longer than the other, for these languages",
        _other_lengths,
        "Look at some: a part may be missing on one side, or the lines may be moved.",
    ),
)
