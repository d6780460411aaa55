"""Whether a translator is sure of what it says.

The mean log-probability of a translation's tokens says how surprising the model finds its own
words. On sentences of another kind than it was trained on it is lower, though not always: what the
model never saw can look familiar. See Hendrycks and Gimpel (2017), "A Baseline for Detecting
Misclassified and Out-of-Distribution Examples in Neural Networks", for the idea.
"""

from collections.abc import Sequence

import numpy as np

from transformer_course.translation.corpora.corpus import SentencePair
from transformer_course.translation.translator import Translator

DOUBTED = 0.05
"""Share of the dev split's translations that are doubted."""
FEWEST_CAPITALS = 4


def doubt_below(translator: Translator, dev: Sequence[SentencePair]) -> float:
    """Return the mean log-probability that 5 % of the dev split's translations stay below.

    They are those of a greedy search; what a beam finds is a little likelier. Sentences that the
    translator cannot read, such as one that is too long, are left out.

    Raises
    ------
    ValueError
        If no pair is left.
    """
    sources = [pair.source for pair in dev]
    faults = translator.faults(sources)
    sources = [source for place, source in enumerate(sources) if place not in faults]
    if not sources:
        raise ValueError("without a sentence of a dev split, nobody knows what is usual.")
    scored = translator.translate_with_scores(sources)
    return float(np.quantile([score for _, score in scored], DOUBTED))


def in_small_letters(sentence: str) -> str | None:
    """Return a sentence that is all in capitals with small ones; None for any other sentence.

    A translator that has seen few capitals knows the words in small letters only.
    """
    letters = [letter for letter in sentence if letter.isupper() or letter.islower()]
    if len(letters) < FEWEST_CAPITALS or any(map(str.islower, letters)):
        return None
    return sentence.capitalize()
