"""ALiBi: what each head takes off the scores of distant keys."""

import torch
from torch import Tensor

from transformer_course.checker.cases import Case, Property
from transformer_course.checker.exercise import exercise


def _itself_loses_nothing(value: Tensor, case: Case) -> bool:
    return bool((value.diagonal(dim1=1, dim2=2) == 0).all() and (value <= 0).all())


@exercise(
    cases=[
        Case((2, 3)),
        Case((4, 4)),
        Case((8, 5)),
        Case((1, 2)),
        Case((16, 6)),
    ],
    properties=[
        Property("a query's own place loses nothing, and none gains", _itself_loses_nothing)
    ],
    hints=[
        "A slope for each head, a distance for each query and key, and a product of the two.",
        "Head number 1 of n has slope `2 ** (-8 / n)`, and each further head the same factor once "
        "more. Distances: `(position - position[:, None]).abs()`.",
        "`slopes = 2 ** (-8 * torch.arange(1, heads + 1) / heads)`; then "
        "`-slopes[:, None, None] * distance`.",
    ],
)
def alibi_bias(heads: int, length: int) -> Tensor:
    """Return minus slope times distance, [heads, query, key]; heads are a power of two."""
    slopes = 2 ** (-8 * torch.arange(1, heads + 1) / heads)
    position = torch.arange(length)
    distance = (position - position[:, None]).abs()
    return -slopes[:, None, None] * distance


alibi_bias.mistake(
    "distant keys gain instead of losing",
    edits=[("return -slopes", "return slopes")],
    observed="The numbers grow with the distance, so attention would prefer what is far away.",
    change="Return minus slope times distance.",
)
alibi_bias.mistake(
    "the first slope is 1",
    edits=[("arange(1, heads + 1)", "arange(heads)")],
    observed="Each head has the slope that belongs to the head before it.",
    change="Count the heads from 1: `torch.arange(1, heads + 1)`.",
)
alibi_bias.mistake(
    "all heads have the same slope",
    edits=[("torch.arange(1, heads + 1) / heads", "torch.ones(heads) / heads")],
    observed="All heads look equally far; one head alone is right.",
    change="Head h has slope `2 ** (-8 * h / heads)`.",
)
alibi_bias.mistake(
    "slopes are halved from head to head, whatever their number",
    edits=[("-8 * torch.arange(1, heads + 1) / heads", "-torch.arange(1.0, heads + 1)")],
    observed="Eight heads are right, other numbers are not: the last slope should always be 1/256.",
    change="The exponent is `-8 * h / heads`.",
)
alibi_bias.mistake(
    "the exponent is not divided by the number of heads",
    edits=[("heads + 1) / heads", "heads + 1.0)")],
    observed="One head is right; with more, the slopes fall far below 1/256.",
    change="The exponent is `-8 * h / heads`.",
)
alibi_bias.mistake(
    "slopes are 1, 1/2, 1/3 and so on",
    edits=[("2 ** (-8 * torch.arange(1, heads + 1) / heads)", "1 / torch.arange(1, heads + 1)")],
    observed="The first slope is 1, and they fall ever more slowly.",
    change="They are powers of one number: `2 ** (-8 * h / heads)`.",
)
alibi_bias.mistake(
    "slopes are powers of e",
    edits=[
        (
            "2 ** (-8 * torch.arange(1, heads + 1) / heads)",
            "torch.exp(-8 * torch.arange(1, heads + 1) / heads)",
        )
    ],
    observed="The slopes are too small: the last one is 0.0003 instead of 1/256.",
    change="Take powers of 2.",
)
alibi_bias.mistake(
    "slopes come in reverse order",
    edits=[("-slopes[", "-slopes.flip(0)[")],
    observed="The first head has the gentlest slope; it should have the steepest.",
    change="Head h, counted from 1, has slope `2 ** (-8 * h / heads)`.",
)
alibi_bias.mistake(
    "the distance keeps its sign",
    edits=[("(position - position[:, None]).abs()", "(position[:, None] - position)")],
    observed="Keys before the query lose, keys after it gain.",
    change="Take the absolute value of the distance.",
)
alibi_bias.mistake(
    "the distance keeps its sign, and keys before the query gain",
    edits=[(".abs()", "")],
    observed="Keys before the query gain, keys after it lose.",
    change="Take the absolute value of the distance.",
)
alibi_bias.mistake(
    "the slopes meet the queries, not the heads",
    edits=[("slopes[:, None, None]", "slopes[:, None]")],
    observed="With 4 heads and 4 tokens you get one matrix whose rows have different slopes; other "
    "sizes do not fit.",
    change="Give the slopes two more axes: `slopes[:, None, None]`.",
)
alibi_bias.mistake(
    "the heads stay on the last axis",
    edits=[("-slopes[:, None, None] * distance", "-slopes * distance[:, :, None]")],
    observed="Your result has shape [query, key, heads].",
    change="Put the heads first: `slopes[:, None, None] * distance`.",
)
alibi_bias.mistake(
    "the distance is squared",
    edits=[(".abs()", ".square()")],
    observed="Distances 0 and 1 are right, larger ones lose too much.",
    change="The bias falls by the same step for each token: take the absolute value.",
)
alibi_bias.mistake(
    "the key's position takes the place of its distance",
    edits=[("(position - position[:, None]).abs()", "position.expand(length, -1)")],
    observed="All rows are the same: late keys lose, wherever the query stands.",
    change="Subtract the query's position: `(position - position[:, None]).abs()`.",
)
alibi_bias.mistake(
    "it is multiplied by 1 less the distance",
    edits=[("* distance", "* (distance - 1)")],
    observed="A query's own place gains, and its neighbours lose nothing.",
    change="A query's own place has distance 0.",
)
alibi_bias.mistake(
    "keys after the query are masked",
    edits=[("* distance", "* distance + torch.full((length, length), -torch.inf).triu(1)")],
    observed="Above the diagonal there is minus infinity.",
    change="Return the bias alone: the causal mask, where one is needed, comes from elsewhere.",
)
alibi_bias.mistake(
    "keys after the query lose nothing",
    edits=[("(position - position[:, None]).abs()", "(position[:, None] - position).clamp(min=0)")],
    observed="Above the diagonal there are zeros, as if a causal mask would hide these keys.",
    change="Distances count in both directions: take the absolute value.",
)
alibi_bias.mistake(
    "keys before the query lose nothing",
    edits=[(".abs()", ".clamp(min=0)")],
    observed="Below the diagonal there are zeros.",
    change="Distances count in both directions: take the absolute value.",
)
alibi_bias.mistake(
    "every query counts as the last token",
    edits=[
        ("(position - position[:, None]).abs()", "(length - 1 - position).expand(length, -1)"),
    ],
    observed="All rows are the same: only the last key loses nothing, wherever the query stands.",
    change="Subtract the query's position: `(position - position[:, None]).abs()`.",
)
alibi_bias.mistake(
    "the exponent is rounded down to a whole number",
    edits=[("2 ** (-8", "2.0 ** (-8"), ("heads + 1) / heads", "heads + 1) // heads")],
    observed="Up to eight heads are right; with 16, two heads in a row have the same slope.",
    change="Divide with `/`: `-8 * h / heads`.",
)
alibi_bias.mistake(
    "only -8 is in the exponent",
    edits=[("(-8", "-8"), ("/ heads)", "/ heads")],
    observed="One head is right; with more, the slopes grow from head to head by the same step.",
    change="Write brackets around the whole exponent: `2 ** (-8 * h / heads)`.",
)
alibi_bias.mistake(
    "slopes grow, as the exponent has no minus",
    edits=[("(-8", "(8")],
    observed="The last slope is 256 instead of 1/256.",
    change="The exponent is negative: `2 ** (-8 * h / heads)`.",
)
alibi_bias.mistake(
    "the numbers are cut to whole ones",
    edits=[
        (
            "return -slopes[:, None, None] * distance",
            "return (-slopes[:, None, None] * distance).long()",
        )
    ],
    observed="Wherever slope times distance is below 1, you return 0.",
    change="Collect the result in a tensor of floats: leave out `dtype=torch.int64` and `.long()`.",
)
alibi_bias.mistake(
    "the 8 is missing in the exponent",
    edits=[("(-8 *", "(-1 *")],
    observed="The last slope is 1/2 instead of 1/256, whatever the number of heads.",
    change="The exponent is `-8 * h / heads`.",
)
alibi_bias.mistake(
    "a negative power of 2 is rounded to a whole number",
    edits=[("heads + 1) / heads", "heads + 1) // heads")],
    observed="All slopes are 0: in a tensor of whole numbers, `2 ** -1` is 0.",
    change="Divide with `/`, `-8 * h / heads`, which gives fractions.",
)
alibi_bias.mistake(
    "8 divided by the number of heads is rounded down",
    edits=[
        (
            "-8 * torch.arange(1, heads + 1) / heads",
            "-(8 // heads) * torch.arange(1.0, heads + 1)",
        )
    ],
    observed="Up to eight heads are right; with 16, `8 // heads` is 0 and all slopes are 1.",
    change="Divide with `/`: `-8 * h / heads`.",
)
alibi_bias.mistake(
    "there is one matrix for all heads",
    edits=[("slopes[:, None, None]", "slopes[0]")],
    observed="Your result has shape [query, key], and the slope of one head.",
    change="Each head has a slope: `slopes[:, None, None] * distance`.",
)
alibi_bias.mistake(
    "there is a row for the last query only",
    edits=[("* distance", "* distance[-1:]")],
    observed="Your result has shape [heads, 1, key]. That is enough where a causal model's softmax "
    "follows; here a row for each query is asked for.",
    change="Take the distances of all queries: `(position - position[:, None]).abs()`.",
)
alibi_bias.mistake(
    "distances are counted from 1",
    edits=[("* distance", "* (distance + 1)")],
    observed="A query's own place loses something, too.",
    change="A query's own place has distance 0.",
)
alibi_bias.mistake(
    "a softmax is applied",
    edits=[
        (
            "return -slopes[:, None, None] * distance",
            "return (-slopes[:, None, None] * distance).softmax(-1)",
        )
    ],
    observed="Each row of your matrices sums to 1.",
    change="Return the bias alone: it is added to the scores before the softmax.",
)
