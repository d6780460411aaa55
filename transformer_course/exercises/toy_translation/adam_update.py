"""One update of a weight by Adam."""

from collections.abc import Callable

import torch
from torch import Tensor

from transformer_course.checker.cases import Case, Property, vectors
from transformer_course.checker.exercise import exercise

_NOTHING = torch.zeros(2, 3, dtype=torch.float64)
_WEIGHT, _GRADIENT, _MEAN = (vectors(2, 3, seed=seed).double() for seed in range(3))
_SQUARE = vectors(2, 3, seed=3).double() ** 2
_SOME_ZERO = torch.tensor([0.0, 1e-3, -20.0], dtype=torch.float64)


def _ten_steps(code: Callable, weight: Tensor, rate: float) -> Tensor:
    """Go down into a valley, which is steeper for one weight than for another."""
    steepness = torch.arange(1, len(weight) + 1)
    mean = square = torch.zeros_like(weight)
    for step in range(1, 11):
        gradient = steepness * (weight - 1)
        weight, mean, square = code(weight, gradient, mean, square, step, rate)
    return weight


@exercise(
    cases=[
        Case((_WEIGHT, _GRADIENT, _NOTHING, _NOTHING, 1, 0.1)),
        Case((_SOME_ZERO, _SOME_ZERO, _NOTHING[0], _NOTHING[0], 1, 0.5)),
        Case((_WEIGHT, _GRADIENT, _MEAN, _SQUARE, 2, 0.1)),
        Case((_WEIGHT, _GRADIENT, _MEAN, _SQUARE, 7, 0.01, 0.8, 0.95, 0.1)),
        Case(
            (vectors(4).double(), 0.1),
            observe=_ten_steps,
            looks_at="the weights after ten steps, each with the means of the step before",
            written="(weight, gradient, mean, square, step, rate=0.1)",
        ),
    ],
    properties=[
        Property(
            "each weight moves against its running mean",
            lambda value, case: torch.equal((case.inputs[0] - value[0]).sign(), value[1].sign()),
        ),
        Property(
            "a mean of squares is not negative", lambda value, case: bool((value[2] >= 0).all())
        ),
    ],
    hints=[
        "Three steps: move both running means a little towards the newest gradient and its "
        "square, correct them, change the weight. Which of these are returned?",
        "A running mean keeps a share of itself: `beta1 * mean + (1 - beta1) * gradient`. The "
        "other is made in the same way from `gradient**2`. Corrected means are "
        "`mean / (1 - beta1**step)` and the same with `beta2`; they are used once and not kept.",
        "`weight - rate * corrected_mean / (corrected_square.sqrt() + eps)`, together with the two "
        "means as they were before the correction.",
    ],
)
def adam_update(
    weight: Tensor, gradient, mean, square, step: int, rate: float, beta1=0.9, beta2=0.98, eps=1e-9
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the new weight and the new running means of the gradient and of its square."""
    mean = beta1 * mean + (1 - beta1) * gradient
    square = beta2 * square + (1 - beta2) * gradient**2
    corrected_mean = mean / (1 - beta1**step)
    corrected_square = square / (1 - beta2**step)
    weight = weight - rate * corrected_mean / (corrected_square.sqrt() + eps)
    return weight, mean, square


# The correction

adam_update.mistake(
    "there is no bias correction",
    edits=[
        ("mean / (1 - beta1**step)", "mean"),
        ("square / (1 - beta2**step)", "square"),
    ],
    observed="The first step is 0.71 times as long as it should be: both means begin at 0, and "
    "after one gradient they are still too small.",
    change="Divide the means by `1 - beta1**step` and `1 - beta2**step` before you use them.",
)
adam_update.mistake(
    "only the mean of the gradient is corrected",
    edits=[("square / (1 - beta2**step)", "square")],
    observed="The first step is 7 times as long as it should be: the mean of the squares is still "
    "much too small, and you divide by its root.",
    change="Divide it by `1 - beta2**step` before you use it.",
)
adam_update.mistake(
    "only the mean of the squares is corrected",
    edits=[("mean / (1 - beta1**step)", "mean")],
    observed="The first step is a tenth of what it should be.",
    change="Divide the mean of the gradient by `1 - beta1**step` before you use it.",
)
adam_update.mistake(
    "the two means are returned in the wrong order",
    edits=[("return weight, mean, square", "return weight, square, mean")],
    observed="The second of your results is the mean of the squares.",
    change="Return `weight, mean, square`.",
)
adam_update.mistake(
    "the two corrections have changed places",
    edits=[("1 - beta1**step", "1 - beta2**step"), ("1 - beta2**step", "1 - beta1**step")],
    observed="The mean of the gradient is divided by `1 - beta2**step`, that of the squares by "
    "`1 - beta1**step`.",
    change="Each mean is corrected with its own beta.",
)
for _beta, _mean, _exponent in [
    ("beta1", "square", "beta2**step"),
    ("beta2", "mean", "beta1**step"),
]:
    adam_update.mistake(
        f"both means are corrected with `{_beta}`",
        edits=[(f"{_mean} / (1 - {_exponent})", f"{_mean} / (1 - {_beta}**step)")],
        observed=f"`{_mean}` is divided by `1 - {_beta}**step`, as the other mean is.",
        change=f"Divide `{_mean}` by `1 - {_exponent}`.",
    )
adam_update.mistake(
    "the corrections do not depend on the step",
    edits=[("beta1**step", "beta1"), ("beta2**step", "beta2")],
    observed="The first step is right. Later the means are no longer too small, and you still "
    "divide by `1 - beta`.",
    change="Raise to the power of the step: `1 - beta1**step`.",
)
adam_update.mistake(
    "beta is multiplied by the step",
    edits=[("beta1**step", "beta1 * step"), ("beta2**step", "beta2 * step")],
    observed="The first step is right. From the second on `1 - beta * step` is negative, and so is "
    "what the root is taken of.",
    change="Raise to the power of the step, with two asterisks: `1 - beta1**step`.",
)
adam_update.mistake(
    "the power is taken of `1 - beta`",
    edits=[
        ("(1 - beta1**step)", "(1 - beta1) ** step"),
        ("(1 - beta2**step)", "(1 - beta2) ** step"),
    ],
    observed="The first step is right. Then your divisors come closer to 0 with every step, where "
    "they should come closer to 1.",
    change="Take the power first: `1 - beta1**step`.",
)
adam_update.mistake(
    "the root is divided by the correction",
    edits=[("square / (1 - beta2**step)", "square / (1 - beta2**step) ** 2")],
    observed="The first step is 0.14 times as long as it should be: `1 - beta2**step` is outside "
    "the root.",
    change="Correct the mean of the squares first, then take the root of that.",
)
adam_update.mistake(
    "the old means are corrected and used",
    edits=[
        ("mean = beta1 *", "old_mean, old_square = mean, square\n    mean = beta1 *"),
        ("mean / (1", "old_mean / (1"),
        ("square / (1", "old_square / (1"),
    ],
    observed="The first step moves nothing: the means of the step before are 0 then.",
    change="Compute the new running means first, and correct those.",
)
adam_update.mistake(
    "the step is counted from 0",
    edits=[("mean = beta1 *", "step = step - 1\n    mean = beta1 *")],
    observed="At step 1 you divide by `1 - beta**0`, which is 0.",
    change="Steps already count from 1: use `step` as it is.",
)
adam_update.mistake(
    "the step is counted one too high",
    edits=[("mean = beta1 *", "step = step + 1\n    mean = beta1 *")],
    observed="Step 1 is treated as step 2.",
    change="Steps already count from 1: use `step` as it is.",
)
adam_update.mistake(
    "the corrected means are returned",
    edits=[("return weight, mean, square", "return weight, corrected_mean, corrected_square")],
    observed="A single step is right. In the next one the means are corrected once more.",
    change="Correct them for the update alone, and return them as they were before.",
)

# The running means

adam_update.mistake(
    "the betas have changed places",
    edits=[("mean = beta1 *", "beta1, beta2 = beta2, beta1\n    mean = beta1 *")],
    observed="The mean of the gradient forgets slowly, that of the squares fast.",
    change="`beta1` belongs to the gradient, `beta2` to its square.",
)
adam_update.mistake(
    "the old mean gets the small share",
    edits=[
        ("beta1 * mean + (1 - beta1) * gradient", "(1 - beta1) * mean + beta1 * gradient"),
        ("beta2 * square + (1 - beta2) * g", "(1 - beta2) * square + beta2 * g"),
    ],
    observed="Nine tenths of the mean are the newest gradient: it hardly remembers the others.",
    change="Keep `beta1` of the old mean, and add `1 - beta1` of the gradient.",
)
adam_update.mistake(
    "the gradient is added in full",
    edits=[("(1 - beta1) * gradient", "gradient"), ("(1 - beta2) * gradient**2", "gradient**2")],
    observed="Your means grow to 10 times the gradient and 50 times its square.",
    change="Add a share only: `(1 - beta1) * gradient`.",
)
adam_update.mistake(
    "it is the square of the mean, not the mean of the squares",
    edits=[("beta2 * square + (1 - beta2) * gradient**2", "mean**2")],
    observed="Divided by its own size, the mean is 1 or -1: gradients that contradict each other "
    "move a weight as far as those that agree.",
    change="Keep a running mean of `gradient**2`: "
    "`square = beta2 * square + (1 - beta2) * gradient**2`.",
)
adam_update.mistake(
    "the mean of the squares is that of the gradients",
    edits=[("gradient**2", "gradient")],
    observed="Negative gradients give the root of a negative number, which is NaN.",
    change="Square the gradient: `gradient**2`.",
)

adam_update.mistake(
    "the whole mean is squared, not the gradient",
    edits=[
        (
            "beta2 * square + (1 - beta2) * gradient**2",
            "(beta2 * square + (1 - beta2) * gradient) ** 2",
        )
    ],
    observed="The second mean adds gradients to squares, and the sum is squared.",
    change="Square the gradient alone: `beta2 * square + (1 - beta2) * gradient**2`.",
)
adam_update.mistake(
    "the mean of the squares is one number",
    edits=[("gradient**2", "(gradient**2).mean()")],
    observed="All weights share one mean of squares, so those with large gradients move further.",
    change="Keep `gradient**2` for each number of the matrix, without `.mean()`: the mean runs "
    "over the steps.",
)
adam_update.mistake(
    "the means of the step before are not used",
    edits=[("beta1 * mean + ", ""), ("beta2 * square + ", "")],
    observed="The result does not depend on `mean` and `square`: they begin at 0 in every step.",
    change="Keep a share of the means that are given: `beta1 * mean + (1 - beta1) * gradient`.",
)
adam_update.mistake(
    "both means use `beta1`",
    edits=[("beta2 * square + (1 - beta2) * g", "beta1 * square + (1 - beta1) * g")],
    observed="The mean of the squares forgets as fast as that of the gradients.",
    change="Use `beta2` in the mean of the squares.",
)
for _betas in ("0.9, 0.98", "0.9, 0.999"):
    _rounded = _betas.replace("0.", ".").replace(", ", " and ")
    adam_update.mistake(
        f"the betas are always {_rounded}",
        edits=[("mean = beta1 *", f"beta1, beta2 = {_betas}\n    mean = beta1 *")],
        observed="With `beta1=0.8` and `beta2=0.95` nothing changes.",
        change="Use the arguments `beta1` and `beta2` instead of numbers.",
    )

# The update

adam_update.mistake(
    "eps is inside the root",
    edits=[("(corrected_square.sqrt() + eps)", "(corrected_square + eps).sqrt()")],
    observed="With `eps=0.1` weights move less far than they should; with 1e-9 only those with "
    "tiny gradients do.",
    change="Add `eps` to the root: `corrected_square.sqrt() + eps`.",
)
adam_update.mistake(
    "eps is not used",
    edits=[(" + eps", "")],
    observed="A weight whose gradient is 0 becomes NaN: 0 / 0.",
    change="Divide by `corrected_square.sqrt() + eps`.",
)
adam_update.mistake(
    "the root is missing",
    edits=[(".sqrt()", "")],
    observed="A weight with a small gradient moves far, one with a large gradient hardly at all.",
    change="Divide by the root of the mean of the squares.",
)
adam_update.mistake(
    "the weight moves along the gradient",
    edits=[("weight - rate", "weight + rate")],
    observed="The loss grows: the gradient points uphill.",
    change="Subtract.",
)
adam_update.mistake(
    "the gradient takes the place of its running mean",
    edits=[("rate * corrected_mean", "rate * gradient")],
    observed="The mean of the gradients is computed and not used. That is RMSProp, an older rule.",
    change="Move by `rate * corrected_mean / (...)`.",
)
adam_update.mistake(
    "nothing is divided by the root",
    edits=[(" / (corrected_square.sqrt() + eps)", "")],
    observed="How far a weight moves depends on the size of its gradient. That is gradient descent "
    "with momentum.",
    change="Divide by `corrected_square.sqrt() + eps`.",
)
adam_update.mistake(
    "only the weight is returned",
    edits=[("return weight, mean, square", "return weight")],
    observed="The two means are lost, and the next step needs them.",
    change="Return `weight, mean, square`.",
)
adam_update.mistake(
    "eps is added before the correction",
    edits=[("+ eps)", "+ eps / (1 - beta2**step) ** 0.5)")],
    observed="With `eps=0.1` weights move less far than they should: `eps` is added to the root "
    "that is not corrected yet, and so is divided with it.",
    change="Correct the mean of the squares first, and add `eps` to the root of the corrected one.",
)
adam_update.mistake(
    "eps is added to the quotient",
    edits=[("/ (corrected_square.sqrt() + eps)", "/ corrected_square.sqrt() + eps")],
    observed="A weight whose gradient is 0 becomes NaN: 0 / 0. Without brackets `eps` is added at "
    "the end.",
    change="Add brackets: `/ (corrected_square.sqrt() + eps)`.",
)
adam_update.mistake(
    "eps is a fixed number",
    edits=[("+ eps", "+ 1e-8")],
    observed="With `eps=0.1` nothing changes.",
    change="Use the argument `eps`.",
)
adam_update.mistake(
    "the learning rate is not used",
    edits=[("rate * corrected_mean", "corrected_mean")],
    observed="The first step moves each weight by 1, whatever `rate` is.",
    change="Multiply the step by `rate`.",
)
adam_update.mistake(
    "the new square has the share 1 - `beta1`",
    edits=[("(1 - beta2) * gradient**2", "(1 - beta1) * gradient**2")],
    observed="With 0.9 and 0.98 the running mean of the square grows five times as fast as it "
    "should.",
    change="The shares of old and new sum to 1: `beta2` and `1 - beta2`.",
)
adam_update.mistake(
    "the weight moves by the old mean",
    edits=[
        ("mean = beta1 *", "old_mean = mean\n    mean = beta1 *"),
        ("mean / (1", "old_mean / (1"),
    ],
    observed="The first step moves nothing: the mean of the step before is 0 then. The means that "
    "you return are right.",
    change="Compute the new mean of the gradient first, and correct that one.",
)
adam_update.mistake(
    "the old mean of the gradients gets the small share",
    edits=[("beta1 * mean + (1 - beta1) * gradient", "(1 - beta1) * mean + beta1 * gradient")],
    observed="Nine tenths of the mean are the newest gradient; the mean of the squares is right.",
    change="Keep `beta1` of the old mean, and add `1 - beta1` of the gradient.",
)
adam_update.mistake(
    "the old mean of the squares gets the small share",
    edits=[("beta2 * square + (1 - beta2) * g", "(1 - beta2) * square + beta2 * g")],
    observed="Nearly all of the mean of the squares is the newest square; the mean of the "
    "gradients is right.",
    change="Keep `beta2` of the old mean of the squares, and add `1 - beta2` of the new square.",
)
adam_update.mistake(
    "the corrections multiply",
    edits=[
        ("mean / (1 - beta1**step)", "mean * (1 - beta1**step)"),
        ("square / (1 - beta2**step)", "square * (1 - beta2**step)"),
    ],
    observed="The first step is half as long as it should be: both means begin at 0, and you "
    "make them smaller still.",
    change="Divide by `1 - beta1**step` and `1 - beta2**step`: the means are too small at first.",
)
adam_update.mistake(
    "the squares are added up to one number",
    edits=[("gradient**2", "(gradient**2).sum()")],
    observed="All weights share one sum of squares, the square of the gradient's length.",
    change="Keep `gradient**2` for each number of the matrix, without `.sum()` or `.norm()`.",
)
