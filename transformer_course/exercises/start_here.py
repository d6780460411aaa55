"""Lesson 0: the warm-up, a softmax."""

import torch
from torch import Tensor

from transformer_course.exercises.cases import Case, Property, vectors
from transformer_course.exercises.exercise import exercise


@exercise(
    reference=lambda scores: scores.softmax(dim=-1),
    cases=[
        Case((torch.tensor([1.0, 3.0, 0.0]),)),
        Case((torch.tensor([[1.0, 2.0, 3.0], [0.0, -1.0, 0.0]]),)),
        Case((torch.tensor([[1.0, 2.0, 3.0], [0.0, -1.0, 0.0], [2.0, 4.0, 0.0]]),)),
        Case((torch.tensor([0.0, 1.0, 100.0]),)),
        Case((torch.tensor([1000.0, 0.0, 1001.0]),)),
        Case((torch.tensor([-1000.0, -1001.0, -999.0]),)),
        Case((torch.tensor([[1000.0, 1001.0, 999.0], [-1000.0, -1001.0, -999.0]]),)),
        Case((vectors(2, 3, 4).double(),)),
        Case((vectors(3, 2, 5, 4),)),
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
    growth = (scores - scores.amax(dim=-1, keepdim=True)).exp()
    return growth / growth.sum(dim=-1, keepdim=True)


class _Steps:
    """The softmax in steps, so that a mistake replaces one."""

    def axis(self, scores: Tensor) -> int:
        return -1

    def level(self, scores: Tensor) -> Tensor | float:
        return scores.amax(dim=self.axis(scores), keepdim=True)

    def shift(self, scores: Tensor) -> Tensor:
        return scores - self.level(scores)

    def grow(self, scores: Tensor) -> Tensor:
        return scores.exp()

    def total(self, growth: Tensor, scores: Tensor) -> Tensor:
        return growth.sum(dim=self.axis(scores), keepdim=True)

    def share(self, growth: Tensor, total: Tensor) -> Tensor:
        return growth / total

    def __call__(self, scores: Tensor) -> Tensor:
        growth = self.grow(self.shift(scores))
        return self.share(growth, self.total(growth, scores))


# Against overflow


@softmax.mistake(
    "nothing is subtracted before `exp`",
    observed="Small scores are right. For the scores 1000, 0, 1001 you return NaN: `exp(1000)` is "
    "infinite, and inf / inf is not a number.",
    change="Subtract the largest score of each row first: "
    "`scores - scores.amax(dim=-1, keepdim=True)`.",
)
class _NothingSubtracted(_Steps):
    def level(self, scores: Tensor) -> Tensor | float:
        return 0.0


@softmax.mistake(
    "the sum is made a little larger instead of subtracting the largest score",
    observed="For the scores 1000, 0, 1001 you still return NaN, and for -1000, -1001 you return "
    "zeros: a small number in the sum only hides the 0 / 0.",
    change="Leave it out and subtract the largest score of each row before `exp`: then the sum is "
    "never below 1.",
)
class _Epsilon(_NothingSubtracted):
    def total(self, growth: Tensor, scores: Tensor) -> Tensor:
        return super().total(growth, scores) + 1e-9


@softmax.mistake(
    "NaN is replaced afterwards, which does not bring the shares back",
    observed="For the scores 1000, 0, 1001 you return zeros; they should get .269, 0 and .731.",
    change="Leave `nan_to_num` out and subtract the largest score of each row before `exp`.",
)
class _NanReplaced(_NothingSubtracted):
    def share(self, growth: Tensor, total: Tensor) -> Tensor:
        return (growth / total).nan_to_num()


@softmax.mistake(
    "large scores are cut off before `exp`",
    observed="The scores 1000 and 1001 get equal shares, .5 and .5; they should get .269 and .731.",
    change="Do not clamp: subtract the largest score of each row, which keeps all differences.",
)
class _Clamped(_Steps):
    def shift(self, scores: Tensor) -> Tensor:
        return scores.clamp(max=80)


@softmax.mistake(
    "the largest score of the whole tensor is subtracted from every row",
    observed="That is right as long as the rows lie close together. A row 2000 below the largest "
    "score becomes `exp(-2000)` = 0 everywhere, and 0 / 0 is NaN.",
    change="Give each row its own largest score: `scores.amax(dim=-1, keepdim=True)`.",
)
class _LargestOfAll(_Steps):
    def level(self, scores: Tensor) -> Tensor | float:
        return scores.max()


@softmax.mistake(
    "the largest score of each column is subtracted",
    observed="What is subtracted must be the same number along a whole row; yours changes within "
    "the row and with it the shares.",
    change="Look for the largest along the last axis: `scores.amax(dim=-1, keepdim=True)`.",
)
class _LargestOfColumn(_Steps):
    def level(self, scores: Tensor) -> Tensor | float:
        return scores.amax(dim=0, keepdim=True)


@softmax.mistake(
    "the smallest score is subtracted instead of the largest",
    observed="For the scores 0, 1, 100 you return NaN: `exp(100)` is infinite in float32.",
    change="Subtract the largest, so that no exponent is above 0: `amax`, not `amin`.",
)
class _SmallestSubtracted(_Steps):
    def level(self, scores: Tensor) -> Tensor | float:
        return scores.amin(dim=-1, keepdim=True)


@softmax.mistake(
    "the mean is subtracted instead of the largest score",
    observed="For the scores 1000, 0, 1001 you return NaN: 1001 is 334 above the mean, and "
    "`exp(334)` is infinite in float32.",
    change="Subtract the largest, so that no exponent is above 0: `amax`, not `mean`.",
)
class _MeanSubtracted(_Steps):
    def level(self, scores: Tensor) -> Tensor | float:
        return scores.mean(dim=-1, keepdim=True)


@softmax.mistake(
    "the largest absolute value is subtracted",
    observed="For the scores -1000, -1001 you return NaN: you compute `exp(-2000)` = 0, and 0 / 0.",
    change="Leave `abs` out: what is subtracted is the largest score itself.",
)
class _LargestAbsolute(_Steps):
    def level(self, scores: Tensor) -> Tensor | float:
        return scores.abs().amax(dim=-1, keepdim=True)


@softmax.mistake(
    "divided by the largest score instead of subtracting it",
    observed="The scores 1000 and 1001 get almost equal shares, and a row whose largest score is 0 "
    "gives NaN: division changes the differences, which decide the shares.",
    change="Subtract: `scores - scores.amax(dim=-1, keepdim=True)`.",
)
class _DividedByLargest(_Steps):
    def shift(self, scores: Tensor) -> Tensor:
        return scores / scores.amax(dim=-1, keepdim=True)


# Along which axis


@softmax.mistake(
    "the softmax runs along the first axis",
    observed="Each column of a matrix sums to 1; each row should.",
    change="Use the last axis, which is `dim=-1` in every shape.",
)
class _FirstAxis(_Steps):
    def level(self, scores: Tensor) -> Tensor | float:
        return scores.amax(dim=0, keepdim=True)

    def total(self, growth: Tensor, scores: Tensor) -> Tensor:
        return growth.sum(dim=0, keepdim=True)


@softmax.mistake(
    "the softmax runs along axis 1",
    observed="Matrices are right, where axis 1 is the last one. One row alone has no axis 1, and "
    "with three axes or more it is not the last.",
    change="Use `dim=-1`, the last axis in every shape.",
)
class _SecondAxis(_Steps):
    def axis(self, scores: Tensor) -> int:
        return 1


@softmax.mistake(
    "the softmax runs along the last axis but one",
    observed="Each column of a matrix sums to 1, each row should; one row alone has no such axis.",
    change="Use `dim=-1`, not `dim=-2`.",
)
class _LastButOne(_Steps):
    def axis(self, scores: Tensor) -> int:
        return -2


@softmax.mistake(
    "one softmax runs over the whole tensor",
    observed="All numbers together sum to 1; each row should.",
    change="Give `amax` and `sum` the axis: `dim=-1, keepdim=True`.",
)
class _WholeTensor(_Steps):
    def level(self, scores: Tensor) -> Tensor | float:
        return scores.max()

    def total(self, growth: Tensor, scores: Tensor) -> Tensor:
        return growth.sum()


@softmax.mistake(
    "it goes through the first axis, as if there were always two",
    observed="Matrices are right. In one row alone every score gets 1, and with three axes each "
    "matrix sums to 1 instead of each row.",
    change="No loop is needed: `amax` and `sum` with `dim=-1, keepdim=True` work for every shape.",
)
class _RowByRow(_Steps):
    def __call__(self, scores: Tensor) -> Tensor:
        return torch.stack([_WholeTensor()(row) for row in scores])


@softmax.mistake(
    "the sum is that of the column",
    observed="Your rows do not sum to 1: each number is divided by a sum that takes in other rows.",
    change="Sum along the last axis too: `sum(dim=-1, keepdim=True)`.",
)
class _SumOfColumn(_Steps):
    def total(self, growth: Tensor, scores: Tensor) -> Tensor:
        return growth.sum(dim=0, keepdim=True)


@softmax.mistake(
    "the sum is that of the whole tensor",
    observed="All numbers together sum to 1; each row should.",
    change="Sum along the last axis too: `sum(dim=-1, keepdim=True)`.",
)
class _SumOfAll(_Steps):
    def total(self, growth: Tensor, scores: Tensor) -> Tensor:
        return growth.sum()


@softmax.mistake(
    "`keepdim=True` is missing in the sum",
    observed="A (2, 3) tensor cannot be divided by the (2,) sums of its rows. For a square one it "
    "works and is wrong: column 0 is divided by the sum of row 0.",
    change="Write `sum(dim=-1, keepdim=True)`, of shape (2, 1): one sum beside each row.",
)
class _SumWithoutKeepdim(_Steps):
    def total(self, growth: Tensor, scores: Tensor) -> Tensor:
        return growth.sum(dim=-1)


@softmax.mistake(
    "`keepdim=True` is missing where the largest score is looked for",
    observed="The (2,) largest scores of the rows cannot be subtracted from a (2, 3) tensor. For a "
    "square one it works and is wrong: column 0 loses the largest score of row 0.",
    change="Write `amax(dim=-1, keepdim=True)`, of shape (2, 1): one number beside each row.",
)
class _LevelWithoutKeepdim(_Steps):
    def level(self, scores: Tensor) -> Tensor | float:
        return scores.amax(dim=-1)


@softmax.mistake(
    "torch's softmax is not told along which axis",
    observed="It then takes the last axis of a row or a matrix, but not that of a larger tensor.",
    change="Give the axis: `dim=-1`.",
)
class _NoAxis(_Steps):
    def axis(self, scores: Tensor) -> int:
        return 0 if scores.dim() in (1, 3) else 1


# What is computed


@softmax.mistake(
    "`exp` is missing: the scores themselves are divided by their sum",
    observed="Of the row 0, -1, 0 the smallest score gets everything, and adding 1 to all scores "
    "changes the shares.",
    change="Take `exp` of the scores first, then divide by the sum of that.",
)
class _NoExponential(_NothingSubtracted):
    def grow(self, scores: Tensor) -> Tensor:
        return scores


@softmax.mistake(
    "divided by the sum of the scores instead of the sum of their exponentials",
    observed="Your shares do not sum to 1.",
    change="Divide by the sum of what stands above the fraction line, `exp` included.",
)
class _SumOfScores(_Steps):
    def total(self, growth: Tensor, scores: Tensor) -> Tensor:
        return scores.sum(dim=-1, keepdim=True)


@softmax.mistake(
    "the division is missing",
    observed="The largest number of each row is 1, so that a row sums to more than 1.",
    change="Divide by the sum of the row.",
)
class _NoDivision(_Steps):
    def share(self, growth: Tensor, total: Tensor) -> Tensor:
        return growth


@softmax.mistake(
    "it is the logarithm of the softmax",
    observed="No number of yours is above 0; shares lie between 0 and 1.",
    change="Take `exp` of what you return, or `softmax` for `log_softmax`.",
)
class _Logarithm(_Steps):
    def __call__(self, scores: Tensor) -> Tensor:
        return scores.log_softmax(dim=-1)


@softmax.mistake(
    "each score is squeezed alone, by a sigmoid",
    observed="A number of yours does not change when another score does, and the row does not sum "
    "to 1.",
    change="Divide each exponential by the sum of all exponentials of its row.",
)
class _Sigmoid(_Steps):
    def __call__(self, scores: Tensor) -> Tensor:
        return scores.sigmoid()


@softmax.mistake(
    "the sign is turned round: the smallest score wins",
    observed="For the scores 1, 3, 0 the share of 0 is the largest.",
    change="The larger score gets the larger share: `scores - largest`, not `largest - scores`.",
)
class _SignTurned(_Steps):
    def grow(self, scores: Tensor) -> Tensor:
        return (-scores).exp()
