"""How many numbers a feed-forward network holds."""

from transformer_course import model
from transformer_course.checker.cases import Case, Property
from transformer_course.checker.exercise import exercise


@exercise(
    cases=[Case((2, 3)), Case((4, 16)), Case((10, 6)), Case((512, 2048))],
    properties=[
        Property("it is a whole number", lambda value, case: value == int(value)),
    ],
    hints=[
        "Count each layer on its own. How many numbers does its matrix hold, and how many its "
        "bias?",
        "A linear layer from a to b features has a * b weights, and one bias for each feature "
        "that comes out: b.",
        "`d_model * d_ff + d_ff` in the first layer, `d_ff * d_model + d_model` in the second.",
    ],
)
def feed_forward_parameters(d_model: int, d_ff: int) -> int:
    """Return how many numbers the two layers hold, biases included."""
    expand = d_model * d_ff + d_ff
    contract = d_ff * d_model + d_model
    return expand + contract


# What mistakes in feed_forward_parameters.toml are made with.


def _first_axes(d_model: int, d_ff: int) -> int:
    return sum(p.shape[0] for p in model.FeedForward(d_model, d_ff).parameters())
