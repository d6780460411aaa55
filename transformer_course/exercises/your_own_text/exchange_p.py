"""Whether the seeds of two settings differ by more than seeds do."""

import itertools
from statistics import fmean

from transformer_course import translation
from transformer_course.checker.cases import Case, Property
from transformer_course.checker.exercise import exercise


@exercise(
    reference=translation.exchange_p,
    cases=[
        Case(([2.0], [1.0])),
        Case(([21.5, 20.25, 22.0], [19.0, 18.5, 20.0])),
        Case(([20.0, 21.0, 22.5], [21.0, 21.0, 25.0])),
        Case(([20.0, 23.5, 21.0], [22.0, 19.5, 24.75])),
        Case(([19.0, 20.5], [22.0, 20.0, 23.25, 19.5])),
        Case(([24.0, 18.0, 21.0], [20.0, 21.5, 20.5, 19.5])),
        Case(([17.25, 22.0, 18.5], [21.0, 21.75, 23.5])),
        Case(([24.3, 18.2, 18.2], [21.8, 24.6, 20.7])),
    ],
    properties=[
        Property("p is above 0 and at most 1", lambda value, case: 0 < value <= 1),
    ],
    hints=[
        "If the setting made no difference, every way to put the same scores on two sides would be "
        "as likely as yours. How many ways are there, and how do you make them all?",
        "`itertools.combinations(range(len(scores)), len(first))` yields the places of one side, "
        "for each way; the places that it leaves out are the other side.",
        "For each way compute the distance of the two means, and count where it is at least that "
        "of your own two sides (subtract `1e-9` from yours: sums in another order are rounded "
        "differently). Divide by the number of ways.",
    ],
)
def exchange_p(first: list[float], second: list[float]) -> float:
    """Return how often seeds alone would set two such sides as far apart."""
    scores = [*first, *second]
    found = abs(fmean(first) - fmean(second))
    ways = [*itertools.combinations(range(len(scores)), len(first))]
    far = 0
    for way in ways:
        one = [scores[place] for place in way]
        other = [scores[place] for place in range(len(scores)) if place not in way]
        far += abs(fmean(one) - fmean(other)) >= found - 1e-9
    return far / len(ways)
