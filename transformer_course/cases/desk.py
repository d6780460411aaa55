"""A case as it lies on the reader's desk: what its author sees, and what can be done with it."""

import hashlib
import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any

from transformer_course.cases import catalogue, journal, spoken_numbers
from transformer_course.cases.catalogue import GOAL, Case, names
from transformer_course.cases.program import WEIGHTS, Program
from transformer_course.cases.supplies import Supplies
from transformer_course.checker.exercise import Exercise
from transformer_course.checker.feedback import (
    NEUTRAL,
    Feedback,
    Part,
    Sentence,
    Table,
    Verdict,
    card,
)
from transformer_course.checker.time_limits import TimeLimitReached
from transformer_course.examine import Subject
from transformer_course.files import write_text
from transformer_course.own.location import own_file
from transformer_course.plots import Picture, curve_comparison
from transformer_course.plots.renderer import in_notebook

FOLDER = "cases"
TRAINED = "trained.json"
"""Beside the weights: which text of the file they are from, and the curve."""
RECORDED = Path(__file__).parents[1] / "results" / "cases.json"
SHOWN = 6
"""Translations on the desk."""


@dataclass
class Run:
    """What is seen of a training: its curve, some translations, the share that is right."""

    curve: list[tuple[int, float]]
    said: list[tuple[str, str, str]]
    score: float


class Desk:
    """A case, open; make one with :func:`transformer_course.cases.take`."""

    def __init__(self, case: Case, folder: Path) -> None:
        self.case, self.folder = case, folder
        self.file = folder / case.file_name
        if not self.file.exists():
            self.lay()

    def lay(self) -> None:
        """Write the case's file as it was, and the text that it learns from."""
        self.folder.mkdir(parents=True, exist_ok=True)
        spoken_numbers.write(self.folder)
        write_text(self.file, self.case.text)

    # What its author sees

    def __repr__(self) -> str:
        return "\n".join([self.case.title, *(part.text() for part in self._parts())])

    def _repr_html_(self) -> str:
        return card(f"Level {self.case.level}", self.case.title, NEUTRAL, self._parts())

    @property
    def recorded(self) -> Run:
        """What its author has seen."""
        return recorded(self.case)

    def _parts(self) -> list[Part]:
        run = self.recorded
        return [
            Sentence(f"“{self.case.story}”" if self.case.story else ""),
            Sentence(f"{run.score:.0%} of {spoken_numbers.TEST} new numbers are right.", "Score"),
            Table("Some translations", ("English", "it says", "right would be"), tuple(run.said)),
            Sentence(f"`{self._place}`", "File"),
            Sentence(self._standing(), "Experiments"),
        ]

    @property
    def _place(self) -> str:
        """Where the file is, seen from the workspace."""
        return "/".join([FOLDER, self.folder.name, self.file.name])

    def _standing(self) -> str:
        spent = journal.spent(self.case)
        return f"{spent} so far; par is {self.case.par}." if self.case.par else "free"

    def curve(self) -> Picture:
        """Draw the loss of its training beside that of a program without a fault."""
        runs = {"this one": self.case, "a healthy one": catalogue.healthy(self.case.program)}
        curves = {
            name: [{"step": step, "train_loss": loss} for step, loss in recorded(case).curve]
            for name, case in runs.items()
        }
        return curve_comparison(curves, "train_loss", f"{self.case.title}: the loss in training")

    # Experiments

    def run(self, experiment: Callable[..., Any] | Exercise, **given: Any) -> Any:
        """Make an experiment with the translator, and return what it returns.

        Parameters
        ----------
        experiment
            A function; by the names of its parameters it says what it needs, such as ``scores``,
            ``batch``, ``step``, ``say``. For an exercise, its model answer is taken.
        given
            What it is to get instead, as in ``batch=...``.

        Raises
        ------
        ValueError
            If it asks for something that there is not.
        """
        if isinstance(experiment, Exercise):
            experiment = experiment.task.answer
        found = experiment(**Supplies(self.program).for_(experiment, given))
        if self.case.par and not journal.is_solved(self.case):
            journal.note(self.case, journal.RAN, getattr(experiment, "__name__", "an experiment"))
            print(f"Experiment {journal.spent(self.case)}; par is {self.case.par}.")
        return found

    def supply(self, name: str) -> Any:
        """Return what an experiment gets under a name, such as ``exchanged_batch``."""
        return getattr(Supplies(self.program), name)

    def subject(self) -> Subject:
        """Return the program as what `examine` is given."""
        return self.case.kind_of_program(self.file).subject()

    @property
    def program(self) -> Program:
        """The program as its file is now, trained."""
        program = self.case.kind_of_program(self.file)
        if _note(self.folder).get("of") != self._digest and not self._has_taken_over():
            self._train(program)
        return program

    # Naming and mending

    def name(self, *faults: str) -> Feedback:
        """Say what is wrong; a wrong name costs as much as an experiment.

        Raises
        ------
        ValueError
            If there is no such name, or none is said.
        """
        if not faults:
            raise ValueError("say what is wrong by a name of `cases.names()`.")
        if unknown := [fault for fault in faults if fault not in names()]:
            raise ValueError(f"{', '.join(unknown)}: see the names in `cases.names()`.")
        for fault in faults:
            right = fault in self.case.faults
            journal.note(self.case, journal.NAMED if right else journal.WRONG, fault)
        return self._named(set(faults))

    def _named(self, said: set[str]) -> Feedback:
        wrong = said - set(self.case.faults)
        missing = set(self.case.faults) - journal.named(self.case) - said
        if wrong:
            words = [f"`{fault}` is not it." for fault in sorted(wrong)]
            return self._feedback(Verdict.WRONG, *words, self._standing())
        if missing:
            return self._feedback(Verdict.RIGHT, "That is one of them. There is another.")
        return self._feedback(
            Verdict.RIGHT, f"That is it. Now mend `{self._place}`, or use `mend`, and `check` it."
        )

    def mend(self, old: str, new: str) -> None:
        """Replace a piece of the file.

        Raises
        ------
        ValueError
            If the piece is not in the file, or more than once.
        """
        text = self.file.read_text(encoding="utf-8")
        if (times := text.count(old)) != 1:
            raise ValueError(
                f"what is to be replaced is in {self.file.name} {times} times; give a piece that "
                "is there once."
            )
        write_text(self.file, text.replace(old, new))

    def check(self) -> Feedback:
        """Train the file as it is now, and see what it scores."""
        try:
            run = self.measured()
        except (Exception, SystemExit, TimeLimitReached) as error:  # as somebody's file may raise
            words = f"{self.file.name} does not run: {type(error).__name__}: {error}"
            return self._feedback(Verdict.WRONG, words)
        scored = f"{run.score:.0%} of {spoken_numbers.TEST} new numbers are right"
        if run.score < GOAL:
            return self._feedback(
                Verdict.WRONG, f"{scored}; {GOAL:.0%} are wanted. It was {self.recorded.score:.0%}."
            )
        if missing := set(self.case.faults) - journal.named(self.case):
            some = "what else" if len(missing) < len(self.case.faults) else "what"
            return self._feedback(Verdict.WRONG, f"{scored}. Now say {some} it was: `name`.")
        journal.note(self.case, journal.SOLVED)
        spent, par = journal.spent(self.case), self.case.par
        experiments = f"You made {spent} experiment{'s' * (spent != 1)}; par is {par}."
        return self._feedback(Verdict.RIGHT, f"Solved: {scored}.", experiments, self.case.mended)

    def measured(self) -> Run:
        """Train the file as it is now, unless that is done, and look at what it does."""
        program = self.program
        test = program.text("test")
        said = program.trained().say([source for source, _ in test])
        rows = [(source, one, target) for (source, target), one in zip(test, said, strict=True)]
        score = sum(one == target for _, one, target in rows) / len(rows)
        curve = [(step, loss) for step, loss in _note(self.folder)["curve"]]
        return Run(curve, [_short(row) for row in rows[:SHOWN]], score)

    def _feedback(self, verdict: Verdict, *words: str) -> Feedback:
        return Feedback(verdict, self.case.title, tuple(map(Sentence, words)))

    # Training

    def _train(self, program: Program) -> None:
        curve: list[tuple[int, float]] = []
        digest = self._digest
        say = _line()

        def watch(step: int, loss: float) -> None:
            curve.append((step, round(loss, 4)))
            say(f"{self.case.title} is in training: step {step}, loss {loss:.2f}")

        self._forget()
        program.train(watch=watch)
        say(f"{self.case.title} has been trained: {curve[-1][0]} steps.")
        write_text(self.folder / TRAINED, json.dumps({"of": digest, "curve": curve}))

    def _has_taken_over(self) -> bool:
        """Take what another case has learned by the same program from the same text, if one has.

        A case that is mended is often the healthy one, to the letter.
        """
        digest = self._digest
        for folder in sorted(path.parent for path in self.folder.parent.glob(f"*/{TRAINED}")):
            note = _note(folder)
            if note.get("of") == digest:
                self._forget()
                shutil.copyfile(folder / WEIGHTS, self.folder / WEIGHTS)
                write_text(self.folder / TRAINED, json.dumps(note))
                return True
        return False

    def _forget(self) -> None:
        """Let weights that are half written, or of another text, count for nothing."""
        (self.folder / TRAINED).unlink(missing_ok=True)

    @property
    def _digest(self) -> str:
        """Return what tells the program and its text from all others."""
        text = (spoken_numbers.sides(self.folder, split) for split in ("train", "test"))
        content = (path.read_bytes() for path in (self.file, *chain.from_iterable(text)))
        return hashlib.sha256(b"\0".join(content)).hexdigest()


def _note(folder: Path) -> dict[str, Any]:
    """Return what a training in a folder noted; nothing if its weights are not there."""
    try:
        note = json.loads((folder / TRAINED).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return note if (folder / WEIGHTS).exists() else {}


def recorded(case: Case) -> Run:
    """Return what was recorded of a case's training."""
    run = runs()[case.key]
    return Run(run["curve"], [tuple(row) for row in run["said"]], run["score"])


@cache
def runs() -> dict[str, Any]:
    """Return what was recorded of all cases, by their key."""
    return json.loads(RECORDED.read_text(encoding="utf-8"))["runs"]


def take(key: str, anew: bool = False) -> Desk:
    """Lay a case into the folder ``cases`` of the workspace, and open it.

    Parameters
    ----------
    key
        The case, or ``"healthy"`` for a program without a fault.
    anew
        Whether the file is written as it was in the beginning, without your changes.

    Raises
    ------
    ValueError
        If there is no such case.
    """
    known = catalogue.cases() | {catalogue.HEALTHY: catalogue.healthy("with_torch")}
    if key not in known:
        raise ValueError(f"there is no case {key!r}; there is {', '.join(known)}.")
    desk = Desk(known[key], own_file().parent / FOLDER / key)
    if anew:
        desk.lay()
    return desk


def _line() -> Callable[[str], None]:
    """Return what writes a line that is written over, in a notebook; elsewhere nothing is said."""
    if not in_notebook():
        return lambda words: None
    # Only notebooks are sure to have IPython.
    from IPython.display import display

    handle = display({"text/plain": ""}, raw=True, display_id=True)
    return lambda words: handle.update({"text/plain": words}, raw=True)


def _short(row: tuple[str, str, str]) -> tuple[str, str, str]:
    english, said, right = row
    words = said.split()
    return english, " ".join(words[:14] + ["…"] * (len(words) > 14)), right
