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


feed_forward_parameters.mistake(
    "the biases are missing",
    edits=[
        ("d_model * d_ff + d_ff", "d_model * d_ff"),
        ("d_ff * d_model + d_model", "d_ff * d_model"),
    ],
    observed="At 512 and 2048 you count 2 097 152 instead of 2 099 712.",
    change="Each layer has one bias for each feature that comes out: d_ff and d_model.",
)
feed_forward_parameters.mistake(
    "the second layer's bias is missing",
    edits=[("d_ff * d_model + d_model", "d_ff * d_model")],
    observed="You count d_model too few.",
    change="The second layer has d_model biases as well.",
)
feed_forward_parameters.mistake(
    "the first layer's bias is missing",
    edits=[("d_model * d_ff + d_ff", "d_model * d_ff")],
    observed="You count d_ff too few.",
    change="The first layer has d_ff biases as well.",
)
feed_forward_parameters.mistake(
    "the second layer is counted like the first, with d_ff biases",
    edits=[("d_ff * d_model + d_model", "d_ff * d_model + d_ff")],
    observed="At 512 and 2048 you count 2 101 248 instead of 2 099 712.",
    change="The second layer leads back from d_ff to d_model: d_model features come out of it, and "
    "its bias has as many numbers.",
)
feed_forward_parameters.mistake(
    "both biases have d_model numbers",
    edits=[("d_model * d_ff + d_ff", "d_model * d_ff + d_model")],
    observed="At 512 and 2048 you count 2 098 176 instead of 2 099 712.",
    change="A bias has as many numbers as features come out of the layer: d_ff for the first.",
)
feed_forward_parameters.mistake(
    "there is one bias in each layer",
    edits=[
        ("d_model * d_ff + d_ff", "d_model * d_ff + 1"),
        ("d_ff * d_model + d_model", "d_ff * d_model + 1"),
    ],
    observed="You count 2 biases; each layer has one for every feature that comes out.",
    change="Add d_ff and d_model, not 1 and 1.",
)
feed_forward_parameters.mistake(
    "the weights of one layer are missing",
    edits=[("d_ff * d_model + d_model", "0 + d_model")],
    observed="At 512 and 2048 you count about one million instead of two.",
    change="Both layers have d_model * d_ff weights: one to expand, one to contract.",
)
feed_forward_parameters.mistake(
    "only the weights of one layer are counted",
    edits=[("return expand + contract", "return d_model * d_ff")],
    observed="At 512 and 2048 you count 1 048 576 instead of 2 099 712.",
    change="Add the layer that contracts, which has as many weights, and both biases.",
)
feed_forward_parameters.mistake(
    "there is one bias for the whole network",
    edits=[
        ("d_model * d_ff + d_ff", "d_model * d_ff"),
        ("d_ff * d_model + d_model", "d_ff * d_model + 1"),
    ],
    observed="You count 1 bias; each layer has one for every feature that comes out.",
    change="Add d_ff and d_model, not 1.",
)
feed_forward_parameters.mistake(
    "only the first layer is counted",
    edits=[("return expand + contract", "return d_model * d_ff + d_ff")],
    observed="At 512 and 2048 you count 1 050 624 instead of 2 099 712.",
    change="Add the layer that contracts: d_ff * d_model weights and d_model biases.",
)
feed_forward_parameters.mistake(
    "the width in between is always 4 * d_model",
    edits=[("    expand =", "    d_ff = 4 * d_model\n    expand =")],
    observed="Your count does not depend on `d_ff`.",
    change="Use `d_ff`; four times d_model is what the paper chose for it.",
)
feed_forward_parameters.mistake(
    "each layer's matrix is square",
    edits=[
        ("expand = d_model * d_ff", "expand = d_model * d_model"),
        ("contract = d_ff * d_model", "contract = d_ff * d_ff"),
    ],
    observed="You count d_model * d_model weights in one layer and d_ff * d_ff in the other.",
    change="Each matrix leads from one width to the other: d_model * d_ff numbers.",
)
feed_forward_parameters.mistake(
    "the widths are added instead of multiplied",
    edits=[
        ("expand = d_model * d_ff", "expand = d_model + d_ff"),
        ("contract = d_ff * d_model", "contract = d_ff + d_model"),
    ],
    observed="At 512 and 2048 you count a few thousand weights; there are two million.",
    change="A matrix that leads from d_model to d_ff features holds d_model * d_ff numbers.",
)
feed_forward_parameters.mistake(
    "bytes are counted",
    edits=[("return expand", "return 4 * (expand"), ("+ contract", "+ contract)")],
    observed="Your count is 4 times too large: a number in float32 takes 4 bytes.",
    change="Return how many numbers there are.",
)


def _first_axes(d_model: int, d_ff: int) -> int:
    return sum(p.shape[0] for p in model.FeedForward(d_model, d_ff).parameters())


feed_forward_parameters.mistake(
    "only the first axis of each tensor is counted",
    body=_first_axes,
    observed="At 512 and 2048 you count 5120; there are two million.",
    change="`p.numel()` counts all numbers of a tensor; `p.size(0)` and `len(p)` count its rows.",
    unless=r"(?s)\A(?!.*(size\(0\)|size\(dim=0|shape\[0\]|len\())",
)
feed_forward_parameters.mistake(
    "brackets are missing around d_model + 1 and d_ff + 1",
    edits=[
        ("d_model * d_ff + d_ff", "d_model + 1 * d_ff"),
        ("d_ff * d_model + d_model", "d_ff + 1 * d_model"),
    ],
    observed="Python multiplies before it adds: `d_model + 1 * d_ff` is `d_model + d_ff`.",
    change="Write `(d_model + 1) * d_ff` and `(d_ff + 1) * d_model`.",
    unless=r"(?s)\A(?=.)(?!.*\+\s*1\s*\*)",
)
feed_forward_parameters.mistake(
    "the two layers are multiplied instead of added",
    edits=[("return expand + contract", "return expand * contract")],
    observed="At 512 and 2048 you count about a million millions.",
    change="Add the numbers of the two layers.",
)
feed_forward_parameters.mistake(
    "the tensors are counted, not the numbers in them",
    edits=[
        ("expand = d_model * d_ff + d_ff", "expand = 2"),
        ("contract = d_ff * d_model + d_model", "contract = 2"),
    ],
    observed="You count 4, whatever the widths are: two matrices and two biases.",
    change="`p.numel()` counts the numbers of a tensor: sum it over all parameters.",
)
feed_forward_parameters.mistake(
    "a third matrix is counted, as in a gated network",
    edits=[("expand = d_model", "expand = d_model * d_ff + d_model")],
    observed="You count d_model * d_ff too many.",
    change="This network has two matrices: one to expand, one to contract.",
)
feed_forward_parameters.mistake(
    "a layer norm is counted too",
    edits=[("return expand", "return 2 * d_model + expand")],
    observed="You count 2 * d_model too many: a gain and a bias.",
    change="The norm is not part of this network; lesson 5 puts it around it.",
)
feed_forward_parameters.mistake(
    "each layer gets both biases",
    edits=[
        ("d_model * d_ff + d_ff", "d_model * d_ff + d_ff + d_model"),
        ("d_ff * d_model + d_model", "d_ff * d_model + d_model + d_ff"),
    ],
    observed="You count d_ff and d_model too many.",
    change="A layer has one bias for each feature that comes out: d_ff in the first, d_model in "
    "the second.",
)
feed_forward_parameters.mistake(
    "only the second layer is counted",
    edits=[("return expand + contract", "return contract")],
    observed="At 512 and 2048 you count 1 049 088 instead of 2 099 712.",
    change="Add the layer that expands: d_model * d_ff weights and d_ff biases.",
)
feed_forward_parameters.mistake(
    "a third layer is counted, with its bias, as in a gated network",
    edits=[("return expand", "return d_model * d_ff + d_ff + expand")],
    observed="You count d_model * d_ff + d_ff too many.",
    change="This network has two layers: one to expand, one to contract.",
)
feed_forward_parameters.mistake(
    "only the biases are counted",
    edits=[("return expand + contract", "return d_ff + d_model")],
    observed="At 512 and 2048 you count 2560; there are two million.",
    change="A matrix that leads from d_model to d_ff features holds d_model * d_ff numbers; there "
    "are two of them.",
)
feed_forward_parameters.mistake(
    "both widths grow by 1 in each layer",
    edits=[("return expand + contract", "return 2 * (d_model + 1) * (d_ff + 1)")],
    observed="At 512 and 2048 you count 2 102 274 instead of 2 099 712.",
    change="A bias adds one number for each feature that comes out: (d_model + 1) * d_ff in the "
    "first layer, (d_ff + 1) * d_model in the second.",
)
feed_forward_parameters.mistake(
    "both widths grow by 1, and one layer is counted",
    edits=[("return expand + contract", "return (d_model + 1) * (d_ff + 1)")],
    observed="At 512 and 2048 you count 1 051 137 instead of 2 099 712.",
    change="A bias adds one number for each feature that comes out: (d_model + 1) * d_ff in the "
    "first layer, (d_ff + 1) * d_model in the second. Add the two.",
)
