"""Softmax along the last axis, safe from overflow."""

from collections.abc import Callable

import torch

from transformer_course.checker.cases import Case, Property, calls, gradients, vectors
from transformer_course.checker.exercise import exercise
from transformer_course.checker.originals import original_functions


def left_to_torch(code: Callable, scores: torch.Tensor) -> bool:
    """Observe whether right shares come from torch's own softmax; wrong ones have another fault."""
    shares, from_torch = calls(("softmax", "log_softmax"), code, scores)
    if not from_torch or not isinstance(shares, torch.Tensor):
        return False
    with original_functions(), torch.device("cpu"):  # whatever the code has set or replaced
        right = scores.softmax(dim=-1)
        return shares.shape == right.shape and torch.allclose(shares, right)


@exercise(
    cases=[
        Case((torch.tensor([1.0, 3.0, 0.0]),)),
        Case((torch.tensor([[1.0, 2.0, 3.0], [0.0, -1.0, 0.0]]),)),
        Case((torch.tensor([[1.0, 2.0, 3.0], [0.0, -1.0, 0.0], [2.0, 4.0, 0.0]]),)),
        Case((torch.tensor([[0.0, 1.0, 90.0], [0.0, 1.0, 100.0], [0.0, 1.0, 200.0]]),)),
        Case((torch.tensor([1000.0, 0.0, 1001.0]),)),
        Case((torch.tensor([-1000.0, -1001.0, -999.0]),)),
        Case((torch.tensor([1000.0, -1000.0, -1000.0]),)),
        Case((torch.tensor([[1000.0, 1001.0, 999.0], [-1000.0, -1001.0, -999.0]]),)),
        Case((vectors(2, 3, 4).double(),)),
        Case((vectors(3, 2, 5, 4),)),
        Case((vectors(2, 3),), observe=gradients, looks_at="the gradient of the scores"),
        Case((vectors(2, 3),), observe=left_to_torch, looks_at="who computes the softmax"),
    ],
    properties=[
        Property(
            "every number lies between 0 and 1",
            lambda value, case: bool(((value >= 0) & (value <= 1)).all()),
        ),
        Property(
            "the numbers along the last axis sum to 1",
            lambda value, case: torch.allclose(
                value.sum(dim=-1), torch.ones((), dtype=value.dtype), atol=1e-3
            ),
        ),
        Property(
            "along the last axis the largest score gets the largest share",
            lambda value, case: torch.equal(value.argmax(dim=-1), case.inputs[0].argmax(dim=-1)),
        ),
    ],
    hints=[
        "Shares are positive and sum to 1. Which function makes every number positive, and what "
        "do you divide by afterwards?",
        "`scores.exp()`, divided by its sum along the last axis: `sum(dim=-1, keepdim=True)`. And "
        "what is `exp` of 1000?",
        "The same number subtracted from a whole row changes no share. Subtract the largest: "
        "`scores - scores.amax(dim=-1, keepdim=True)`.",
    ],
)
def softmax(scores: torch.Tensor) -> torch.Tensor:
    """Turn scores of any shape into shares that sum to 1 along the last axis."""
    largest = scores.amax(dim=-1, keepdim=True)
    growth = (scores - largest).exp()
    total = growth.sum(dim=-1, keepdim=True)
    return growth / total


# Against overflow

softmax.mistake(
    "nothing is subtracted before `exp`",
    edits=[("scores - largest", "scores")],
    observed="Small scores are right. For the scores 1000, 0, 1001 you return NaN: `exp(1000)` is "
    "infinite, and inf / inf is not a number.",
    change="Subtract the largest score of each row first: "
    "`scores - scores.amax(dim=-1, keepdim=True)`.",
)
softmax.mistake(
    "NaN is replaced afterwards, which does not bring the shares back",
    edits=[
        ("    growth =", "    largest = 0\n    growth ="),
        ("return growth", "return (growth"),
        ("/ total", "/ total).nan_to_num()"),
    ],
    observed="For the scores 1000, 0, 1001 you return zeros; they should get .269, 0 and .731.",
    change="Leave `nan_to_num` out and subtract the largest score of each row before `exp`.",
)
softmax.mistake(
    "large scores are cut off before `exp`",
    edits=[("scores - largest", "scores.clamp(max=80)")],
    observed="The scores 1000 and 1001 get equal shares, .5 and .5; they should get .269 and .731.",
    change="Do not clamp: subtract the largest score of each row, which keeps all differences.",
)
softmax.mistake(
    "the largest score of the whole tensor is subtracted from every row",
    edits=[("scores - largest", "scores - scores.max()")],
    observed="That is right as long as the rows lie close together. A row 2000 below the largest "
    "score becomes `exp(-2000)` = 0 everywhere, and 0 / 0 is NaN.",
    change="Give each row its own largest score: `scores.amax(dim=-1, keepdim=True)`.",
)
softmax.mistake(
    "the largest score of each column is subtracted",
    edits=[("scores - largest", "scores - scores.amax(dim=0, keepdim=True)")],
    observed="What is subtracted must be the same number along a whole row; yours changes within "
    "the row and with it the shares.",
    change="Look for the largest along the last axis: `scores.amax(dim=-1, keepdim=True)`.",
)
softmax.mistake(
    "the smallest score is subtracted instead of the largest",
    edits=[("scores - largest", "scores - scores.amin(dim=-1, keepdim=True)")],
    observed="For the scores 0, 1, 100 you return NaN: `exp(100)` is infinite in float32.",
    change="Subtract the largest, so that no exponent is above 0: `amax`, not `amin`.",
)
softmax.mistake(
    "the mean is subtracted instead of the largest score",
    edits=[("scores - largest", "scores - scores.mean(dim=-1, keepdim=True)")],
    observed="For the scores 1000, 0, 1001 you return NaN: 1001 is 334 above the mean, and "
    "`exp(334)` is infinite in float32.",
    change="Subtract the largest, so that no exponent is above 0: `amax`, not `mean`.",
)
softmax.mistake(
    "the largest absolute value is subtracted",
    edits=[("scores - largest", "scores - scores.abs().amax(dim=-1, keepdim=True)")],
    observed="For the scores -1000, -1001 you return NaN: you compute `exp(-2000)` = 0, and 0 / 0.",
    change="Leave `abs` out: what is subtracted is the largest score itself.",
)
softmax.mistake(
    "divided by the largest score instead of subtracting it",
    edits=[("scores - largest", "scores / scores.amax(dim=-1, keepdim=True)")],
    observed="The scores 1000 and 1001 get almost equal shares, and a row whose largest score is 0 "
    "gives NaN: division changes the differences, which decide the shares.",
    change="Subtract: `scores - scores.amax(dim=-1, keepdim=True)`.",
)

# Along which axis

softmax.mistake(
    "the softmax runs along the first axis",
    edits=[
        ("scores - largest", "scores - scores.amax(dim=0, keepdim=True)"),
        ("growth / total", "growth / growth.sum(dim=0, keepdim=True)"),
    ],
    observed="Each column of a matrix sums to 1; each row should.",
    change="Use the last axis, which is `dim=-1` in every shape.",
)
softmax.mistake(
    "the softmax runs along axis 1",
    edits=[
        ("scores - largest", "scores - scores.amax(dim=1, keepdim=True)"),
        ("sum(dim=-1", "sum(dim=1"),
    ],
    observed="Matrices are right, where axis 1 is the last one. One row alone has no axis 1, and "
    "with three axes or more it is not the last.",
    change="Use `dim=-1`, the last axis in every shape.",
)
softmax.mistake(
    "the sum runs along axis 1",
    edits=[("sum(dim=-1", "sum(dim=1")],
    observed="Matrices are right, where axis 1 is the last one. One row alone has no axis 1, and "
    "with three axes or more it is not the last.",
    change="Use `dim=-1`, the last axis in every shape, for the sum too.",
)
softmax.mistake(
    "the softmax runs along the last axis but one",
    edits=[
        ("scores - largest", "scores - scores.amax(dim=-2, keepdim=True)"),
        ("sum(dim=-1", "sum(dim=-2"),
    ],
    observed="Each column of a matrix sums to 1, each row should; one row alone has no such axis.",
    change="Use `dim=-1`, not `dim=-2`.",
)
softmax.mistake(
    "one softmax runs over the whole tensor",
    edits=[
        ("scores - largest", "scores - scores.max()"),
        ("growth / total", "growth / growth.sum()"),
    ],
    observed="All numbers together sum to 1; each row should.",
    change="Give `amax` and `sum` the axis: `dim=-1, keepdim=True`.",
)
softmax.mistake(
    "the sum is that of the column",
    edits=[("growth / total", "growth / growth.sum(dim=0, keepdim=True)")],
    observed="Your rows do not sum to 1: each number is divided by a sum that takes in other rows.",
    change="Sum along the last axis too: `sum(dim=-1, keepdim=True)`.",
)
softmax.mistake(
    "the sum is that of the whole tensor",
    edits=[("growth / total", "growth / growth.sum()")],
    observed="All numbers together sum to 1; each row should.",
    change="Sum along the last axis too: `sum(dim=-1, keepdim=True)`.",
)
softmax.mistake(
    "`keepdim=True` is missing in the sum",
    edits=[("sum(dim=-1, keepdim=True)", "sum(dim=-1)")],
    observed="A (2, 3) tensor cannot be divided by the (2,) sums of its rows. For a square one it "
    "works and is wrong: column 0 is divided by the sum of row 0.",
    change="Write `sum(dim=-1, keepdim=True)`, of shape (2, 1): one sum beside each row.",
)
softmax.mistake(
    "`keepdim=True` is missing where the largest score is looked for",
    edits=[("amax(dim=-1, keepdim=True)", "amax(dim=-1)")],
    observed="The (2,) largest scores of the rows cannot be subtracted from a (2, 3) tensor. For a "
    "square one it works and is wrong: column 0 loses the largest score of row 0.",
    change="Write `amax(dim=-1, keepdim=True)`, of shape (2, 1): one number beside each row.",
)

# What is computed

softmax.mistake(
    "`exp` is missing: the scores themselves are divided by their sum",
    edits=[("    growth =", "    largest = 0\n    growth ="), (".exp()", "")],
    observed="In the row 0, -1, 0 the smallest score gets everything, and adding 1 to all scores "
    "changes the shares.",
    change="Take `exp` of the scores first, then divide by the sum of that.",
)
softmax.mistake(
    "divided by the sum of the scores instead of the sum of their exponentials",
    edits=[("growth / total", "growth / scores.sum(dim=-1, keepdim=True)")],
    observed="Your shares do not sum to 1.",
    change="Divide by the sum of the numerators, `exp` included.",
)
softmax.mistake(
    "the sum is that of the exponentials before the largest score was subtracted",
    edits=[("growth.sum", "scores.exp().sum")],
    observed="Your shares do not sum to 1: the numerators were made smaller, the denominator was "
    "not.",
    change="Sum the numerators: `growth.sum(...)`, if that is their name.",
)
softmax.mistake(
    "e is rounded",
    edits=[("growth = (", "growth = 2.718 ** ("), (".exp()", "")],
    observed="Your numbers agree with the right ones to three digits only.",
    change="Use `torch.exp`, or `math.e` for the number.",
)
softmax.mistake(
    "the division is missing",
    edits=[("growth / total", "growth")],
    observed="The largest number of each row is 1, so that a row sums to more than 1.",
    change="Divide by the sum of the row.",
)
softmax.mistake(
    "it is the logarithm of the softmax",
    edits=[
        (".exp()", ""),
        ("growth.sum", "growth.logsumexp"),
        ("growth / total", "growth - total"),
    ],
    observed="None of your numbers is above 0; shares lie between 0 and 1.",
    change="Take `exp` of what you return, or `softmax` for `log_softmax`.",
)
softmax.mistake(
    "each score is squeezed alone, by a sigmoid",
    edits=[("scores - largest", "scores"), ("exp()", "sigmoid()"), ("growth / total", "growth")],
    observed="Each of your numbers stays the same when another score changes, and the row does not "
    "sum to 1.",
    change="Divide each exponential by the sum of all exponentials of its row.",
)
softmax.mistake(
    "the sign is turned round: the smallest score wins",
    edits=[(".exp()", ".neg().exp()")],
    observed="For the scores 1, 3, 0 the share of 0 is the largest.",
    change="The larger score gets the larger share: `scores - largest`, not `largest - scores`.",
)

# What training needs

softmax.mistake(
    "no gradient passes",
    edits=[("return growth / total", "return (growth / total).detach()")],
    observed="The numbers are right, but no gradient flows back through them: a model that "
    "contains this learns nothing.",
    change="Leave out `.detach()`, `.data`, `.item()` and `torch.no_grad()`, and make no new "
    "tensor from numbers.",
)

# Rarely seen

softmax.mistake(
    "torch's own softmax does the work",
    edits=[("growth / total", "scores.softmax(dim=-1)")],
    observed="All shares are right, and they are those of torch's own softmax.",
    change="Write it with `exp`, a sum and a division: that is what all attention is made of.",
)
softmax.mistake(
    "the exponentials are computed in float64 instead of subtracting the largest score",
    edits=[("scores - largest", "scores.double()"), ("growth / total", "(growth / total).float()")],
    observed="For the scores 1000, 0, 1001 you still return NaN: float64 ends at `exp(709)`.",
    change="Subtract the largest score of each row first; then float32 is enough.",
)
softmax.mistake(
    "the sum is made a little larger instead of subtracting the largest score",
    edits=[("scores - largest", "scores"), ("growth / total", "growth / (total + 1e-9)")],
    observed="For the scores 1000, 0, 1001 you still return NaN, and for -1000, -1001 you return "
    "zeros: a small number in the sum only hides the 0 / 0.",
    change="Leave it out and subtract the largest score of each row before `exp`: then the sum is "
    "never below 1.",
)
softmax.mistake(
    "scores are cut off at both ends before `exp`",
    edits=[("scores - largest", "scores.clamp(min=-80, max=80)")],
    observed="The scores 1000 and 1001 get equal shares, .5 and .5; they should get .269 and .731.",
    change="Do not clamp: subtract the largest score of each row, which keeps all differences.",
)
softmax.mistake(
    "the smallest score is subtracted instead of the largest, in float64",
    edits=[
        ("scores - largest", "scores.double() - scores.amin(dim=-1, keepdim=True)"),
        ("growth / total", "(growth / total).float()"),
    ],
    observed="For the scores 1000, 0, 1001 you return NaN: `exp(1001)` is infinite in float64 too.",
    change="Subtract the largest, so that no exponent is above 0: `amax`, not `amin`.",
)
softmax.mistake(
    "the place of the largest score is subtracted instead of the score",
    edits=[("scores.amax", "scores.argmax")],
    observed="You subtract 0, 1 or 2 from a row of three, and `exp` of 1000 stays infinite.",
    change="Take the value: `scores.amax(dim=-1, keepdim=True)`. `torch.max` with `dim` returns "
    "values and places, in this order.",
)
softmax.mistake(
    "the largest score is subtracted after `exp`",
    edits=[("(scores - largest).exp()", "scores.exp() - largest")],
    observed="For the scores 1, 3, 0 two of your shares are below 0.",
    change="Subtract before: `(scores - largest).exp()`.",
)
softmax.mistake(
    "divided by the largest absolute value instead of subtracting the largest score",
    edits=[("scores - largest", "scores / scores.abs().amax(dim=-1, keepdim=True)")],
    observed="The scores 1000 and 1001 get almost equal shares: division changes the differences, "
    "which decide the shares.",
    change="Subtract: `scores - scores.amax(dim=-1, keepdim=True)`.",
)
softmax.mistake(
    "the largest score is looked for along axis 1",
    edits=[("amax(dim=-1", "amax(dim=1")],
    observed="Matrices are right, where axis 1 is the last one. One row alone has no axis 1, and "
    "with three axes or more it is not the last.",
    change="Use `dim=-1`, the last axis in every shape, for the largest score too.",
)
softmax.mistake(
    "it goes through the first axis, as if there were always two",
    edits=[
        ("scores - largest", "torch.stack([row - row.max() for row in scores])"),
        ("growth / total", "torch.stack([row / row.sum() for row in growth])"),
    ],
    observed="Matrices are right. In one row alone every score gets 1, and with three axes each "
    "matrix sums to 1 instead of each row.",
    change="No loop is needed: `amax` and `sum` with `dim=-1, keepdim=True` work for every shape.",
)
softmax.mistake(
    "torch's softmax is not told which axis to use",
    edits=[
        ("amax(dim=-1", "amax(dim=0 if scores.dim() in (1, 3) else 1"),
        ("sum(dim=-1", "sum(dim=0 if scores.dim() in (1, 3) else 1"),
    ],
    observed="It then takes the last axis of a row or a matrix, but not that of a larger tensor.",
    change="Give the axis: `dim=-1`.",
)
softmax.mistake(
    "the largest score is subtracted in the denominator only",
    edits=[("growth / total", "scores.exp() / total")],
    observed="Your shares do not sum to 1: the denominator was made smaller, the numerators were "
    "not.",
    change="Use the same exponentials in both.",
)
softmax.mistake(
    "divided by the mean of the row instead of its sum",
    edits=[("growth.sum", "growth.mean")],
    observed="The numbers of a row sum to its length, not to 1.",
    change="Divide by the sum of the row.",
)
softmax.mistake(
    "the powers are those of 2",
    edits=[(".exp()", ".exp2()")],
    observed="A score that is larger by 1 gets a share twice as large, not 2.718 times as large.",
    change="Take powers of e: `exp`.",
)
softmax.mistake(
    "the last row is left out",
    edits=[
        (
            "return growth / total",
            "shares = growth / total\n"
            "    shares.view(-1, shares.shape[-1])[-1] = 0\n"
            "    return shares",
        )
    ],
    observed="The shares of the last row are 0, those of one row alone too: does a loop end one "
    "early?",
    change="`range(n)` holds the numbers 0 to n - 1 already; better still, leave the loop out.",
)
softmax.mistake(
    "the sum goes through the first axis, as if there were always two",
    edits=[("growth / total", "torch.stack([row / row.sum() for row in growth])")],
    observed="Matrices are right. In one row alone every number is divided by itself, and with "
    "three axes each matrix sums to 1 instead of each row.",
    change="No loop is needed: `sum(dim=-1, keepdim=True)` works for every shape.",
)
softmax.mistake(
    "`keepdim=True` is missing in the logsumexp",
    edits=[("growth / total", "(scores - scores.logsumexp(dim=-1)).exp()")],
    observed="A (2, 3) tensor and the (2,) results for its rows do not fit. For a square one it "
    "works and is wrong: column 0 is divided by the sum of row 0.",
    change="Write `logsumexp(dim=-1, keepdim=True)`, of shape (2, 1): one number beside each row.",
)
softmax.mistake(
    "divided by how many scores a row has, not by the sum of their exponentials",
    edits=[("growth / total", "growth / scores.shape[-1]")],
    observed="For the scores 1, 3, 0 the largest share is a third, and the three do not sum to 1.",
    change="Divide by the sum of the row: `growth.sum(dim=-1, keepdim=True)`.",
)
softmax.mistake(
    "divided by the length of the row as a vector, not by its sum",
    edits=[("growth.sum", "growth.norm")],
    observed="The squares of your shares sum to 1; the shares themselves should.",
    change="Divide by the sum of the row: `sum`, not `norm`.",
)
