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
