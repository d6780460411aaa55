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
