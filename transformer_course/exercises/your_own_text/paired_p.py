"""The paired bootstrap: whether two systems differ by more than the choice of sentences."""

from collections.abc import Callable

import torch
from torch import Tensor

from transformer_course.checker.cases import Case, Property
from transformer_course.checker.exercise import exercise


def _share(counts: Tensor) -> float:
    """Return a score like BLEU's: of what was said, which share was right."""
    right, said = counts.tolist()
    return 100 * right / said


def _points(counts: Tensor) -> float:
    """Return a score that adds up, so that all differences are whole numbers."""
    return float(counts[0])


def _drawn(sentences: int, sets: int) -> Tensor:
    """Return numbers of sentences, the same ones every time."""
    return torch.randint(sentences, (sets, sentences), generator=torch.Generator().manual_seed(5))


_FIRST = torch.tensor([[4, 8], [6, 7], [3, 9], [9, 10], [2, 5], [7, 7]])
_SECOND = torch.tensor([[5, 9], [4, 8], [4, 7], [7, 10], [1, 6], [6, 7]])
_ONE_BETTER = torch.tensor([[1], [2], [0], [3]])
_OTHER = torch.tensor([[0], [2], [1], [1]])
_FOUR = torch.tensor([[0, 1, 3, 3], [0, 0, 1, 3], [3, 3, 3, 0], [0, 1, 2, 3]])


def _case(score: Callable, words: str, first: Tensor, second: Tensor, draws: Tensor) -> Case:
    return Case((score, first, second, draws), written=f"(score, first, second, draws)  # {words}")


@exercise(
    cases=[
        _case(_points, "4 sentences, 4 test sets", _ONE_BETTER, _OTHER, _FOUR),
        _case(_share, "6 sentences, 20 test sets", _FIRST, _SECOND, _drawn(6, 20)),
        _case(_share, "the second is better", _SECOND, _FIRST, _drawn(6, 20)),
        _case(_share, "6 sentences, 9 other test sets", _FIRST[:4], _SECOND[1:5], _drawn(4, 9)),
        _case(_points, "both are equal", _OTHER, _OTHER, _FOUR),
    ],
    properties=[
        Property("p is above 0 and at most 1", lambda value, case: 0 < value[1] <= 1),
        Property(
            "systems that are equal have no difference, and p = 1",
            lambda value, case: case.inputs[1] is not case.inputs[2] or value == (0, 1),
        ),
    ],
    hints=[
        "Three steps: the difference on all sentences; the difference on each drawn test set, the "
        "same sentences for both systems; and how many of these are far from *their* mean.",
        "`first[draw]` are the counts of a drawn test set, a row for each of its sentences. Add "
        "the rows up, then call `score`, once for each system.",
        "`drawn = [score(first[draw].sum(dim=0)) - score(second[draw].sum(dim=0)) for draw in "
        "draws]`; count where `abs(each - mean) >= abs(difference)`; p is that number and one, "
        "divided by the number of draws and one.",
    ],
)
def paired_p(score: Callable, first: Tensor, second: Tensor, draws: Tensor) -> tuple[float, float]:
    """Return by how much the first system is better, and how often chance does as much."""
    difference = score(first.sum(dim=0)) - score(second.sum(dim=0))
    drawn = [score(first[draw].sum(dim=0)) - score(second[draw].sum(dim=0)) for draw in draws]
    mean = sum(drawn) / len(drawn)
    extreme = sum(abs(each - mean) >= abs(difference) for each in drawn)
    return difference, (extreme + 1) / (len(drawn) + 1)
