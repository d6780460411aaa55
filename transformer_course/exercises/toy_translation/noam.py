"""The paper's learning rate at each step."""

from transformer_course.checker.cases import Case, Property
from transformer_course.checker.exercise import exercise
from transformer_course.translation.training import schedule


@exercise(
    reference=schedule.noam,
    cases=[
        Case((1, 512, 4000)),
        Case((4000, 512, 4000)),
        Case((100_000, 512, 4000)),
        Case((7, 64, 20)),
        Case((50, 64, 20)),
        Case((9, 16, 4)),
    ],
    properties=[
        Property("the learning rate is positive", lambda value, case: value > 0),
    ],
    hints=[
        "There are two branches: one rises with the step, one falls with it. They meet where "
        "step = warmup, and the smaller of the two is taken.",
        "The rising branch is `step * warmup ** -1.5`, the falling one `step ** -0.5`.",
        "`d_model ** -0.5 * min(step ** -0.5, step * warmup ** -1.5)`",
    ],
)
def noam(step: int, d_model: int, warmup: int) -> float:
    """Return the learning rate at a step, counted from 1."""
    width = d_model**-0.5
    rising = step * warmup**-1.5
    falling = step**-0.5
    return width * min(rising, falling)


noam.mistake(
    "the larger branch is taken",
    edits=[("min(", "max(")],
    observed="Step 1 gives 0.044 at d_model=512: training would begin with its largest step.",
    change="Use `min` instead of `max`.",
)
noam.mistake(
    "there is no warm-up",
    edits=[("min(rising, falling)", "falling")],
    observed="The rate falls from step 1 on.",
    change="Take the smaller of `step ** -0.5` and `step * warmup ** -1.5`.",
)
noam.mistake(
    "the rate never falls",
    edits=[("min(rising, falling)", "rising")],
    observed="The rate keeps rising after the warm-up: there is no falling branch, or its exponent "
    "has lost its minus.",
    change="Take the smaller of `step ** -0.5` and `step * warmup ** -1.5`.",
)
noam.mistake(
    "the branches are added",
    edits=[("min(rising, falling)", "(rising + falling)")],
    observed="At step = warmup, where both branches are equal, the rate is twice as high.",
    change="Take the smaller of the two with `min`.",
)
noam.mistake(
    "a wider model gets a larger step",
    edits=[("d_model**-0.5", "d_model**0.5")],
    observed="The rate is d_model times too high: the exponent of `d_model` lacks its minus.",
    change="Use `d_model ** -0.5`.",
)
noam.mistake(
    "it is divided by d_model instead of its root",
    edits=[("d_model**-0.5", "d_model**-1")],
    observed="The rate is sqrt(d_model) times too low.",
    change="Use `d_model ** -0.5`.",
)
noam.mistake(
    "the width of the model is missing",
    edits=[("width = d_model**-0.5", "width = 1")],
    observed="The rate does not depend on `d_model`.",
    change="Multiply by `d_model ** -0.5`.",
)
noam.mistake(
    "the warm-up has the wrong exponent",
    edits=[("warmup**-1.5", "warmup**-0.5")],
    observed="The branches do not meet at step = warmup: the rising one uses `warmup ** -0.5`.",
    change="Use `step * warmup ** -1.5`, which equals `warmup ** -0.5` at step = warmup.",
)
noam.mistake(
    "the warm-up is only a share",
    edits=[("step * warmup**-1.5", "step / warmup")],
    observed="The rising branch is `step / warmup`, which is 1 at the end of the warm-up, far "
    "above the falling branch.",
    change="Use `step * warmup ** -1.5`.",
)
noam.mistake(
    "the warm-up is multiplied by 1.5",
    edits=[("warmup**-1.5", "(1.5 * warmup) ** -1")],
    observed="The rising branch divides by `1.5 * warmup`; it is a power in the formula.",
    change="Write `warmup ** 1.5`, with two asterisks, in the divisor.",
)
noam.mistake(
    "the rising branch is rounded down",
    edits=[("step * warmup**-1.5", "step // warmup**1.5")],
    observed="The rate is 0 during the warm-up: `//` is the division of integers.",
    change="Divide with `/`.",
)
noam.mistake(
    "the rate stays at its peak",
    edits=[("falling = step**-0.5", "falling = warmup**-0.5")],
    observed="The warm-up is right. At step 100,000 the rate is still that of step 4,000.",
    change="After the warm-up it falls as `step ** -0.5`.",
)
noam.mistake(
    "the steps are counted anew after the warm-up",
    edits=[
        (
            "falling = step**-0.5",
            "falling = (step - warmup if step > warmup else step) ** -0.5",
        )
    ],
    observed="The warm-up is right; after it you use `step - warmup`.",
    change="Use `step` in both branches: they meet at step = warmup by themselves.",
)
noam.mistake(
    "the rate is relative to its peak",
    edits=[("min(rising, falling)", "min(rising, falling) * warmup**0.5")],
    observed="The `min(...)` is 1 at step = warmup; it should be `warmup ** -0.5`. The rate is "
    "`warmup ** 0.5` times too high.",
    change="Take the smaller of `step ** -0.5` and `step * warmup ** -1.5`.",
)
noam.mistake(
    "the branches are multiplied",
    edits=[("min(rising, falling)", "rising * falling")],
    observed="The rate is proportional to `step ** 0.5` and never falls.",
    change="Take the smaller of the two with `min`.",
)
noam.mistake(
    "`step` and `warmup` have changed places in the rising branch",
    edits=[("step * warmup**-1.5", "warmup * step**-1.5")],
    observed="The branch that should rise is `warmup * step ** -1.5`, which falls.",
    change="Use `step * warmup ** -1.5`.",
)
noam.mistake(
    "the rate falls as 1 / step",
    edits=[("step**-0.5", "step**-1")],
    observed="After the warm-up the rate falls too fast: four times the steps give a quarter of "
    "it instead of a half.",
    change="Use `step ** -0.5`.",
)
noam.mistake(
    "the step is counted one too high",
    edits=[("width = d_model", "step = step + 1\n    width = d_model")],
    observed="Step 1 gives twice the rate that it should: it is treated as step 2.",
    change="Steps already count from 1: use `step` as it is.",
)
noam.mistake(
    "`d_model` counts in the falling branch only",
    edits=[("falling = step", "falling = width * step"), ("width * min", "min")],
    observed="During the warm-up the rate does not depend on `d_model`.",
    change="Put the `min(...)` in brackets and multiply all of it by `d_model ** -0.5`.",
)
noam.mistake(
    "`d_model` counts in the rising branch only",
    edits=[("rising = step", "rising = width * step"), ("width * min", "min")],
    observed="After the warm-up the rate does not depend on `d_model`.",
    change="Put the `min(...)` in brackets and multiply all of it by `d_model ** -0.5`.",
)
noam.mistake(
    "the step is taken for the last argument",
    edits=[
        ("width = d_model", "d_model, warmup, step = step, d_model, warmup\n    width = d_model")
    ],
    observed="The arguments come as `(step, d_model, warmup)`; you read them as "
    "`(d_model, warmup, step)`.",
    change="Write `def noam(step, d_model, warmup)`.",
)
noam.mistake(
    "`step` and `d_model` have changed places",
    edits=[("width = d_model", "step, d_model = d_model, step\n    width = d_model")],
    observed="The arguments come as `(step, d_model, warmup)`. In the falling branch both have the "
    "exponent -0.5, so it is right; the rising one is not.",
    change="Take the step first: `def noam(step, d_model, warmup)`.",
)
noam.mistake(
    "the step is counted from 0",
    edits=[("width = d_model", "step = step - 1\n    width = d_model")],
    observed="Step 1 divides by 0: you subtract 1 from the step.",
    change="Steps already count from 1: use `step` as it is.",
)
noam.mistake(
    "brackets are missing around the exponent -1/2",
    edits=[("step**-0.5", "step**-1 / 2")],
    observed="`step ** -1 / 2` is half of 1 / step: Python takes the power before it divides.",
    change="Write `step ** -0.5`.",
)
# With `if` in place of `min`, what is wrong in the rising branch shows in other ways.
_RISING = {
    "has lost its minus": ("warmup**-1.5", "warmup**1.5"),
    "is -1/2": ("warmup**-1.5", "warmup**-0.5"),
}
for _wrong, _edit in _RISING.items():
    for _until, _comparison in {"before": "<", "up to": "<="}.items():
        noam.mistake(
            f"the exponent of the warm-up {_wrong}, in a branch for the steps {_until} its end",
            edits=[
                _edit,
                ("min(rising, falling)", f"(rising if step {_comparison} warmup else falling)"),
            ],
            observed="After the warm-up all is right; within it the rate is far too high.",
            change="Use `step * warmup ** -1.5` within the warm-up.",
        )
noam.mistake(
    "the exponent applies to the product of step and warm-up",
    edits=[("step * warmup**-1.5", "(step * warmup) ** -1.5")],
    observed="The branch that should rise is `(step * warmup) ** -1.5`, which falls.",
    change="Only the warm-up has the exponent: `step * warmup ** -1.5`.",
)
noam.mistake(
    "the share of the warm-up is multiplied by 1.5",
    edits=[("step * warmup**-1.5", "step / warmup * 1.5")],
    observed="The rising branch is `1.5 * step / warmup`; 1.5 is an exponent in the formula.",
    change="Write `step / warmup ** 1.5`, with two asterisks.",
)
noam.mistake(
    "brackets are missing around all exponents",
    edits=[
        ("d_model**-0.5", "d_model**-1 / 2"),
        ("step**-0.5", "step**-1 / 2"),
        ("warmup**-1.5", "warmup**-3 / 2"),
    ],
    observed="`step ** -1 / 2` is half of 1 / step: Python takes the power before it divides.",
    change="Write `-0.5` and `-1.5`, or `** (-1 / 2)`.",
)
noam.mistake(
    "brackets are missing around the exponent of `d_model`",
    edits=[("d_model**-0.5", "d_model**-1 / 2")],
    observed="`d_model ** -1 / 2` is half of 1 / d_model: Python takes the power before it "
    "divides.",
    change="Write `d_model ** -0.5`.",
)
noam.mistake(
    "brackets are missing around the exponent of the warm-up",
    edits=[("warmup**-1.5", "warmup**-3 / 2")],
    observed="`warmup ** -3 / 2` is half of `warmup ** -3`: Python takes the power before it "
    "divides.",
    change="Write `warmup ** -1.5`.",
)
noam.mistake(
    "it is the mean of the branches",
    edits=[("min(rising, falling)", "(rising + falling) / 2")],
    observed="At step = warmup all is right, because both branches are equal there; before and "
    "after it the larger one raises the rate.",
    change="Take the smaller of the two with `min`.",
)
