"""What a training says at each look at the dev split: how far it is, and what is plainly wrong."""

import math
from collections.abc import Callable, Sequence
from statistics import fmean

import numpy as np

from transformer_course.translation.training.trainer import Row, Trainer

EXAMPLES = 20
"""Sentences of the dev split whose translations are looked at."""
FEWEST_STEPS = 100
"""Steps before which even a training that is right has hardly begun."""
GUESSING = 0.97
"""Share of ln V above which a loss is still that of guessing."""
LONG = 5
"""Looks at the dev split without a better figure that are long."""
LAST_PART, FELL = 0.25, 0.04
"""Last part of a training in which the dev loss hardly falls any more; nats that are too many. The
recorded runs, which were long enough, fell by 0.02 at most."""
SHOWN = 60
"""Characters of a translation that a line has room for."""


def reporting(trainer: Trainer, say: Callable[[str], None]) -> Callable[[list[Row]], None]:
    """Return what says a line after each look, and advice once where something is plainly wrong."""
    sources = [pair.source for pair in trainer.dev.pairs[:EXAMPLES]]
    steps = None if trainer.settings.minutes else trainer.settings.steps
    advised: set[str] = set()

    def report(history: list[Row]) -> None:
        translations = trainer.translator.translate(sources)
        said = f"{_beginning(sources[0])!r} is now {_beginning(translations[0])!r}."
        say(f"{line(history, trainer.progress, steps)}; {said}")
        warmed_up = trainer.progress > 2 * trainer.settings.warmup
        can_judge = warmed_up and history[-1]["step"] >= FEWEST_STEPS
        found = advice(history, trainer.model.config.target_vocab) if can_judge else {}
        if can_judge and len(sources) > 1 and len({*translations}) == 1:
            found["alike"] = ALIKE
        for kind in found.keys() - advised:
            say(found[kind])
        advised.update(found)

    return report


def _beginning(text: str) -> str:
    return text if len(text) <= SHOWN else f"{text[:SHOWN].rpartition(' ')[0]} ..."


ALIKE = (
    "Every sentence is translated alike: the decoder does not use the source, or there is too "
    "little text. `transformer-course examine` says what is wrong with a model."
)


def line(history: Sequence[Row], progress: float, steps: int | None) -> str:
    """Say in a line how far a training is.

    Parameters
    ----------
    history
        The rows so far.
    progress
        Share of the training that is done.
    steps
        How many steps it will have; None if minutes say when it ends.
    """
    row = history[-1]
    left = row["seconds"] * (1 / progress - 1)
    of = f" of {steps:,}" if steps else ""
    return (
        f"step {row['step']:,}{of}, {_duration(left)} left: loss {row['train_loss']:.2f}, on dev "
        f"{row['dev_loss']:.2f}, BLEU {row['dev_bleu']:.1f}"
    )


def _duration(seconds: float) -> str:
    """Say how long something takes, as people do."""
    minutes = seconds / 60
    if minutes < 2:
        return f"{seconds:.0f} s"
    return f"{minutes:.0f} min" if minutes < 120 else f"{minutes / 60:.1f} h"


def advice(history: Sequence[Row], vocabulary: int) -> dict[str, str]:
    """Say what is plainly wrong with a training after its warm-up, by kind.

    Parameters
    ----------
    history
        The rows so far.
    vocabulary
        Tokens of the target.
    """
    found = {}
    last, guessing = history[-1], math.log(vocabulary)
    if last["train_loss"] > GUESSING * guessing:
        found["guessing"] = (
            f"The loss is still that of guessing, ln {vocabulary:,} = {guessing:.2f}: no gradient "
            f"arrives, or the learning rate is far too low or too high. `transformer-course "
            f"examine` says what is wrong with a model."
        )
    losses, scores = ([row[name] for row in history] for name in ("dev_loss", "dev_bleu"))
    since = len(losses) - 1 - losses.index(min(losses))
    best_before = max(scores[:-LONG], default=0.0)
    if since >= LONG and max(scores[-LONG:]) <= best_before:
        found["by heart"] = (
            f"The dev loss has not been lower for {since} looks, nor BLEU higher for {LONG}: the "
            f"model only learns its text by heart now. Stop here, or take more text or dropout."
        )
    elif since >= LONG and fmean(scores[-LONG:]) > best_before:
        found["too sure"] = (
            "The dev loss rises and BLEU still does too: the model is surer than it should be, and "
            "translates better nevertheless. Little text makes that usual."
        )
    return found


def verdict(history: Sequence[Row]) -> str:
    """Say whether a training that has ended was too short; nothing if it does not look so."""
    steps, losses = ([row[name] for row in history] for name in ("step", "dev_loss"))
    fell = float(np.interp((1 - LAST_PART) * steps[-1], steps, losses)) - losses[-1]
    if losses[-1] > min(losses) or fell < FELL:
        return ""
    return (
        f"The dev loss fell until the last look, by {fell:.2f} in the last quarter of the steps: "
        f"the training was too short."
    )
