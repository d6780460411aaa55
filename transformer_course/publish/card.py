"""The card of a translator: what it is, how good, and what its maker says about it.

The figures come from the runs. What only a person knows are blanks, to be filled in. For the idea
see Mitchell et al. (2019), "Model Cards for Model Reporting".
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

import numpy as np

from transformer_course.files import write_text
from transformer_course.publish.document import check_place
from transformer_course.translation.checkpoints import CheckpointError, read_json
from transformer_course.translation.corpora.languages import language_name
from transformer_course.translation.evaluation.metrics import (
    bleu_of_counts,
    compare_counts,
    drawn_test_sets,
)
from transformer_course.translation.evaluation.seeds import exchange_p
from transformer_course.translation.training.looks import (
    TEST,
    Look,
    looks_in,
    note_look,
    since_the_end,
)
from transformer_course.translation.training.runs import RUN_FILE, Run, corpus_of
from transformer_course.translation.translator import Translator

BLANKS = {
    "Where the text comes from": "who wrote and who translated it, and who may use it",
    "What I mended": "what was found in the files, what you did about it, and what you left",
    "My question": "what you wanted to know, why, and what you expected",
    "My answer": "what the figures above say, and what they do not",
    "Where it fails": "three sentences that go wrong, in your own words why, and how often",
    "What it must not be used for": "who could be harmed by which mistake",
}
"""What a person has to say, by heading."""
FILL_IN = "[fill in"
FEWEST_WORDS = 5
"""A blank with fewer words than this says nothing."""
SMOOTHED = 1
"""BLEU below which hardly anything but the smoothing of its counts is seen."""
SUFFIX = ".md"
OTHER_TEST = (
    "the runs were judged on different test splits or by different rules, so they cannot be "
    "compared: train all on the same files, or give all the same --test."
)


@dataclass(frozen=True)
class Told:
    """What a run tells by the files in its folder, without its weights and its text.

    Attributes
    ----------
    folder, run
        Where it is, and what determines it.
    stored
        All that it wrote about itself.
    looks
        The looks at its test split.
    """

    folder: Path
    run: Run
    stored: dict[str, Any]
    looks: list[Look]

    @classmethod
    def read(cls, folder: Path) -> "Told":
        """Read a run; raise CheckpointError if it has not ended, or a file is damaged."""
        run, stored = Run.read(folder), read_json(folder / RUN_FILE)
        match stored:
            case {
                "result": {"step": int(), "dev_bleu": float(), "seconds": float()},
                "ended": str(),
                "train_pairs": int(),
                "parameters": int(),
            }:
                return cls(folder, run, stored, looks_in(folder))
        raise CheckpointError(
            f"{folder} holds no run that has ended, or one of an earlier version: go on with "
            f"--resume, or train again."
        )

    @property
    def name(self) -> str:
        """The folder's name."""
        return self.folder.resolve().name

    @property
    def seed(self) -> int:
        """The seed."""
        return self.run.recipe.training.seed

    @property
    def ended(self) -> str:
        """When the training ended, as :func:`transformer_course.files.now` says it."""
        return self.stored["ended"]

    @cached_property
    def look(self) -> Look | None:
        """The first look at the test split by a greedy search since the training's end, if any."""
        looks = since_the_end(self.looks, self.ended)
        return next((look for look in looks if look.beam == 1), None)

    @cached_property
    def bleu(self) -> float:
        """BLEU on the test split."""
        return bleu_of_counts(self.look.table.sum(axis=0))

    def is_like(self, other: "Told") -> bool:
        """Whether both are the same but for their seeds."""
        return self.run.but_for_seed() == other.run.but_for_seed()


def write_card(path: Path, folders: Sequence[Path], beside: Sequence[Path]) -> None:
    """Write a card with the figures of two sides of a question, and with blanks.

    Parameters
    ----------
    path
        A new Markdown file.
    folders, beside
        The runs of each side, which are the same but for their seeds. The card is about the
        translator of the first side that has the lowest seed.

    Raises
    ------
    CheckpointError
        If a folder holds no run that has ended.
    ValueError
        If there is such a file, its name has another ending, or the runs are no two sides.
    OSError
        If a text cannot be read or the card not be written.
    """
    if path.suffix != SUFFIX:
        raise ValueError(f"a card is Markdown: its name must end in {SUFFIX}; got {path.name!r}.")
    check_place(path)
    if path.exists():
        raise ValueError(f"{path} is there already, perhaps with your words: name a new file.")
    sides = [sorted(map(Told.read, side), key=lambda t: t.seed) for side in (folders, beside)]
    check_sides(*sides)
    # Before anything is looked at: a look at a test split cannot be taken back.
    one, other = (corpus_of(side[0].folder, side[0].run).split(TEST) for side in sides)
    if one != other:
        raise ValueError(OTHER_TEST)
    looked = [[_looked_at(told) for told in side] for side in sides]
    write_text(path, "\n".join(_card(*looked)))


def check_sides(first: Sequence[Told], second: Sequence[Told]) -> None:
    """Raise ValueError unless the runs are two different sides of a question."""
    for side in (first, second):
        for told in side[1:]:
            if not told.is_like(side[0]):
                raise ValueError(
                    f"{told.name} and {side[0].name} differ by more than their seeds: give the "
                    f"runs of one side first, and those of the other after --beside."
                )
        if len({told.seed for told in side}) < len(side):
            raise ValueError(f"two runs beside {side[0].name} have the same seed; train another.")
    if first[0].is_like(second[0]):
        raise ValueError("both sides have the same settings, so there is no question to answer.")


def _looked_at(told: Told) -> Told:
    """Look at the test split of a run by a greedy search, unless that has been done."""
    if told.look:
        return told
    translator, pairs = Translator.load(told.folder), corpus_of(told.folder, told.run).split(TEST)
    said = translator.translate([pair.source for pair in pairs])
    look = note_look(told.folder, "card", 1, translator, pairs, said)
    return replace(told, looks=[*told.looks, look])


def _card(first: Sequence[Told], second: Sequence[Told]) -> Iterator[str]:
    source, target = map(language_name, first[0].look.languages)
    yield f"# {source} into {target}: {first[0].name}\n"
    blanks = [f"## {heading}\n\n{FILL_IN}: {what}]\n" for heading, what in BLANKS.items()]
    yield from ("## The figures\n", *figures(first, second), "", *blanks)
    yield "## How to repeat it\n"
    yield from (f"    {told.run.command}" for told in (*first, *second))
    yield ""


def figures(first: Sequence[Told], second: Sequence[Told]) -> list[str]:
    """Return the lines of a card that tell the figures of two sides.

    Raises
    ------
    ValueError
        If a test split has not been looked at, or the runs were judged on different ones or by
        different rules.
    """
    everyone = [*first, *second]
    for told in everyone:
        if told.look is None:
            raise ValueError(
                f"the test split of {told.name} has not been looked at since its training ended: "
                f"write a card."
            )
    if len({(told.look.test, told.look.signature) for told in everyone}) > 1:
        raise ValueError(OTHER_TEST)
    return [*_what_it_is(first[0]), "", *_table(everyone), "", *_compared(first, second)]


def _what_it_is(told: Told) -> Iterator[str]:
    stored, table = told.stored, told.look.table
    low, high = _interval(told.look)
    yield (
        f"{told.name}: {stored['parameters']:,} weights, trained on {stored['train_pairs']:,} "
        f"sentence pairs. BLEU {told.bleu:.1f} on {len(table):,} test sentences; 95 % of other "
        f"choices of them would give between {low:.1f} and {high:.1f} ({told.look.signature}, "
        f"greedy search)."
    )


def _interval(look: Look) -> tuple[float, float]:
    """Return between which BLEUs 95 % of drawn test sets lie."""
    draws = drawn_test_sets(len(look.table), samples=1000, seed=0)
    low, high = np.percentile([bleu_of_counts(c) for c in draws @ look.table], [2.5, 97.5])
    return float(low), float(high)


def _table(everyone: Sequence[Told]) -> Iterator[str]:
    yield "| run | seed | steps | BLEU on dev | BLEU on test |"
    yield "|---|---|---|---|---|"
    for told in everyone:
        result = told.stored["result"]
        yield (
            f"| {told.name} | {told.seed} | {result['step']:,} | {result['dev_bleu']:.1f} | "
            f"{told.bleu:.1f} |"
        )


def _compared(first: Sequence[Told], second: Sequence[Told]) -> Iterator[str]:
    for name, here, there in differences(first[0].run, second[0].run):
        yield f"The sides differ in {name}: {here} or {there}."
    bleus = [[told.bleu for told in side] for side in (first, second)]
    means = " or ".join(f"{fmean(side):.1f}" for side in bleus)
    yield f"Mean BLEU on test: {means}. Seeds move it by {' or '.join(map(_spread, bleus))}."
    if max(map(fmean, bleus)) < SMOOTHED:
        yield f"Below {SMOOTHED} BLEU a score comes from smoothing: what follows says nothing."
    found = compare_counts(*([told.look.table for told in side] for side in (first, second)))
    low, high = found["confidence_interval"]
    yield (
        f"Paired bootstrap over the sentences: {found['difference']:+.1f} BLEU, 95 % between "
        f"{low:+.1f} and {high:+.1f}, p = {found['p_value']:.3f}."
    )
    if len(first) == len(second) == 1:
        yield "With a single seed a side, nobody knows what another seed would change: train more."
    else:
        yield f"Exchanging the seeds: p = {exchange_p(*bleus):.2f}."


def _spread(bleus: Sequence[float]) -> str:
    """Say how far seeds move a score."""
    if len(bleus) == 1:
        return "an unknown amount (a single seed)"
    return f"{stdev(bleus):.1f} (standard deviation of {len(bleus)})"


def differences(first: Run, second: Run) -> Iterator[tuple[str, Any, Any]]:
    """Yield the name and the two values of each setting, or file, by which two runs differ."""
    sides = [run.recipe.with_seed(0).settings() for run in (first, second)]
    for section, values in sides[0].items():
        for name, here in values.items():
            if here != (there := sides[1][section][name]):
                yield f"{section}.{name}", here, there
    runs = [asdict(run.but_for_seed()) for run in (first, second)]
    for name, here in runs[0].items():
        if name != "recipe" and here != (there := runs[1][name]):
            yield name, _shown(here), _shown(there)


def _shown(value: Any) -> Any:
    """Return paths as the names of their files; the command lines have the rest."""
    if isinstance(value, tuple):
        return " and ".join(path.name for path in value)
    return value.name if isinstance(value, Path) else value


def unfilled(card: str) -> list[str]:
    """Return the headings of a card below which nobody has said anything yet."""
    below = {}
    for section in re.split(r"^## ", card, flags=re.MULTILINE)[1:]:
        heading, _, text = section.partition("\n")
        below[heading.strip()] = text
    return [heading for heading in BLANKS if not _is_said(below.get(heading, ""))]


def _is_said(text: str) -> bool:
    return FILL_IN not in text and len(text.split()) >= FEWEST_WORDS
