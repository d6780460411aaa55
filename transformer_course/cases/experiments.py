"""Experiments that are there already. Each asks by its parameters for what it needs."""

from collections.abc import Callable
from statistics import fmean

import pandas as pd

from transformer_course.cases.program import Text

Say = Callable[[list[str]], list[str]]


def what_it_is_fed(fed: list[tuple[str, str, str]]) -> pd.DataFrame:
    """Show three rows of two batches of the training, in words."""
    return pd.DataFrame(fed, columns=["source", "target in", "target out"])


def known_and_new(say: Say, known: Text, new: Text) -> dict[str, float]:
    """Translate sentences of the training text, and new ones; return the share that is right."""
    return {"known": share_right(say, known), "new": share_right(say, new)}


def by_length(say: Say, new: Text) -> dict[str, float]:
    """Translate new sentences; return the share that is right by the words of the source."""
    lengths = {name: [] for name in ("up to 5 words", "6 or 7 words", "8 words or more")}
    short, middle, long = lengths.values()
    for pair in new:
        words = len(pair[0].split())
        (short if words <= 5 else middle if words <= 7 else long).append(pair)
    return {name: share_right(say, pairs) for name, pairs in lengths.items()}


def twice(say: Say, new: Text) -> float:
    """Translate new sentences twice; return the share that comes out the same."""
    sources = [source for source, _ in new]
    return fmean(a == b for a, b in zip(say(sources), say(sources), strict=True))


def alone_and_together(say: Say, known: Text) -> float:
    """Translate known sentences one by one and as a batch; return the share that is the same."""
    sources = [source for source, _ in known]
    alone = [say([source])[0] for source in sources]
    return fmean(a == b for a, b in zip(alone, say(sources), strict=True))


def twice_as_long(longer: Callable[[], Say], say: Say, new: Text) -> dict[str, float]:
    """Train it anew for twice as many steps; return the share of new sentences before and after."""
    return {"as it is": share_right(say, new), "twice as long": share_right(longer(), new)}


def share_right(say: Say, text: Text) -> float:
    """Return the share of sentences that are translated exactly as the text has it."""
    said = say([source for source, _ in text])
    return fmean(one == target for one, (_, target) in zip(said, text, strict=True))
