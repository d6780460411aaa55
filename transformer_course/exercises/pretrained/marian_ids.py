"""From the pieces of a published translator to the rectangle of ids that it reads."""

import torch
from torch import Tensor

from transformer_course.checker.cases import Case, Property
from transformer_course.checker.exercise import exercise

_IDS = {"</s>": 0, "<unk>": 1, "▁le": 2, "▁chat": 3, "s": 4, "▁dort": 5, "▁Le": 6, "<pad>": 7}
# Another order, in which no special token has the id that it has above.
_OTHERS = {"▁dort": 0, "s": 1, "▁": 2, "<pad>": 3, "▁chat": 4, "<unk>": 5, "▁le": 6, "</s>": 7}
_THREE = [["▁le", "▁chat", "s"], ["▁dort"], ["▁Le", "▁chat"]]
_UNKNOWN = [["▁dort", "▁zèbre", "s"], ["▁zèbre"], ["▁chat", "s", "▁dort", "▁le"]]
# Another piece is unknown: a KeyError holds the piece, and one in other words each time tells more.
_OTHER_UNKNOWN = [["▁dort", "▁gnou", "s"], ["▁gnou"], ["▁chat", "s", "▁dort", "▁le"]]


def _ends_once(value: Tensor, case: Case) -> bool:
    _, ids = case.inputs
    return bool(((value == ids["</s>"]).sum(dim=1) == 1).all())


def _padding_comes_last(value: Tensor, case: Case) -> bool:
    _, ids = case.inputs
    padded = (value == ids["<pad>"]).int()
    return bool((padded.diff(dim=1) >= 0).all())


@exercise(
    cases=[
        Case(([["▁le", "▁chat"]], _IDS)),
        Case((_THREE, _IDS)),
        Case((_UNKNOWN, _IDS)),
        Case((_OTHER_UNKNOWN, _OTHERS)),
        Case(([[], ["▁le"]], _IDS)),
    ],
    properties=[
        Property("every sentence ends once", _ends_once),
        Property("padding comes last", _padding_comes_last),
    ],
    hints=[
        "Two steps: a list of ids for each sentence, then padding up to the longest. Do the rows "
        "have their end tokens already when you look for the longest?",
        "`ids.get(piece, ...)` gives another number where a piece is not in the list. Which one? "
        "Take the numbers of the special tokens from `ids`, too: every translator has others.",
        '`[ids.get(piece, ids["<unk>"]) for piece in pieces] + [ids["</s>"]]` is one row; '
        '`row + [ids["<pad>"]] * (longest - len(row))` is as long as the longest.',
    ],
)
def marian_ids(sentences: list[list[str]], ids: dict[str, int]) -> Tensor:
    """Return the ids of sentences that are cut into pieces, of shape (sentences, longest + 1)."""
    rows = []
    for pieces in sentences:
        rows.append([ids.get(piece, ids["<unk>"]) for piece in pieces] + [ids["</s>"]])
    longest = max(len(row) for row in rows)
    return torch.tensor([row + [ids["<pad>"]] * (longest - len(row)) for row in rows])
