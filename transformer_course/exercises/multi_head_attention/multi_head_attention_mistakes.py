"""The rarer mistakes in multi-head attention; the commonest are with the exercise."""

from transformer_course.exercises.multi_head_attention.multi_head_attention import (
    MultiHeadAttention,
)
from transformer_course.exercises.start_here.softmax import softmax

# Other ways to split and merge.

MultiHeadAttention.mistake(
    "the transpose is missing both when splitting and when merging",
    edits=[
        ("length, heads, d_model // heads).transpose(1, 2)", "heads, length, d_model // heads)"),
        ("own.merge_heads(output)", "output.reshape(output.shape[0], output.shape[2], -1)"),
    ],
    observed="The two errors cancel where nothing is mixed: if each position attends only to "
    "itself, all is right. But a head sees one part of the sentence only, so words that are far "
    "apart never meet.",
    change="Use `transpose(1, 2)` after `view` when splitting, and before joining when merging.",
)
MultiHeadAttention.mistake(
    "the heads come after the length when they attend",
    edits=[(".transpose(1, 2)", "")],
    observed="After the split the shape is (batch, length, heads, d_k). Attention works on the "
    "last two axes, so the heads of one position attend to each other.",
    change="Add `.transpose(1, 2)` when splitting, or use `own.split_heads`.",
)
MultiHeadAttention.mistake(
    "the heads of a position attend to each other, and no position to another",
    edits=[(".transpose(1, 2)", ""), ("own.merge_heads(output)", "output.flatten(2)")],
    observed="The last two axes are (heads, d_k) during the attention, so no position learns "
    "about another.",
    change="Move the length next to d_k with `.transpose(1, 2)`, and back before you merge.",
)
MultiHeadAttention.mistake(
    "`view` is used after `transpose`",
    edits=[
        (
            "own.merge_heads(output)",
            "output.transpose(1, 2).view(output.shape[0], output.shape[2], -1)",
        )
    ],
    observed="torch refuses: a transpose leaves the numbers where they lie, and `view` cannot "
    "move them.",
    change="Use `.flatten(2)` or `.reshape(...)`, which copy; or `own.merge_heads`.",
)
MultiHeadAttention.mistake(
    "the features are dealt out to the heads in turn, and collected in turn",
    edits=[
        ("heads, d_model // heads)", "d_model // heads, heads).transpose(2, 3)"),
        ("own.merge_heads(output)", "output.permute(0, 2, 3, 1).flatten(2)"),
    ],
    observed="The last axis is cut into (d_k, heads), when splitting and when merging. A model "
    "would learn this as well, but weights trained elsewhere would not fit.",
    change="Cut it into (heads, d_k): head 0 takes the first d_k features.",
)
MultiHeadAttention.mistake(
    "the features are dealt out to the heads in turn, but collected piece by piece",
    edits=[("heads, d_model // heads)", "d_model // heads, heads).transpose(2, 3)")],
    observed="The last axis is cut into (d_k, heads) when splitting, but joined as (heads, d_k).",
    change="Cut it into (heads, d_k): head 0 takes the first d_k features.",
)
MultiHeadAttention.mistake(
    "the number of heads and the width of a head are exchanged",
    edits=[("heads, d_model // heads)", "d_model // heads, heads)")],
    observed="With d_model = 12 and 2 heads there are 6 heads of width 2.",
    change="There are `heads` pieces, each `d_model // heads` wide.",
)
MultiHeadAttention.mistake(
    "the vectors are never split: the axis for the heads has length 1",
    edits=[("view(batch, length, heads, d_model // heads).transpose(1, 2)", "unsqueeze(1)")],
    observed="There is one head over the whole width, however many are asked for, so each query "
    "has one distribution.",
    change="Split queries, keys and values: `own.split_heads(..., self.heads)`.",
)
MultiHeadAttention.mistake(
    "the vectors are never split",
    edits=[
        ("x.view(batch, length, heads, d_model // heads).transpose(1, 2)", "x"),
        ("output, _ = own.scaled_dot_product_attention", "output = model.fused_attention"),
        ("own.merge_heads(output)", "output"),
    ],
    observed="There is one head over the whole width, so each query has one distribution, and "
    "masks with an axis for the heads do not fit.",
    change="Split queries, keys and values: `own.split_heads(..., self.heads)`.",
)
MultiHeadAttention.mistake(
    "the memory is cut into as many positions as the query has",
    edits=[
        (
            "own.split_heads(self.key_projection(memory), self.heads)",
            "self.key_projection(memory).view(q.transpose(1, 2).shape).transpose(1, 2)",
        ),
        (
            "own.split_heads(self.value_projection(memory), self.heads)",
            "self.value_projection(memory).view(q.transpose(1, 2).shape).transpose(1, 2)",
        ),
    ],
    observed="Everything is right until `memory` has another length than `query`.",
    change="Take the length of each tensor from itself: `memory.shape[1]` for keys and values.",
)
MultiHeadAttention.mistake(
    "the heads are averaged or added instead of joined",
    edits=[("own.merge_heads(output)", "output.mean(dim=1)")],
    observed="`output_projection` wants vectors of width d_model and gets one of width d_k for all "
    "heads together.",
    change="Lay the heads' results side by side with `own.merge_heads`; the output projection "
    "decides how to mix them.",
)
MultiHeadAttention.mistake(
    "output and weights are merged together",
    edits=[("output, _ =", "output =")],
    observed="`own.scaled_dot_product_attention` returns two tensors, the output and the "
    "weights, and both went on as one.",
    change="Take them apart: `output, weights = own.scaled_dot_product_attention(...)`.",
)
MultiHeadAttention.mistake(
    "the weights are merged instead of the output",
    edits=[("output, _ =", "_, output =")],
    observed="`own.scaled_dot_product_attention` returns the output first and the weights "
    "second; you went on with the weights, and no value reaches the result.",
    change="Go on with the first: `output, weights = own.scaled_dot_product_attention(...)`.",
)


# Other scores and weights.

MultiHeadAttention.mistake(
    "the scores are divided by the root of the number of heads",
    edits=[
        (" / math.sqrt(query.shape[-1])", ""),
        ("(query), self.heads)", "(query), self.heads) / math.sqrt(self.heads)"),
    ],
    observed="The temperature changes with the number of heads instead of their width.",
    change="Divide by the root of the width of one head, `d_model // heads`.",
)
MultiHeadAttention.mistake(
    "the scores are divided by the root of the number of keys",
    edits=[("math.sqrt(query.shape[-1])", "math.sqrt(key.shape[-2])")],
    observed="The temperature changes with the length of `memory` instead of the width of a head.",
    change="Divide by the root of the width of one head, `d_model // heads`.",
)
MultiHeadAttention.mistake(
    "there is no softmax",
    edits=[("own.softmax(scores)", "scores")],
    observed="The scores themselves are the weights: they can be negative and do not sum to 1.",
    change="Take the softmax over the keys.",
)


# Other masks.

MultiHeadAttention.mistake(
    "the mask is added to the scores as 0 and 1",
    edits=[
        ("scores.masked_fill(~mask, lowest)", "(scores + mask.to(scores.dtype))"),
        ("weights.masked_fill(~mask, 0.0)", "weights"),
    ],
    observed="Hidden positions keep most of their weight: their scores are lower by 1. This is "
    "what fused attention does with a mask that is not boolean.",
    change="Leave the mask boolean, without `.float()`; or fill with minus infinity where it is "
    "False.",
)
MultiHeadAttention.mistake(
    "every attention is causal",
    edits=[
        (
            "query.shape[-1])\n",
            "query.shape[-1])\n    mask = torch.ones(scores.shape[-2:], dtype=torch.bool).tril()\n",
        )
    ],
    observed="A position never attends to later ones, whatever the mask says, and without a mask.",
    change="Leave out `is_causal=True` and `own.causal_mask`: the caller says with `mask` what may "
    "be seen.",
)
MultiHeadAttention.mistake(
    "attention is causal where there is no mask",
    edits=[
        (
            "query.shape[-1])\n",
            "query.shape[-1])\n    if mask is None:\n"
            "        mask = torch.ones(scores.shape[-2:], dtype=torch.bool).tril()\n",
        )
    ],
    observed="With a mask everything is right. Without one, a position does not attend to later "
    "ones.",
    change="No mask means that everything may be seen: leave out `is_causal`.",
)
MultiHeadAttention.mistake(
    "the mask gets one axis more than it should",
    edits=[("(q, k, v, mask)", "(q, k, v, mask if mask is None else mask.unsqueeze(1))")],
    observed="The masks given here already have 2 or 4 axes, and one more was inserted for the "
    "heads.",
    change="Pass `mask` on as it is: it has an axis for the heads, or broadcasts to them.",
)
MultiHeadAttention.mistake(
    "the mask loses its axis for the heads",
    edits=[("lowest = torch", "mask = mask.squeeze(1)\n        lowest = torch")],
    observed="A mask of shape (batch, query, key) lines up with (heads, query, key) of the scores: "
    "sentence 1's mask acts on head 1. torch complains only where there are not as many heads as "
    "sentences.",
    change="Leave the mask as it is, (batch, 1, query, key); one of three axes needs "
    "`mask.unsqueeze(1)`.",
)
MultiHeadAttention.mistake(
    "the mask gets one axis too many",
    edits=[
        ("output, _ = own.scaled_dot_product_attention", "output = model.fused_attention"),
        ("(q, k, v, mask)", "(q, k, v, mask if mask is None else mask.unsqueeze(1))"),
    ],
    observed="The masks given here already have 2 or 4 axes, and one more was inserted for the "
    "heads.",
    change="Pass `mask` on as it is: it has an axis for the heads, or broadcasts to them.",
)


# Other sources of queries, keys and values.

MultiHeadAttention.mistake(
    "the query is ignored",
    edits=[("self.query_projection(query)", "self.query_projection(memory)")],
    observed="The output does not depend on `query`, and has as many positions as `memory`.",
    change="Project `query` to get the queries: the output has one position for each of them.",
)
MultiHeadAttention.mistake(
    "the keys are made from `query`",
    edits=[("self.key_projection(memory)", "self.key_projection(query)")],
    observed="Self-attention is right. With another memory the weights do not depend on it, and "
    "with a memory of another length the shapes do not fit.",
    change="Project `memory` to get the keys.",
)
MultiHeadAttention.mistake(
    "the values are made from `query`",
    edits=[("self.value_projection(memory)", "self.value_projection(query)")],
    observed="Self-attention is right. With another memory the output blends vectors of the query "
    "itself, and with a memory of another length the shapes do not fit.",
    change="Project `memory` to get the values.",
)
MultiHeadAttention.mistake(
    "`forward` takes query, key and value apart",
    edits=[
        ("memory: Tensor, mask", "memory: Tensor, value: Tensor, mask"),
        ("self.value_projection(memory)", "self.value_projection(value)"),
    ],
    observed="It is called with `(query, memory, mask)`: what you take for the values is the mask, "
    "or missing.",
    change="Write `forward(self, query, memory, mask=None)`; keys and values both come from "
    "`memory`.",
)
MultiHeadAttention.mistake(
    "queries and keys change places in the attention",
    edits=[("(q, k, v", "(k, q, v")],
    observed="Your scores have a row for each key; there should be one for each query. With a "
    "memory of another length the shapes do not fit.",
    change="Pass the queries first, then the keys, then the values.",
)


# Other projections.

MultiHeadAttention.mistake(
    "the queries are not projected",
    edits=[("self.query_projection(query)", "(query)")],
    observed="The weights of `query_projection` have no influence.",
    change="Use `self.query_projection(query)`.",
)
MultiHeadAttention.mistake(
    "the keys are not projected",
    edits=[("self.key_projection(memory)", "(memory)")],
    observed="The weights of `key_projection` have no influence.",
    change="Use `self.key_projection(memory)`.",
)
MultiHeadAttention.mistake(
    "the values are not projected",
    edits=[("self.value_projection(memory)", "(memory)")],
    observed="The weights of `value_projection` have no influence.",
    change="Use `self.value_projection(memory)`.",
)
MultiHeadAttention.mistake(
    "the queries go through the keys' projection",
    edits=[("self.query_projection(query)", "self.key_projection(query)")],
    observed="The weights of `query_projection` have no influence. In self-attention every score "
    "is then the same in both directions.",
    change="Each has its own: `self.query_projection(query)`.",
)
MultiHeadAttention.mistake(
    "the keys go through the queries' projection",
    edits=[("self.key_projection(memory)", "self.query_projection(memory)")],
    observed="The weights of `key_projection` have no influence. In self-attention every score "
    "is then the same in both directions.",
    change="Each has its own: `self.key_projection(memory)`.",
)
MultiHeadAttention.mistake(
    "one projection makes queries, keys and values",
    edits=[
        ("self.key_projection(memory)", "self.query_projection(memory)"),
        ("self.value_projection(memory)", "self.query_projection(memory)"),
    ],
    observed="Only `query_projection` has an influence on them.",
    change="Each has its own: `query_projection`, `key_projection`, `value_projection`.",
)
MultiHeadAttention.mistake(
    "the output goes through `value_projection` once more",
    edits=[("self.output_projection(own", "self.value_projection(own")],
    observed="The weights of `output_projection` have no influence.",
    change="The merged heads go through `self.output_projection`.",
)
MultiHeadAttention.mistake(
    "the projections of queries and keys are swapped",
    edits=[
        ("self.query_projection(query)", "self.key_projection(query)"),
        ("self.key_projection(memory)", "self.query_projection(memory)"),
    ],
    observed="`query_projection` acts on `memory` and `key_projection` on `query`. A model would "
    "learn this as well, but weights trained elsewhere would not fit.",
    change="Use `self.query_projection(query)` and `self.key_projection(memory)`.",
)
MultiHeadAttention.mistake(
    "the projections of keys and values are swapped",
    edits=[
        ("self.key_projection(memory)", "self.value_projection(memory)"),
        ("self.value_projection(memory)", "self.key_projection(memory)"),
    ],
    observed="`value_projection` makes the keys and `key_projection` the values. A model would "
    "learn this as well, but weights trained elsewhere would not fit.",
    change="Use `self.key_projection(memory)` for the keys, and pass query, key, value in this "
    "order.",
)
MultiHeadAttention.mistake(
    "the pieces are projected instead of the whole vectors",
    edits=[
        (
            "own.split_heads(self.query_projection(query), self.heads)",
            "self.query_projection(own.split_heads(query, self.heads))",
        ),
        (
            "own.split_heads(self.key_projection(memory), self.heads)",
            "self.key_projection(own.split_heads(memory, self.heads))",
        ),
        (
            "own.split_heads(self.value_projection(memory), self.heads)",
            "self.value_projection(own.split_heads(memory, self.heads))",
        ),
    ],
    observed="A projection wants vectors of width d_model and gets a head's pieces, of width d_k: "
    "it comes after the split, or the heads were not merged before it.",
    change="Keep this order: project, split, attend, merge, project. A smaller projection would "
    "fit a piece, but then each head would know only its own piece of each vector.",
)

# What training needs.

MultiHeadAttention.shares(
    softmax,
    "no gradient passes",
    edits=[("merge_heads(output))", "merge_heads(output)).detach()")],
)
MultiHeadAttention.mistake(
    "queries and keys learn nothing: the weights are cut off from them",
    edits=[("return weights @ value", "return weights.detach() @ value")],
    observed="All results are right, but no gradient reaches `query_projection` and "
    "`key_projection`.",
    change="Keep a detached copy of the weights for pictures if you like, and go on with the "
    "weights themselves.",
)
MultiHeadAttention.mistake(
    "the values are made from the keys",
    edits=[
        (
            "self.value_projection(memory)",
            "self.value_projection(self.key_projection(memory))",
        )
    ],
    observed="What goes into `value_projection` has been through `key_projection` already.",
    change="Both project the memory: `self.value_projection(memory)`.",
)
MultiHeadAttention.mistake(
    "the values go through the queries' projection",
    edits=[("self.value_projection(memory)", "self.query_projection(memory)")],
    observed="The weights of `value_projection` have no influence.",
    change="Each has its own: `self.value_projection(memory)`.",
)
MultiHeadAttention.mistake(
    "the mask has its rows and columns exchanged",
    edits=[("(q, k, v, mask)", "(q, k, v, mask if mask is None else mask.mT)")],
    observed="With a causal mask each position sees itself and the future; a mask for queries and "
    "keys of different number does not fit.",
    change="Pass `mask` as it is: a row for each query, a column for each key.",
)
MultiHeadAttention.mistake(
    "the projections have no biases",
    edits=[
        (
            "query_projection = nn.Linear(d_model, d_model)",
            "query_projection = nn.Linear(d_model, d_model, bias=False)",
        ),
        (
            "key_projection = nn.Linear(d_model, d_model)",
            "key_projection = nn.Linear(d_model, d_model, bias=False)",
        ),
        (
            "value_projection = nn.Linear(d_model, d_model)",
            "value_projection = nn.Linear(d_model, d_model, bias=False)",
        ),
        (
            "output_projection = nn.Linear(d_model, d_model)",
            "output_projection = nn.Linear(d_model, d_model, bias=False)",
        ),
    ],
    observed="Your module has no parameter `query_projection.bias`, and none of the other three.",
    change="Leave out `bias=False`.",
)
MultiHeadAttention.mistake(
    "the projections of queries, keys and values have no biases",
    edits=[
        (
            "query_projection = nn.Linear(d_model, d_model)",
            "query_projection = nn.Linear(d_model, d_model, bias=False)",
        ),
        (
            "key_projection = nn.Linear(d_model, d_model)",
            "key_projection = nn.Linear(d_model, d_model, bias=False)",
        ),
        (
            "value_projection = nn.Linear(d_model, d_model)",
            "value_projection = nn.Linear(d_model, d_model, bias=False)",
        ),
    ],
    observed="Your module has no parameter `query_projection.bias`, `key_projection.bias` or "
    "`value_projection.bias`.",
    change="Leave out `bias=False`.",
)
MultiHeadAttention.mistake(
    "the biases of queries, keys and values are left out",
    edits=[
        ("self.query_projection(query)", "(query @ self.query_projection.weight.T)"),
        ("self.key_projection(memory)", "(memory @ self.key_projection.weight.T)"),
        ("self.value_projection(memory)", "(memory @ self.value_projection.weight.T)"),
    ],
    observed="`query_projection.bias`, `key_projection.bias` and `value_projection.bias` have no "
    "influence.",
    change="Call the layers, `self.query_projection(query)`, or add each bias to its product.",
)
MultiHeadAttention.mistake(
    "the weights of queries, keys and values lie the wrong way round, and their biases are left "
    "out",
    edits=[
        ("self.query_projection(query)", "(query @ self.query_projection.weight)"),
        ("self.key_projection(memory)", "(memory @ self.key_projection.weight)"),
        ("self.value_projection(memory)", "(memory @ self.value_projection.weight)"),
    ],
    observed="nn.Linear stores its matrix transposed: what you compute is `x @ weight`, what it "
    "computes is `x @ weight.T + bias`. Your result does not depend on the three biases.",
    change="Call the layers, `self.query_projection(query)`. Who wants columns for each head takes "
    "them of `weight.T`, and adds the bias.",
)
MultiHeadAttention.mistake(
    "the weights of all projections are used with their axes the wrong way round",
    edits=[
        (
            "self.query_projection(query)",
            "(query @ self.query_projection.weight + self.query_projection.bias)",
        ),
        (
            "self.key_projection(memory)",
            "(memory @ self.key_projection.weight + self.key_projection.bias)",
        ),
        (
            "self.value_projection(memory)",
            "(memory @ self.value_projection.weight + self.value_projection.bias)",
        ),
        (
            "self.output_projection(own.merge_heads(output))",
            "own.merge_heads(output) @ self.output_projection.weight + self.output_projection.bias",
        ),
    ],
    observed="nn.Linear stores its matrix transposed: what you compute is `x @ weight + bias`, "
    "what it computes is `x @ weight.T + bias`.",
    change="Call the layers, `self.query_projection(query)`, or write `weight.T`.",
)
MultiHeadAttention.mistake(
    "the heads take turns, feature by feature, when they are merged",
    edits=[
        ("own.merge_heads(output)", "output.permute(0, 2, 3, 1).flatten(2)"),
        ("d_model = x.shape", "d_model = x.size()"),  # one edit would be one more choice in a gap
    ],
    observed="Each merged vector begins with feature 0 of every head; it should begin with all "
    "features of head 0.",
    change="Join `(heads, d_k)` in this order: `transpose(1, 2)`, then `flatten(2)`; or "
    "`own.merge_heads`.",
)
