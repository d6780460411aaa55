"""Chance in the training: whether two settings differ by more than seeds do.

Source: Fisher (1935), "The Design of Experiments", chapter 3, for the idea of exchanging what would
be alike if there were no effect.
"""

import math
from collections.abc import Sequence
from itertools import combinations
from statistics import fmean

ROUNDING = 1e-9
"""Sums of the same scores in another order may differ by so much."""


def exchange_p(first: Sequence[float], second: Sequence[float]) -> float:
    """Return how often seeds alone would set two sides as far apart as these.

    If the setting made no difference, each way to put the same scores on two sides would be as
    likely as the one that was found; all are tried.

    Parameters
    ----------
    first, second
        The score of each seed.

    Returns
    -------
    p
        Of all ways, the share in which the means are at least as far apart. With three seeds a side
        there are 20, so p is never below 0.1.

    Raises
    ------
    ValueError
        If a side has no score, or a score is not a number.
    """
    if not (first and second):
        raise ValueError("a side has no score: train at least one seed of each.")
    scores, here = [*first, *second], len(first)
    if any(map(math.isnan, scores)):
        raise ValueError(f"a score is not a number: {scores}.")
    found = abs(fmean(first) - fmean(second))
    distances = [
        abs(fmean(side) - (sum(scores) - sum(side)) / len(second))
        for side in combinations(scores, here)
    ]
    return fmean(distance >= found - ROUNDING for distance in distances)
