"""What multi-head attention costs."""

import math

from transformer_course.checker.cases import Case, Property
from transformer_course.checker.exercise import exercise


@exercise(
    cases=[
        Case((4, 2, 3, 5)),
        Case((12, 3, 7, 4)),
        Case((6, 1, 2, 9)),
        Case((512, 8, 10, 20)),
    ],
    properties=[
        Property(
            "each count is a whole number",
            lambda value, case: all(count == int(count) for count in value.values()),
        ),
        Property(
            "there are as many stored weights as numbers in `weights`, "
            "of shape (1, heads, query, key)",
            lambda value, case: value["stored weights"] == math.prod(case.inputs[1:]),
        ),
    ],
    hints=[
        "Count piece by piece. A linear layer from d_model to d_model has d_model * d_model "
        "weights and d_model biases, and meets how many vectors? Two of the four projections act "
        "on the query's positions, two on the memory's.",
        "A projection of n vectors takes n * d_model * d_model multiplications. One score in one "
        "head takes d_k of them. Over all heads that makes heads * d_k = d_model for each pair of "
        "positions; the weighted means take as many again.",
        '`"multiplications": 2 * (query + key) * d_model**2 + 2 * query * key * d_model`; the '
        "textbook path stores one weight for each head, query and key.",
    ],
)
def attention_cost(d_model: int, heads: int, query: int, key: int) -> dict[str, int]:
    """Count the parameters, the multiplications for one sentence, and the stored weights."""
    projections = 2 * (query + key) * d_model * d_model
    scores = means = query * key * d_model
    return {
        "parameters": 4 * (d_model * d_model + d_model),
        "multiplications": projections + scores + means,
        "stored weights": heads * query * key,
    }
