"""What an examination found, in words: a card in a notebook, text in a terminal, JSON."""

import html
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from transformer_course.checker.feedback import (
    COLOURS,
    NEUTRAL,
    Fold,
    Listing,
    Part,
    Sentence,
    Table,
    Verdict,
    card,
)
from transformer_course.checker.matrices import Cell, aligned, shaded_table
from transformer_course.examine.bench import EFFECT
from transformer_course.examine.diagnosis import Diagnosis, signatures
from transformer_course.examine.examination import Observations
from transformer_course.examine.experiment import EXPERIMENTS, Outcome
from transformer_course.examine.faults import Fault

TOGETHER = (
    "Together these explain what was seen. Mend the first and examine once more: a single fault "
    "that is not known here can look like two."
)
COLOUR_OF = {"Healthy": COLOURS[Verdict.RIGHT], "Faulty": COLOURS[Verdict.WRONG]}
FORM = 1
"""The version of the JSON; a number that is higher may mean something else."""


@dataclass(frozen=True)
class Examination:
    """What was found; a notebook displays it, ``print`` writes it elsewhere.

    Attributes
    ----------
    name
        What was examined.
    observed
        What came out of the experiments.
    diagnosis
        Which known faults explain it.
    """

    name: str
    observed: Observations
    diagnosis: Diagnosis

    @property
    def verdict(self) -> str:
        """*Faulty* if an experiment failed, *Incomplete* if one was broken off, else *Healthy*."""
        if self.observed.failing:
            return "Faulty"
        return "Incomplete" if self.observed.broken_off else "Healthy"

    @property
    def healthy(self) -> bool:
        """Whether all experiments that can be made came out as in a right model."""
        return self.verdict == "Healthy"

    @property
    def faults(self) -> tuple[Fault, ...]:
        """The known faults that were recognised."""
        return self.diagnosis.faults

    @property
    def experiments(self) -> Mapping[str, Outcome]:
        """The outcome of each experiment, with its numbers."""
        return self.observed.outcomes

    def __str__(self) -> str:
        parts = filter(None, (part.text() for part in _parts(self)))
        return "\n".join([f"{self.verdict}: {self.name}", *parts])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return card(self.verdict, self.name, COLOUR_OF.get(self.verdict, NEUTRAL), _parts(self))

    def to_json(self) -> str:
        """Return all that is known, in a form that stays: ``form`` counts its versions."""
        return json.dumps(_facts(self), ensure_ascii=False, indent=1, allow_nan=False)


def _facts(found: Examination) -> dict[str, Any]:
    diagnosis = found.diagnosis
    return {
        "form": FORM,
        "name": found.name,
        "verdict": found.verdict,
        "healthy": found.healthy,
        "faults": [_fault(each, found) for each in diagnosis.faults],
        "candidates": [_fault(each, found) for each in diagnosis.candidates],
        "unexplained": [*diagnosis.unexplained],
        "experiments": [
            {
                "name": name,
                "question": EXPERIMENTS[name].question,
                "outcome": outcome.word,
                "fine": EXPERIMENTS[name].outcomes[outcome.word],
                "healthy": list(EXPERIMENTS[name].healthy),
                "numbers": _plain(outcome.numbers),
            }
            for name, outcome in found.experiments.items()
        ],
        "not_examined": found.observed.left_out,
        "seconds": round(found.observed.seconds, 1),
    }


def _plain(value: Any) -> Any:
    """Return what JSON has a form for: it knows neither infinity nor NaN."""
    if isinstance(value, dict):
        return {name: _plain(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_plain(each) for each in value]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def _fault(fault: Fault, found: Examination) -> dict[str, Any]:
    words = {"key": fault.key, "name": fault.name, "observed": fault.observed}
    return words | {"change": fault.change, "shown_by": _shown_by(fault, found)}


def _shown_by(fault: Fault, found: Examination) -> list[str]:
    """Return the experiments whose outcomes decide for a fault."""
    (signature,) = (each for each in signatures() if each.fault is fault)
    return [name for name in found.experiments if name in signature.decisive]


# Parts of a card


def _parts(found: Examination) -> list[Part]:
    diagnosis = found.diagnosis
    parts = [*_named(found), *_not_told_apart(found)]
    if diagnosis.unexplained:
        parts += _unexplained(found)
    if not found.observed.failing:
        parts += _fine(found)
    return [*parts, *_all_outcomes(found), *_left_out(found)]


def _fine(found: Examination) -> Iterator[Part]:
    yield Sentence(f"{len(found.experiments)} experiments came out as in a right model.")
    if found.observed.broken_off:
        yield Sentence(
            "Experiments that were broken off, for the reasons below: "
            f"{len(found.observed.broken_off)}. Nothing is known about what they ask. Against a "
            "lack of time, more `seconds` help."
        )


def _named(found: Examination) -> Iterator[Part]:
    for number, fault in enumerate(found.faults, start=1):
        several = f"Fault {number}" if len(found.faults) > 1 else "What is wrong"
        yield Sentence(f"{fault.name}.", several)
        yield Sentence(fault.observed, "What shows it")
        yield from _picture(fault, found)
        yield _beside_healthy(_shown_by(fault, found), found)
        yield from _names(_shown_by(fault, found), found)
        yield Sentence(fault.change, "What to change")
    if len(found.faults) > 1:
        yield Sentence(TOGETHER)


def _names(experiments: Sequence[str], found: Examination) -> Iterator[Part]:
    """List what experiments say in words, such as the names of weights."""
    said = chain.from_iterable(_numbers(found.experiments[name], str) for name in experiments)
    if lines := tuple(said):
        yield Listing("Which", lines)


def _not_told_apart(found: Examination) -> Iterator[Part]:
    diagnosis = found.diagnosis
    if not diagnosis.candidates:
        return
    yield Sentence("One of these is wrong, and nothing that was tried tells which.")
    for fault in diagnosis.candidates:
        yield Fold(fault.name, (Sentence(fault.observed), Sentence(fault.change)), in_text=True)
    if diagnosis.telling:
        questions = tuple(
            f"{EXPERIMENTS[name].question} ({found.observed.left_out.get(name, 'not made')})"
            for name in diagnosis.telling
        )
        yield Listing("What would tell them apart", questions)


def _unexplained(found: Examination) -> Iterator[Part]:
    diagnosis = found.diagnosis
    if diagnosis.faults:
        yield Sentence("This does not explain all that was seen:", "Apart from that")
    else:
        yield Sentence(
            "No known fault explains what was seen. Look at the place that the question is about:"
        )
    yield _beside_healthy([*diagnosis.unexplained], found)
    if "learning" in diagnosis.unexplained and found.observed.curve:
        yield Curve(found.observed.curve)
    for name in diagnosis.unexplained:
        if numbers := _numbers(found.experiments[name]):
            yield Listing(f"The numbers of “{name}”", numbers)


def _beside_healthy(names: Sequence[str], found: Examination) -> Table:
    rows = tuple(
        (
            EXPERIMENTS[name].question,
            found.experiments[name].word,
            " or ".join(EXPERIMENTS[name].healthy),
        )
        for name in names
    )
    return Table("Experiments", ("question", "here", "in a right model"), rows)


def _numbers(outcome: Outcome, kind: type = object) -> tuple[str, ...]:
    return tuple(
        f"{label}: {_written(value)}"
        for label, value in outcome.numbers.items()
        if label != "effects" and isinstance(value, kind)
    )


def _written(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.3g}"
    if isinstance(value, list):
        return ", ".join(map(_written, value))
    return str(value)


@dataclass(frozen=True)
class Effects:
    """Which token moves which position: ``x`` where it does."""

    title: str
    effects: Sequence[Sequence[float]]

    def _cells(self) -> list[list[Cell]]:
        return [
            [Cell("x", 1.0) if effect > EFFECT else Cell(".", 0.0) for effect in row]
            for row in self.effects
        ]

    def text(self) -> str:
        """Return a grid of characters."""
        return "\n".join(f"    {line}" for line in aligned(self.title, self._cells()))

    def html(self) -> str:
        """Return a shaded grid."""
        return shaded_table(self.title, self._cells())


@dataclass(frozen=True)
class Curve:
    """The loss of the dozen pairs by step."""

    points: Sequence[tuple[int, float]]
    WIDTH, HEIGHT = 260, 70
    MARKS = 5

    def text(self) -> str:
        """Return the loss at a few steps."""
        last = len(self.points) - 1
        numbers = sorted({last * mark // (self.MARKS - 1) for mark in range(self.MARKS)})
        marked = [self.points[number] for number in numbers]
        losses = ", ".join(f"{loss:.2f} after {step}" for step, loss in marked)
        return f"Loss of the dozen pairs: {losses} steps"

    def html(self) -> str:
        """Return a line, with its ends in words; a loss that is no number has no place on it."""
        finite = [(step, loss) for step, loss in self.points if math.isfinite(loss)]
        top = max((loss for _, loss in finite), default=0.0) or 1.0
        last = self.points[-1][0] or 1
        points = " ".join(
            f"{self.WIDTH * step / last:.1f},{self.HEIGHT * (1 - loss / top):.1f}"
            for step, loss in finite
        )
        caption = html.escape(self.text())
        return (
            f'<p style="margin:.3em 0">{caption}</p><svg role="img" aria-label="{caption}" '
            f'width="{self.WIDTH}" height="{self.HEIGHT}" viewBox="-2 -2 {self.WIDTH + 4} '
            f'{self.HEIGHT + 4}" style="display:block"><polyline points="{points}" fill="none" '
            'stroke="currentColor" stroke-width="1.5"/></svg>'
        )


def _picture(fault: Fault, found: Examination) -> Iterator[Part]:
    names = _shown_by(fault, found)
    for name, side in (("future", "target"), ("past", "target"), ("source", "source")):
        if name in names:
            title = f"Which token of the {side} (row) moves which position (column)"
            yield Effects(title, found.experiments[name].numbers["effects"])
            return
    if "learning" in names and found.observed.curve:
        yield Curve(found.observed.curve)


def _all_outcomes(found: Examination) -> Iterator[Part]:
    rows = tuple(
        (name, outcome.word, _yes_or_no(EXPERIMENTS[name].outcomes[outcome.word]))
        for name, outcome in found.experiments.items()
    )
    table = Table("All experiments", ("experiment", "outcome", "as in a right model"), rows)
    yield Fold(f"All {len(rows)} experiments", (table,))


def _yes_or_no(flag: bool) -> str:
    return "yes" if flag else "no"


def _left_out(found: Examination) -> Iterator[Part]:
    """Say what was not examined; experiments with the same reason in one line."""
    reasons: dict[str, list[str]] = {}
    for name, reason in found.observed.left_out.items():
        reasons.setdefault(reason, []).append(name)
    if reasons:
        lines = tuple(f"{', '.join(names)}: {reason}" for reason, names in reasons.items())
        yield Listing("Not examined", lines)
