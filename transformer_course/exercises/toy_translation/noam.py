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
