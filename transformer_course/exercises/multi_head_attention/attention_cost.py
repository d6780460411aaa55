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


attention_cost.mistake(
    "the biases are not among the parameters",
    edits=[("d_model * d_model + d_model", "d_model * d_model")],
    observed="At d_model = 512 you count 2048 parameters too few.",
    change="Each of the four projections has d_model biases as well.",
)
attention_cost.mistake(
    "one bias is counted for all four projections",
    edits=[
        ("4 * (d_model * d_model + d_model)", "4 * d_model * d_model + d_model"),
    ],
    observed="At d_model = 512 you count 1536 parameters too few.",
    change="Each of the four projections has d_model biases: `4 * (d_model**2 + d_model)`.",
)
attention_cost.mistake(
    "the parameters of the output projection are missing",
    edits=[("4 *", "3 *")],
    observed="At d_model = 512 you count 787 968 parameters, those of three projections.",
    change="Count four projections: query, key, value and output.",
)
attention_cost.mistake(
    "every head has projections of full width",
    edits=[("4 *", "(3 * heads + 1) *")],
    observed="Your parameters grow with the number of heads.",
    change="The heads share d_model: each projects to d_model / heads features, and all of them "
    "together fill one matrix of d_model by d_model.",
)
attention_cost.mistake(
    "each head projects only its own piece of the vector",
    edits=[
        (
            "4 * (d_model * d_model + d_model)",
            "3 * d_model * d_model // heads + d_model * d_model + 4 * d_model",
        )
    ],
    observed="At d_model = 512 and 8 heads you count 98 304 weights for queries, keys and values "
    "instead of 786 432.",
    change="Every head reads the whole vector: project from d_model to d_model, then split.",
)
attention_cost.mistake(
    "the projections are left out of the multiplications",
    edits=[("projections = 2 * (query + key) * d_model * d_model", "projections = 0")],
    observed="You count the scores and the weighted means only. At d_model = 512 and a few dozen "
    "positions the projections are most of the work.",
    change="Add the four projections: each takes d_model * d_model multiplications for a vector.",
)
attention_cost.mistake(
    "only the projections are counted",
    edits=[("projections + scores + means", "projections")],
    observed="Your multiplications lack the part that grows with query * key.",
    change="Add the scores and the weighted means: query * key * d_model each.",
)
attention_cost.mistake(
    "each projection is counted for one vector",
    edits=[("2 * (query + key)", "4")],
    observed="The projections take 4 * d_model * d_model multiplications however long the "
    "sentence is.",
    change="Multiply by the number of vectors: `query` of them twice, `key` of them twice.",
)
attention_cost.mistake(
    "the work of the output projection is missing",
    edits=[("2 * (query + key)", "(query + 2 * key)")],
    observed="Your multiplications lack query * d_model * d_model.",
    change="The output projection acts once more on each of the query's positions.",
)
attention_cost.mistake(
    "all four projections act on the query's positions",
    edits=[("2 * (query + key)", "4 * query")],
    observed="The work of the projections does not depend on the length of the memory.",
    change="Keys and values are made from the memory: `key` vectors, not `query`.",
)
attention_cost.mistake(
    "three projections act on the memory's positions",
    edits=[("2 * (query + key)", "(query + 3 * key)")],
    observed="The output projection is counted for `key` vectors; it acts on the output, which "
    "has `query`.",
    change="Queries and output have `query` positions, keys and values have `key`.",
)
attention_cost.mistake(
    "the biases are counted as multiplications",
    edits=[("(query + key) * d_model * d_model", "(query + key) * d_model * (d_model + 1)")],
    observed="You count 2 * (query + key) * d_model multiplications too many.",
    change="A bias is added, not multiplied: leave it out here.",
)
attention_cost.mistake(
    "each multiplication counts twice",
    edits=[(": projections", ": 2 * (projections"), ("+ means", "+ means)")],
    observed="You count a multiplication and an addition as two: those are FLOPs.",
    change="Count the multiplications alone: half of it.",
)
attention_cost.mistake(
    "the weighted means are not counted",
    edits=[("scores + means", "scores")],
    observed="Your multiplications lack query * key * d_model once.",
    change="Scores are one half of the attention; blending the values takes as many again.",
)
attention_cost.mistake(
    "the scores and the weighted means are counted for one head",
    edits=[("means = query * key * d_model", "means = query * key * d_model // heads")],
    observed="Your multiplications get fewer with more heads.",
    change="There are `heads` heads of width d_model / heads: d_model multiplications for each "
    "pair of positions.",
)
attention_cost.mistake(
    "every head compares vectors of full width",
    edits=[("means = query * key * d_model", "means = heads * query * key * d_model")],
    observed="Your multiplications grow with the number of heads.",
    change="A head's vectors have d_model / heads features: the heads share the work.",
)
attention_cost.mistake(
    "a score is counted as one multiplication",
    edits=[("means = query * key * d_model", "means = query * key * heads")],
    observed="In your count, scores and weighted means do not grow with d_model.",
    change="The dot product of two vectors of width d_k takes d_k multiplications.",
)
attention_cost.mistake(
    "the weights of one head are stored",
    edits=[("heads * query * key", "query * key")],
    observed="Your stored weights do not depend on the number of heads.",
    change="Each head has its own weight for each query and key: multiply by `heads`.",
)
attention_cost.mistake(
    "the stored weights are those of self-attention on the query",
    edits=[("heads * query * key", "heads * query * query")],
    observed="Your stored weights do not depend on the length of the memory.",
    change="There is one weight for each query AND each key: heads * query * key.",
)
attention_cost.mistake(
    "the stored weights are multiplied by the width",
    edits=[("heads * query * key", "d_model * query * key")],
    observed="Your stored weights grow with d_model.",
    change="A weight is one number, however wide the vectors are: heads * query * key.",
)
attention_cost.mistake(
    "the weights of the projections are counted as stored weights",
    edits=[("heads * query * key", "4 * d_model * d_model")],
    observed="Your stored weights do not depend on the lengths.",
    change="Attention weights are meant, the numbers after the softmax: heads * query * key.",
)
attention_cost.mistake(
    "`heads` comes last among the arguments",
    edits=[("heads: int, query: int, key: int", "query: int, key: int, heads: int")],
    observed="Your function takes (d_model, query, key, heads), and is called with `heads` in the "
    "second place.",
    change="Keep the order: `(d_model, heads, query, key)`.",
)
attention_cost.mistake(
    "`^` is taken for a power",
    edits=[
        ("(d_model * d_model + d_model)", "((d_model ^ 2) + d_model)"),
        ("(query + key) * d_model * d_model", "(query + key) * (d_model ^ 2)"),
    ],
    observed="In Python `^` is XOR: `512 ^ 2` is 514.",
    change="Write `d_model**2`.",
)
attention_cost.mistake(
    "the scale or the softmax is counted as well",
    edits=[("+ means", "+ means + heads * query * key")],
    observed="You count heads * query * key multiplications too many.",
    change="Leave out what is done once for each score, such as the division by sqrt(d_k).",
)
attention_cost.mistake(
    "the width of a head is fixed at 64",
    edits=[
        (
            "4 * (d_model * d_model + d_model)",
            "4 * d_model * heads * 64 + 3 * heads * 64 + d_model",
        ),
        ("(query + key) * d_model * d_model", "(query + key) * d_model * heads * 64"),
        ("means = query * key * d_model", "means = query * key * heads * 64"),
    ],
    observed="Right for d_model = 512 and 8 heads only, the sizes of the paper.",
    change="A head is `d_model // heads` wide.",
)
attention_cost.mistake(
    "the whole work is counted once for each head",
    edits=[(": projections + scores", ": heads * (projections + scores"), ("+ means", "+ means)")],
    observed="You count `heads` times as many multiplications as there are.",
    change="All heads together project to d_model features, and share them in the scores.",
)
attention_cost.mistake(
    "the bias counts as one number for each projection",
    edits=[("d_model * d_model + d_model", "d_model * d_model + 1")],
    observed="At d_model = 512 you count 2044 parameters too few.",
    change="A projection has a bias for each of its d_model outputs.",
)
attention_cost.mistake(
    "the parameters of one projection are counted",
    edits=[("4 *", "1 *")],
    observed="At d_model = 512 you count 262 656 parameters, those of one projection.",
    change="Count four projections: query, key, value and output.",
)
attention_cost.mistake(
    "the stored weights are summed over the keys",
    edits=[("heads * query * key", "heads * query")],
    observed="You count one stored number for each head and query.",
    change="There is one weight for each query AND each key: heads * query * key.",
)
attention_cost.mistake(
    "scores and weights are both stored",
    edits=[("heads * query * key", "2 * heads * query * key")],
    observed="You count twice as many stored numbers as there are weights.",
    change="Count the weights alone, the numbers after the softmax.",
)
attention_cost.mistake(
    "three projections act on the query's positions",
    edits=[("2 * (query + key)", "(3 * query + key)")],
    observed="With as many queries as keys all is right, otherwise not.",
    change="The query's positions are projected twice, before and after; keys and values come from "
    "the memory's.",
)
attention_cost.mistake(
    "all four projections act on the memory's positions",
    edits=[("2 * (query + key)", "4 * key")],
    observed="The work of the projections does not depend on the length of the query.",
    change="Queries and output have `query` positions, keys and values have `key`.",
)
attention_cost.mistake(
    "scores and weighted means are those of self-attention on the query",
    edits=[("query * key * d_model", "query * query * d_model")],
    observed="The work of the attention itself does not depend on the length of the memory.",
    change="Each query is compared with each key: query * key * d_model for the scores, and as "
    "much for the means.",
)
attention_cost.mistake(
    "the stored weights are those of self-attention on the memory",
    edits=[("heads * query * key", "heads * key * key")],
    observed="Your stored weights do not depend on the length of the query.",
    change="There is one weight for each query AND each key: heads * query * key.",
)
attention_cost.mistake(
    "the output projection is counted without its bias",
    edits=[("4 * (d_model * d_model + d_model)", "4 * d_model * d_model + 3 * d_model")],
    observed="At d_model = 512 you count 512 parameters too few.",
    change="Each of the four projections has d_model biases, the output's too.",
)
attention_cost.mistake(
    "everything is counted as self-attention on the query",
    edits=[
        ("2 * (query + key)", "4 * query"),
        ("query * key * d_model", "query * query * d_model"),
        ("heads * query * key", "heads * query * query"),
    ],
    observed="Nothing that you count depends on the length of the memory.",
    change="Keys and values come from the memory's `key` positions, and each query has a score for "
    "each key.",
)
attention_cost.mistake(
    "three projections are counted, all on the query's positions",
    edits=[("2 * (query + key)", "3 * query")],
    observed="The work of the projections does not depend on the length of the memory, and the "
    "output's is missing.",
    change="Queries and output have `query` positions, keys and values have `key`.",
)
attention_cost.mistake(
    "two projections are counted instead of four",
    edits=[("2 * (query + key)", "(query + key)")],
    observed="You count half of the work of the projections.",
    change="The query's positions are projected twice, before and after; the memory's twice as "
    "well, to keys and to values.",
)
attention_cost.mistake(
    "the projections are counted for each pair of positions",
    edits=[("2 * (query + key)", "4 * query * key")],
    observed="The work of your projections grows with query * key.",
    change="A vector is projected once, whoever looks at it: 2 * query + 2 * key of them.",
)
attention_cost.mistake(
    "the weighted means are counted for one head",
    edits=[("scores + means", "scores + means // heads")],
    observed="Your multiplications get fewer with more heads.",
    change="All heads together take query * key * d_model for the means, as for the scores.",
)
attention_cost.mistake(
    "scores and weighted means are those of self-attention on the memory",
    edits=[("query * key * d_model", "key * key * d_model")],
    observed="The work of the attention itself does not depend on the length of the query.",
    change="Each query is compared with each key: query * key * d_model for the scores, and as "
    "much for the means.",
)
attention_cost.mistake(
    "every projection is counted once for each head",
    edits=[("4 *", "4 * heads *")],
    observed="Your parameters grow with the number of heads.",
    change="The heads share d_model: all of them together fill one matrix of d_model by d_model.",
)
attention_cost.mistake(
    "every projection leads from one piece to one piece",
    edits=[("d_model * d_model + d_model", "d_model * (d_model // heads) + d_model")],
    observed="At d_model = 512 and 8 heads you count 131 072 weights instead of 1 048 576.",
    change="Every head reads the whole vector, and the output projection mixes all of them: "
    "d_model by d_model each.",
)
attention_cost.mistake(
    "query and key are added in the stored weights instead of multiplied",
    edits=[("heads * query * key", "heads * (query + key)")],
    observed="Twice as many queries give less than twice as many of your stored weights.",
    change="There is one weight for each query AND each key: heads * query * key.",
)
attention_cost.mistake(
    "the parameters are counted as stored weights",
    edits=[("heads * query * key", "4 * (d_model * d_model + d_model)")],
    observed="Your stored weights do not depend on the lengths.",
    change="Attention weights are meant, the numbers after the softmax: heads * query * key.",
)
attention_cost.mistake(
    "the stored weights are multiplied by the width of a head",
    edits=[("heads * query * key", "query * key * d_model // heads")],
    observed="Your stored weights get fewer with more heads.",
    change="A weight is one number, however wide the vectors are: heads * query * key.",
)
