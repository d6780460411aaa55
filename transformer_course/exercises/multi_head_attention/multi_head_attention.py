"""Multi-head attention: project, split, attend, merge, project."""

import torch
from torch import Tensor, nn

from transformer_course import model
from transformer_course.checker.cases import (
    Case,
    Property,
    gradients,
    in_double_precision,
    vectors,
)
from transformer_course.checker.exercise import exercise
from transformer_course.exercises import own
from transformer_course.exercises.attention.scaled_dot_product_attention import (
    scaled_dot_product_attention,
)
from transformer_course.exercises.multi_head_attention.split_heads import split_heads


def _self_attention(x: Tensor, mask: Tensor) -> Case:
    return Case((x, x, mask), construct=(x.shape[-1], 2))


def _twins(x: Tensor, change: slice) -> Tensor:
    """Return the sentence twice; the second one has other vectors in some positions."""
    other = x.clone()
    other[:, change] += 1
    return torch.cat([x, other])


_WORDS = vectors(1, 5, 8)
_LENGTHS = torch.tensor([[True, True, True, False], [True, True, True, True]])
# The first word of the second sentence may look nowhere, not even at itself.
_EMPTY_ROW = _LENGTHS[:, None, None] & model.causal_mask(4)
_EMPTY_ROW[1, 0, 0] = False


def _depends_on_sight_alone(value: Tensor, case: Case) -> bool:
    """Whether equal queries that may see the same vectors, in any order, get the same output."""
    query, memory, mask = (*case.inputs, torch.tensor(True))[:3]
    allowed = mask.expand(len(query), 1, query.shape[1], memory.shape[1])[:, 0]
    first: dict[tuple, Tensor] = {}
    for sentence, place in torch.cartesian_prod(*map(torch.arange, query.shape[:2])).tolist():
        visible = memory[sentence][allowed[sentence, place]].tolist()
        sight = (*query[sentence, place].tolist(), *sorted(map(tuple, visible)))
        output = value[sentence, place]
        if not torch.allclose(first.setdefault(sight, output), output, atol=1e-4):
            return False
    return True


@exercise(
    reference=model.MultiHeadAttention,
    parts={
        "own.split_heads": split_heads,
        "own.scaled_dot_product_attention": scaled_dot_product_attention,
    },
    cases=[
        Case((vectors(1, 2, 4),) * 2, construct=(4, 2), training=True),
        Case(
            (vectors(3, 5, 12), vectors(3, 4, 12, seed=1), vectors(5, 4) > -0.5),
            construct=(12, 2),
        ),
        Case(
            # The same questions to the same memory, which is in reverse the second time.
            (_WORDS.expand(3, -1, -1), torch.cat([_WORDS + 1, _WORDS.flip(1) + 1, _WORDS**2])),
            construct=(8, 4),
        ),
        Case(
            (
                vectors(1, 5, 6).expand(2, -1, -1),
                _twins(vectors(1, 3, 6), slice(1, 2)),
                torch.tensor([True, False, True]).expand(2, 1, 1, 3),
            ),
            construct=(6, 2),
        ),
        _self_attention(_twins(_WORDS, slice(3, 5)), model.causal_mask(5)),
        _self_attention(vectors(2, 4, 10), _EMPTY_ROW),
        Case(
            (vectors(3, 2, 6), vectors(3, 2, 6, seed=1)),
            construct=(6, 3),
            observe=in_double_precision,
            looks_at="the same module and numbers in float64",
        ),
        Case(
            (vectors(2, 2, 4), vectors(2, 3, 4, seed=1), torch.tensor([True, True, False])[None]),
            construct=(4, 2),
            observe=gradients,
            looks_at="the gradients of both arguments and of all parameters",
        ),
    ],
    properties=[
        Property(
            "the output depends on the query and on the vectors that it may see, not on their "
            "order and not on what the mask hides",
            _depends_on_sight_alone,
        ),
    ],
    hints=[
        "Write down the five steps of the formula: project, split, attend, merge, project. Which "
        "of them take `query`, which take `memory`?",
        "The queries come from `query`, keys and values from `memory`. Project the whole vectors "
        "first, then `own.split_heads`; the attention of lesson 2 handles all heads at once.",
        "`q = own.split_heads(self.query_projection(query), self.heads)`, k and v alike from "
        "`memory`; `own.scaled_dot_product_attention(q, k, v, mask)` returns output and "
        "weights; then `own.merge_heads` and `self.output_projection`.",
    ],
)
class MultiHeadAttention(nn.Module):
    """Project, split into heads, attend in each, merge, project."""

    def __init__(self, d_model: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.query_projection = nn.Linear(d_model, d_model)
        self.key_projection = nn.Linear(d_model, d_model)
        self.value_projection = nn.Linear(d_model, d_model)
        self.output_projection = nn.Linear(d_model, d_model)

    def forward(self, query: Tensor, memory: Tensor, mask: Tensor | None = None) -> Tensor:
        """Let each position of ``query`` gather what it needs from ``memory``."""
        q = own.split_heads(self.query_projection(query), self.heads)
        k = own.split_heads(self.key_projection(memory), self.heads)
        v = own.split_heads(self.value_projection(memory), self.heads)
        output, _ = own.scaled_dot_product_attention(q, k, v, mask)
        return self.output_projection(own.merge_heads(output))


# The commonest ones first: pairs of them are recognised too. The others have a file of their own.

MultiHeadAttention.mistake(
    "the heads are split by `view` without a transpose",
    edits=[
        ("length, heads, d_model // heads).transpose(1, 2)", "heads, length, d_model // heads)")
    ],
    observed="With two heads and two positions, head 0 sees the two halves of position 0 and "
    "nothing of position 1.",
    change="`view(batch, length, heads, d_k)`, then `transpose(1, 2)`; or `own.split_heads`.",
)
MultiHeadAttention.mistake(
    "the heads are merged by `reshape` without a transpose",
    edits=[("own.merge_heads(output)", "output.reshape(output.shape[0], output.shape[2], -1)")],
    observed="With two heads and two positions, position 0 of your output holds head 0's results "
    "for both positions, and nothing of head 1.",
    change="`transpose(1, 2)` first, then join the last two axes; or `own.merge_heads`.",
)
MultiHeadAttention.mistake(
    "the output is not projected",
    edits=[("self.output_projection(own", "(own")],
    observed="The weights of `output_projection` have no influence: the heads' results lie side by "
    "side and never mix.",
    change="Return `self.output_projection(...)` of the merged heads.",
)
MultiHeadAttention.mistake(
    "the scores are divided by sqrt(d_model)",
    edits=[("(query), self.heads)", "(query), self.heads) / math.sqrt(self.heads)")],
    observed="Your weights are flatter than they should be: a dot product in a head has d_k "
    "terms, so its spread grows with sqrt(d_k).",
    change="Divide by the root of the width of one head, `d_model // heads`.",
)
MultiHeadAttention.mistake(
    "the scores are not scaled",
    edits=[(" / math.sqrt(query.shape[-1])", "")],
    observed="Your weights are sharper than they should be.",
    change="Divide the scores by the root of the width of one head, `d_model // heads`.",
)
MultiHeadAttention.mistake(
    "the scores are divided by d_k: the root is missing, or taken out twice",
    edits=[("math.sqrt(query.shape[-1])", "query.shape[-1]")],
    observed="Your weights are flatter than they should be.",
    change="Divide once, by `math.sqrt(d_k)`; `own.scaled_dot_product_attention` has it already.",
)
MultiHeadAttention.mistake(
    "the mask is forgotten",
    edits=[("(q, k, v, mask)", "(q, k, v)")],
    observed="Without a mask everything is right; with one, hidden positions keep their weight.",
    change="Pass `mask` on to the attention.",
)
MultiHeadAttention.mistake(
    "the mask is read the wrong way round",
    edits=[("lowest = torch", "mask = ~mask\n        lowest = torch")],
    observed="All weight lies on the positions that the mask hides.",
    change="True means may attend, for `own.scaled_dot_product_attention` and for fused attention "
    "too: pass them `mask` as it is. `masked_fill` fills where it gets True: give it `~mask`.",
)
MultiHeadAttention.mistake(
    "the memory is ignored",
    edits=[
        ("self.key_projection(memory)", "self.key_projection(query)"),
        ("self.value_projection(memory)", "self.value_projection(query)"),
    ],
    observed="The output does not depend on `memory`: keys and values are made from `query`. "
    "Where the two are the same tensor, as in self-attention, nobody notices.",
    change="Project `memory` to get keys and values.",
)
MultiHeadAttention.mistake(
    "query and memory have swapped their roles",
    edits=[
        ("self.query_projection(query)", "self.query_projection(memory)"),
        ("self.key_projection(memory)", "self.key_projection(query)"),
        ("self.value_projection(memory)", "self.value_projection(query)"),
    ],
    observed="Your output has one position for each position of `memory`.",
    change="`query` asks; keys and values come from `memory`.",
)
MultiHeadAttention.mistake(
    "the softmax runs over the queries",
    edits=[("own.softmax(scores)", "scores.softmax(dim=2)")],
    observed="For each key the weights sum to 1 over the queries; they should for each query.",
    change="Use `softmax(dim=-1)`, over the keys.",
)
MultiHeadAttention.mistake(
    "the softmax runs over the heads",
    edits=[("own.softmax(scores)", "scores.softmax(dim=1)")],
    observed="For each pair of positions the weights of all heads together sum to 1.",
    change="Use `softmax(dim=-1)`, over the keys; with four axes `dim=1` is the heads.",
)
MultiHeadAttention.mistake(
    "a query with nothing to attend to becomes NaN",
    edits=[
        ("(~mask, lowest)", "(~mask, -math.inf)"),
        ("weights.masked_fill(~mask, 0.0)", "weights"),
    ],
    observed="In one case a row of the mask is False everywhere, and the softmax of nothing but "
    "minus infinity is 0 / 0.",
    change="Let such a query get zeros, as `own.scaled_dot_product_attention` does.",
)
MultiHeadAttention.mistake(
    "a query with nothing to attend to gets the mean of what is hidden",
    edits=[("weights.masked_fill(~mask, 0.0)", "weights")],
    observed="In one case a row of the mask is False everywhere. All its scores are then equally "
    "low, so the softmax gives each hidden position the same weight.",
    change="Set the weights to 0 where the mask is False once more, after the softmax.",
)
MultiHeadAttention.mistake(
    "the mask acts after the softmax",
    edits=[("scores.masked_fill(~mask, lowest)", "scores")],
    observed="Hidden positions get no weight, but what is left does not sum to 1.",
    change="Fill the hidden scores before the softmax, so that the others share all the weight.",
)
MultiHeadAttention.mistake(
    "hidden scores become 0 instead of minus infinity",
    edits=[("(~mask, lowest)", "(~mask, 0)"), ("weights.masked_fill(~mask, 0.0)", "weights")],
    observed="A score of 0 is an ordinary score: hidden positions keep some weight.",
    change="Fill them with minus infinity before the softmax.",
)
MultiHeadAttention.mistake(
    "the weights are returned too",
    edits=[
        ("output, _", "output, weights"),
        ("merge_heads(output))", "merge_heads(output)), weights"),
    ],
    observed="You return a pair, the output and the weights.",
    change="Return the output alone.",
)
MultiHeadAttention.mistake(
    "there is dropout on the output",
    edits=[
        (
            "self.output_projection(own",
            "(lambda x: F.dropout(self.output_projection(x), 0.1, self.training))(own",
        )
    ],
    observed="In training mode two calls with the same arguments differ.",
    change="Leave it out: formula (1) has none, and where the model wants dropout, in lesson 5, a "
    "layer around this one adds it.",
)
MultiHeadAttention.mistake(
    "the query is added to the output",
    edits=[("merge_heads(output))", "merge_heads(output)) + query")],
    observed="Your output is the right one plus `query`.",
    change="Return the attention's output alone; the layer around it, in lesson 5, adds the two.",
)
MultiHeadAttention.mistake(
    "nothing is projected before the attention",
    edits=[
        ("self.query_projection(query)", "(query)"),
        ("self.key_projection(memory)", "(memory)"),
        ("self.value_projection(memory)", "(memory)"),
    ],
    observed="The weights of `query_projection`, `key_projection` and `value_projection` have no "
    "influence: each head sees a fixed piece of the vectors.",
    change="Project first, then split: `own.split_heads(self.query_projection(query), "
    "self.heads)`.",
)
MultiHeadAttention.mistake(
    "keys are blended instead of values",
    edits=[("self.value_projection(memory)", "self.key_projection(memory)")],
    observed="The weights of `value_projection` have no influence: the output is a mean of keys.",
    change="Make the values by `self.value_projection(memory)`, and pass query, key, value in "
    "this order.",
)
