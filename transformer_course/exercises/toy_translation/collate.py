"""From pairs of sentences to rectangles of ids."""

from collections.abc import Callable

import torch
from torch import Tensor

from transformer_course.checker.cases import Case, Property
from transformer_course.checker.exercise import exercise
from transformer_course.translation.corpora import batches

Pairs = list[tuple[list[int], list[int]]]
_PAIRS = [([4, 5, 6], [7, 8]), ([5], [6, 4, 8, 7]), ([6, 4], [5])]
_NEEDED = (
    "the three rectangles; what goes in where padding comes out has no effect, and may be `eos`"
)


def _rectangles(code: Callable, pairs: Pairs, bos: int, eos: int, pad: int) -> tuple:
    """Collate; what goes in where padding is to come out has no effect, so it is blanked."""
    source, target_in, target_out = code(pairs, bos, eos, pad)
    if isinstance(target_in, Tensor) and isinstance(target_out, Tensor):
        same_shape = target_in.shape == target_out.shape
        target_in = torch.where(target_out == pad, pad, target_in) if same_shape else target_in
    return source, target_in, target_out


@exercise(
    reference=batches.collate,
    cases=[
        Case(([([4, 5], [6, 7, 8])], 1, 2, 0), observe=_rectangles),
        Case((_PAIRS, 1, 2, 0), observe=_rectangles, looks_at=_NEEDED),
        Case((_PAIRS, 2, 3, 9), observe=_rectangles, looks_at=_NEEDED),
        Case(([([4, 4, 4, 4], [5]), ([6], [7])], 1, 2, 0), observe=_rectangles),
    ],
    properties=[
        Property(
            "the source holds no begin token",
            lambda value, case: not (value[0] == case.inputs[1]).any(),
        ),
        Property(
            "every target in begins with the begin token",
            lambda value, case: bool((value[1][:, 0] == case.inputs[1]).all()),
        ),
        Property(
            "every target out holds the end token once",
            lambda value, case: bool(((value[2] == case.inputs[2]).sum(dim=1) == 1).all()),
        ),
        Property(
            "target out is target in, one step ahead",
            lambda value, case: torch.equal(
                value[1][:, 1:],
                torch.where(value[2][:, 1:] == case.inputs[3], case.inputs[3], value[2][:, :-1]),
            ),
        ),
    ],
    hints=[
        "Write the three lists for one pair on paper first. If the target is `[7, 8]`, what does "
        "the decoder read first, and what must it predict last?",
        "For one pair: source `[*source, eos]`, target in `[bos, *target]`, target out "
        "`[*target, eos]`.",
        "Then fill each rectangle: `row + [pad] * (longest - len(row))`, where `longest` is the "
        "longest row of this batch, and `torch.tensor(rows)`.",
    ],
)
def collate(pairs: list, bos: int, eos: int, pad: int) -> tuple[Tensor, Tensor, Tensor]:
    """Return source, target in and target out as rectangles of ids."""

    def rectangle(rows: list[list[int]]) -> Tensor:
        longest = max(len(row) for row in rows)
        return torch.tensor([row + [pad] * (longest - len(row)) for row in rows])

    return (
        rectangle([[*source, eos] for source, _ in pairs]),
        rectangle([[bos, *target] for _, target in pairs]),
        rectangle([[*target, eos] for _, target in pairs]),
    )
