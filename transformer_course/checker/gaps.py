"""The model answer with its decision points open: a choice between right and wrong fragments.

The gaps are where the edits of the known mistakes lie, so they cannot drift from the catalogue.
"""

import html
import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace

from transformer_course.checker.answers import AnswerText, Edit, edited_text
from transformer_course.checker.feedback import fold, inline
from transformer_course.checker.mistakes import Mistake

MOST_GAPS, MOST_CHOICES = 8, 6
NOTHING = "(nothing)"
LETTERS = "abcdefgh"


@dataclass(frozen=True)
class Choice:
    """A fragment that may fill a gap; the mistake that it is, None for the right one."""

    fragment: str
    mistake: Mistake | None

    @property
    def shown(self) -> str:
        """The fragment as it is read."""
        return " ".join(self.fragment.split()) or NOTHING

    @property
    def verdict(self) -> str:
        """What choosing it says."""
        if self.mistake is None:
            return "Right."
        record = self.mistake.record
        return f"Not yet: {record.name}. {record.observed}"


@dataclass(frozen=True)
class Gap:
    """A place in the model answer, from ``start`` up to ``stop``, and what may fill it."""

    start: int
    stop: int
    choices: tuple[Choice, ...]


@dataclass(frozen=True)
class Gaps:
    """The model answer of an exercise with gaps, which a notebook displays as folds to open."""

    name: str
    text: str
    gaps: tuple[Gap, ...]

    @property
    def code(self) -> str:
        """The model answer with numbers in place of what is left out."""
        code = self.text
        for number, gap in reversed(list(enumerate(self.gaps, start=1))):
            right = code[gap.start : gap.stop]
            space = right[len(right.rstrip()) :]  # the next line stays a line of its own
            code = f"{code[: gap.start]}[{number}]{space}{code[gap.stop :]}"
        return code

    def __repr__(self) -> str:
        choices, key = [], []
        for number, gap in enumerate(self.gaps, start=1):
            choices.append(f"[{number}]")
            for letter, choice in zip(LETTERS, gap.choices, strict=False):
                choices.append(f"  {letter}) {choice.shown}")
                key.append(f"  {number}{letter}: {choice.verdict}")
        title, question = f"{self.name}, with gaps", "What each choice is:"
        return "\n".join([title, "", self.code, "", *choices, "", question, *key])

    def _repr_html_(self) -> str:
        plain = "background:transparent;color:inherit"
        folds = "".join(
            f"<fieldset style='border:1px solid #888;margin:.6em 0;padding:.2em .8em'>"
            f"<legend style='font-size:1em;width:auto;margin:0;padding:0 .3em'>"
            f"Gap {number}: what belongs here?</legend>"
            f"{''.join(_fold(choice) for choice in gap.choices)}</fieldset>"
            for number, gap in enumerate(self.gaps, start=1)
        )
        return (
            f'<div class="gaps"><b>Fill the gaps: {html.escape(self.name)}</b>'
            f'<pre tabindex="0" style="{plain};overflow-x:auto">{html.escape(self.code)}</pre>'
            f"{folds}</div>"
        )


def _fold(choice: Choice) -> str:
    code = (
        '<code style="background:transparent;color:inherit;white-space:pre-wrap">'
        f"{html.escape(choice.shown)}</code>"
    )
    return fold(code, f'<p style="margin:.2em 0 .4em 1.2em">{inline(choice.verdict)}</p>')


def gaps_of(name: str, answer: AnswerText, mistakes: Sequence[Mistake]) -> Gaps:
    """Open the places of a model answer at which known mistakes differ from it."""
    definition = answer.definition
    before = len(answer.text) - len(definition)  # the texts of the parts that it calls
    edits = {mistake: _moved(mistake.edits, -before) for mistake in mistakes if mistake.edits}
    alone = [each[0] for each in edits.values() if len(each) == 1 and each[0].start >= 0]
    found = [_gap(definition, *place, edits) for place in _places(definition, alone)]
    largest = sorted((gap for gap in found if len(gap.choices) > 1), key=lambda g: -len(g.choices))
    return Gaps(name, definition, tuple(sorted(largest[:MOST_GAPS], key=lambda gap: gap.start)))


def _moved(edits: Sequence[Edit], by: int) -> list[Edit]:
    return [replace(edit, start=edit.start + by, stop=edit.stop + by) for edit in edits]


def _places(text: str, edits: Sequence[Edit]) -> list[tuple[int, int]]:
    """Return the stretches of text that edits change; those that touch are one."""
    places: list[tuple[int, int]] = []
    for start, stop in sorted(_closed(text, edit.start, edit.stop) for edit in edits):
        if places and start <= places[-1][1]:
            start, stop = places[-1][0], max(stop, places.pop()[1])
        places.append((start, stop))
    return places


def _closed(text: str, start: int, stop: int) -> tuple[int, int]:
    """Widen a stretch of text until it closes each bracket that it opens."""
    while _depth(text[start:stop]) > 0:
        stop += 1
    while _depth(text[start:stop]) < 0:
        start -= 1
    return start, stop


def _depth(fragment: str) -> int:
    """Count the brackets that are open at the end; below 0, those that were open before."""
    return sum((c in "([{") - (c in ")]}") for c in fragment)


def _gap(text: str, start: int, stop: int, mistakes: dict[Mistake, list[Edit]]) -> Gap:
    right = text[start:stop]
    wrong: dict[str, Mistake] = {}
    for mistake, edits in mistakes.items():
        if all(start <= edit.start and edit.stop <= stop for edit in edits):
            fragment = edited_text(right, _moved(edits, -start))
            if fragment != right:
                wrong.setdefault(fragment, mistake)
    likely = itertools.islice(wrong.items(), MOST_CHOICES - 1)
    choices = [Choice(right, None), *itertools.starmap(Choice, likely)]
    # In alphabetical order: the right one may be anywhere, and is always in the same place.
    return Gap(start, stop, tuple(sorted(choices, key=lambda choice: choice.fragment)))
