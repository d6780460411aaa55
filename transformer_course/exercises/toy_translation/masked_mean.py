"""The mean loss of the real tokens."""

import torch
from torch import Tensor

from transformer_course.checker.cases import Case, gradients
from transformer_course.checker.exercise import exercise
from transformer_course.exercises.start_here.softmax import softmax
from transformer_course.translation.training import loss

_LOSS = torch.tensor([[1.0, 1.0, 1.0, 1.0], [5.0, 70.0, 30.0, 20.0]])
_REAL = torch.tensor([[True, True, True, True], [True, False, False, False]])


@exercise(
    reference=loss.masked_mean,
    cases=[
        Case((_LOSS, _REAL)),
        Case((torch.arange(6.0).reshape(2, 3), torch.tensor([[1, 0, 0], [1, 1, 0]]).bool())),
        Case((_LOSS[:1], _REAL[:1])),
        Case((torch.arange(15.0).reshape(3, 5).sqrt(), torch.arange(15).reshape(3, 5) % 4 < 3)),
        Case((_LOSS, _REAL), observe=gradients, looks_at="the gradients of the losses"),
        # As `smoothed_cross_entropy` calls it.
        Case((torch.tensor([1.0, 4.0, 1.0, 70.0]), torch.tensor([True, True, True, False]))),
    ],
    hints=[
        "A mean is a sum divided by a count. Which tokens belong in the sum, and how many of them "
        "are there?",
        "Where the mask is False a loss must count as 0, and the count must leave it out too.",
        "`loss[mask].mean()` does both.",
    ],
)
def masked_mean(loss: Tensor, mask: Tensor) -> Tensor:
    """Return the mean of the losses where the mask is True, a tensor without axes."""
    return loss[mask].mean()


masked_mean.mistake(
    "padding counts like a word",
    edits=[("return loss", "mask = torch.ones_like(mask)\n    return loss")],
    observed="The losses 1, 1, 1, 1 and 5, with three padding places, give 16.1 instead of 1.8: "
    "the mask has no effect.",
    change="Sum and count only where the mask is True.",
)
masked_mean.mistake(
    "the sum leaves padding out, the count does not",
    edits=[("mean()", "sum() / mask.numel()")],
    observed="The losses 1, 1, 1, 1 and 5, with three padding places, give 9 / 8 instead of "
    "9 / 5: a batch with more padding looks better.",
    change="Divide by `mask.sum()`, the number of real tokens.",
)
# Losses without a batch axis have rows, but no axis 1.
for _row, _axis in {"sentence": 1, "row": -1}.items():
    masked_mean.mistake(
        f"it is the mean of each {_row}'s mean",
        edits=[("loss[mask]", f"((loss * mask).sum(dim={_axis}) / mask.sum(dim={_axis}))")],
        observed="The losses 1, 1, 1, 1 and 5 give (1 + 5) / 2 = 3 instead of 9 / 5: a word in a "
        "short sentence weighs more than one in a long sentence.",
        change="Sum over the whole batch first, then divide once by the number of real tokens.",
    )
masked_mean.mistake(
    "it is divided by the number of sentences",
    edits=[("mean()", "sum() / len(mask)")],
    observed="The result grows with the length of the sentences.",
    change="Divide by `mask.sum()`, the number of real tokens.",
)
masked_mean.mistake(
    "it is a sum, not a mean",
    edits=[("mean()", "sum()")],
    observed="Twice as many tokens of the same loss give twice the result.",
    change="Divide by `mask.sum()`, the number of real tokens.",
)
masked_mean.mistake(
    "the mask is read the wrong way round",
    edits=[("return loss", "mask = ~mask\n    return loss")],
    observed="Only the padding counts, so that a batch without padding gives 0 / 0.",
    change="True means a real token: keep those.",
)
for _row, _axis in {"sentence": 1, "row": -1}.items():
    masked_mean.mistake(
        f"each {_row} gets a mean of its own",
        edits=[("loss[mask].mean()", f"(loss * mask).sum(dim={_axis}) / mask.sum(dim={_axis})")],
        observed="The result has one number for each sentence instead of one for the batch.",
        change="Sum over all axes: one mean for the whole batch.",
    )
masked_mean.mistake(
    "two axes are taken for granted",
    edits=[("loss[mask].mean()", "(loss * mask).sum(dim=1).sum() / mask.sum()")],
    observed="It stops at losses of shape (tokens,), which have no axis 1; that is how "
    "`smoothed_cross_entropy` will call it.",
    change="Leave `dim` out: a sum over all axes fits any shape.",
)
masked_mean.shares(softmax, "no gradient passes", edits=[("mean()", "mean().detach()")])


def _plain_number(loss: Tensor, mask: Tensor) -> float:
    return (loss * mask).sum().item() / mask.sum().item()


masked_mean.mistake(
    "the result is a plain number",
    body=_plain_number,
    observed="It is a Python number, which has no gradient: nothing can be trained with it.",
    change="Return a tensor: leave out `.item()`, `.tolist()` and `float(...)`.",
)
masked_mean.mistake(
    "the count leaves padding out, the sum does not",
    edits=[("loss[mask].mean()", "loss.sum() / mask.sum()")],
    observed="The losses 1, 1, 1, 1 and 5, with three padding places, give 129 / 5 instead of "
    "9 / 5.",
    change="Sum only where the mask is True: `(loss * mask).sum()`.",
)
masked_mean.mistake(
    "padding is summed, real tokens are counted",
    edits=[("loss[mask].mean()", "loss[~mask].sum() / mask.sum()")],
    observed="The losses 1, 1, 1, 1 and 5, with three padding places, give 120 / 5 instead of "
    "9 / 5.",
    change="True means a real token: sum those, `(loss * mask).sum()`.",
)
masked_mean.mistake(
    "losses of 0 are not counted",
    edits=[("mean()", "sum() / (loss[mask] != 0).sum()")],
    observed="The real losses 0, 3 and 4 give 7 / 2 instead of 7 / 3: the count is that of the "
    "losses which are not 0.",
    change="Divide by `mask.sum()`: a real token can have a loss of 0.",
)
masked_mean.mistake(
    "the count is one too high",
    edits=[("mean()", "sum() / (mask.sum() + 1)")],
    observed="The losses 1, 1, 1, 1 and 5 give 9 / 6 instead of 9 / 5.",
    change="Divide by `mask.sum()`; against a count of 0 there is `.clamp(min=1)`.",
)
masked_mean.mistake(
    "it is divided by the length of the sentences",
    edits=[("mean()", "sum() / mask.shape[-1]")],
    observed="The result grows with the number of sentences.",
    change="Divide by `mask.sum()`, the number of real tokens.",
)
masked_mean.mistake(
    "the quotient is rounded down",
    edits=[("mean()", "sum() // mask.sum()")],
    observed="The losses 1, 1, 1, 1 and 5 give 1 instead of 9 / 5: `//` is the division of "
    "integers.",
    change="Divide with `/`.",
)
masked_mean.mistake(
    "padding is minus infinity",
    edits=[("loss[mask].mean()", "loss.masked_fill(~mask, -torch.inf).mean()")],
    observed="As soon as there is padding, the result is minus infinity.",
    change="Minus infinity belongs before a softmax. In a sum, 0 is what has no effect; and the "
    "count must leave padding out too.",
)
for _columns, _count in {
    "column": "mask.sum(dim=0).clamp(min=1)",
    "column, with 0 / 0 for one of padding": "mask.sum(dim=0)",
}.items():
    masked_mean.mistake(
        f"it is the mean of the means of each {_columns}",
        edits=[("loss[mask]", f"((loss * mask).sum(dim=0) / {_count})")],
        observed="You divide once for each position in the sentences, then take the mean: the "
        "tokens at late positions, which few sentences have, weigh more than others.",
        change="Sum over the whole batch first, then divide once by the number of real tokens.",
    )
masked_mean.mistake(
    "the mask is taken for indices",
    edits=[("loss[mask]", "loss[mask.long()]")],
    observed="0 and 1 as an index mean the first and the second row.",
    change="An index of True and False picks: leave the mask boolean, `loss[mask]`.",
)


def _subtracted(loss: Tensor, mask: Tensor) -> Tensor:
    return (loss * (1 - mask)).sum() / (1 - mask).sum()


masked_mean.mistake(
    "the mask is subtracted from 1",
    body=_subtracted,
    observed="torch refuses `1 - mask` where the mask holds True and False.",
    change="True already means a real token: sum and count with `mask` as it is. Where a mask has "
    "to be turned round, `~mask` does so.",
)
masked_mean.mistake(
    "the last row is left out",
    edits=[
        ("return loss[mask]", "return (loss if loss.dim() < 2 else loss[:-1])[mask]"),
        ("[mask]", "[mask if loss.dim() < 2 else mask[:-1]]"),
    ],
    observed="What the last row holds makes no difference: does a loop end one early?",
    change="`range(n)` holds the numbers 0 to n - 1 already.",
)
