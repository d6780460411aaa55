"""Lesson 3: the exercises on heads, with their known mistakes."""

import math

import torch
from torch import Tensor, nn

from transformer_course import model
from transformer_course.exercises.cases import Case, Property, in_double_precision, vectors
from transformer_course.exercises.exercise import exercise

# --- split_heads -----------------------------------------------------------------------------


def _numbered(*shape: int) -> Tensor:
    """Return 0, 1, 2, ..., so that one sees where each number goes."""
    return torch.arange(math.prod(shape), dtype=torch.float32).reshape(shape)


@exercise(
    reference=model.split_heads,
    cases=[
        Case((_numbered(1, 3, 4), 2)),
        Case((_numbered(2, 3, 8), 4)),
        Case((_numbered(3, 5, 12).double(), 2)),
        Case((_numbered(2, 4, 12), 4)),
        Case((_numbered(2, 3, 5), 1)),
    ],
    properties=[
        Property(
            "no number is lost and none is added",
            lambda value, case: torch.equal(
                value.flatten().sort().values, case.inputs[0].flatten()
            ),
        ),
        Property(
            "head 0 holds the first d_k numbers of each vector",
            lambda value, case: torch.equal(
                value[:, 0], case.inputs[0][..., : case.inputs[0].shape[-1] // case.inputs[1]]
            ),
        ),
        Property(
            "no head mixes the positions: position 0 holds numbers of position 0 only",
            lambda value, case: torch.equal(
                value[:, :, 0].flatten(1).sort().values, case.inputs[0][:, 0]
            ),
        ),
    ],
    hints=[
        "Two steps: first cut the last axis into (heads, d_k), then bring the axes into the order "
        "(batch, heads, length, d_k). Which of the two changes the order of the numbers?",
        "`x.view(batch, length, heads, d_k)` cuts each vector and leaves all else in place. Only "
        "`transpose` may move the heads past the length.",
        "`x.view(batch, length, heads, d_model // heads).transpose(1, 2)`",
    ],
)
def split_heads(x: Tensor, heads: int) -> Tensor:
    """Cut each vector into pieces: (batch, length, d_model) to (batch, heads, length, d_k)."""
    batch, length, d_model = x.shape
    return x.view(batch, length, heads, d_model // heads).transpose(1, 2)


class _SplitSteps:
    """Splitting in steps, so that a mistake replaces one."""

    def cut(self, x: Tensor, heads: int) -> Tensor:
        return x.unflatten(-1, (heads, -1))  # (batch, length, heads, d_k)

    def arrange(self, pieces: Tensor) -> Tensor:
        return pieces.transpose(1, 2)

    def __call__(self, x: Tensor, heads: int) -> Tensor:
        return self.arrange(self.cut(x, heads))


@split_heads.mistake(
    "the final shape is asked of `view`, without a transpose",
    observed="The shape is right, but the vectors 0 1 2 3, 4 5 6 7 and 8 9 10 11 give head 0 the "
    "rows 0 1, 2 3 and 4 5: it holds all of position 0 and half of position 1, and never sees "
    "position 2.",
    change="`view` and `reshape` read the numbers in their old order: ask for `(batch, length, "
    "heads, d_k)`, then `transpose(1, 2)`.",
)
class _ViewOnly(_SplitSteps):
    def __call__(self, x: Tensor, heads: int) -> Tensor:
        batch, length, d_model = x.shape
        return x.reshape(batch, heads, length, d_model // heads)


@split_heads.mistake(
    "the heads stand behind the length",
    observed="Your result has shape (batch, length, heads, d_k): attention would compare the "
    "heads of one position, not the positions.",
    change="Add `.transpose(1, 2)`: attention works on the last two axes, (length, d_k).",
)
class _NotTransposed(_SplitSteps):
    def arrange(self, pieces: Tensor) -> Tensor:
        return pieces


@split_heads.mistake(
    "the heads come before the batch",
    observed="Your result has shape (heads, batch, length, d_k), as `torch.stack` makes it.",
    change="Keep the batch first: `torch.stack(pieces, dim=1)`.",
)
class _HeadsFirst(_SplitSteps):
    def arrange(self, pieces: Tensor) -> Tensor:
        return pieces.permute(2, 0, 1, 3)


@split_heads.mistake(
    "the heads are the last axis",
    observed="Your result has shape (batch, length, d_k, heads).",
    change="The order of the axes is (batch, heads, length, d_k).",
)
class _HeadsLast(_SplitSteps):
    def arrange(self, pieces: Tensor) -> Tensor:
        return pieces.transpose(2, 3)


@split_heads.mistake(
    "the length is the last axis",
    observed="Your result has shape (batch, heads, d_k, length).",
    change="Leave d_k last; attention itself transposes the keys.",
)
class _LengthLast(_SplitSteps):
    def arrange(self, pieces: Tensor) -> Tensor:
        return pieces.permute(0, 2, 3, 1)


@split_heads.mistake(
    "the wrong two axes are swapped",
    observed="Your result has shape (batch, d_k, heads, length): axes 1 and 3 were swapped.",
    change="Swap the length and the heads: `transpose(1, 2)`; axes are counted from 0.",
)
class _WrongAxes(_SplitSteps):
    def arrange(self, pieces: Tensor) -> Tensor:
        return pieces.transpose(1, 3)


@split_heads.mistake(
    "the length comes before the batch",
    observed="Your result has shape (length, heads, batch, d_k).",
    change="The batch is axis 0 of x and stays there.",
)
class _LengthFirst(_SplitSteps):
    def arrange(self, pieces: Tensor) -> Tensor:
        return pieces.permute(1, 2, 0, 3)


@split_heads.mistake(
    "the heads are folded into the batch",
    observed="Your result has shape (batch * heads, length, d_k). This works too, but then "
    "every mask must be repeated for each head.",
    change="Keep four axes: (batch, heads, length, d_k).",
)
class _Folded(_SplitSteps):
    def arrange(self, pieces: Tensor) -> Tensor:
        return pieces.transpose(1, 2).flatten(0, 1)


@split_heads.mistake(
    "the features are dealt out to the heads in turn",
    observed="With two heads, head 0 of the vector 0 1 2 3 holds 0 and 2; it should hold 0 and 1.",
    change="Cut the last axis into `(heads, d_k)`, not `(d_k, heads)`.",
)
class _Dealt(_SplitSteps):
    def cut(self, x: Tensor, heads: int) -> Tensor:
        return x.unflatten(-1, (-1, heads)).transpose(2, 3)


@split_heads.mistake(
    "the number of heads and the width of a head are exchanged",
    observed="With d_model = 8 and 4 heads you return 2 heads of width 4.",
    change="There are `heads` pieces, each `d_model // heads` wide.",
)
class _Exchanged(_SplitSteps):
    def cut(self, x: Tensor, heads: int) -> Tensor:
        return x.unflatten(-1, (-1, heads))


@split_heads.mistake(
    "every head gets the whole vector",
    observed="Your last axis is still d_model wide.",
    change="Cut: each head gets its own `d_model // heads` numbers.",
)
class _Copied(_SplitSteps):
    def cut(self, x: Tensor, heads: int) -> Tensor:
        return x[:, :, None].expand(-1, -1, heads, -1)


@split_heads.mistake(
    "the pieces are not joined into one tensor",
    observed="You return several tensors, each of shape (batch, length, d_k).",
    change="Join them along a new axis behind the batch: `torch.stack(pieces, dim=1)`.",
)
class _Tuple(_SplitSteps):
    def arrange(self, pieces: Tensor) -> Tensor:
        return pieces.unbind(2)


@split_heads.mistake(
    "the length is cut instead of the vectors",
    observed="With 4 positions and 4 heads each head gets one position, with all its features.",
    change="Every head sees every position: cut the last axis.",
)
class _CutLength(_SplitSteps):
    def __call__(self, x: Tensor, heads: int) -> Tensor:
        return x.view(x.shape[0], heads, x.shape[1] // heads, x.shape[2])


# --- merge_heads -----------------------------------------------------------------------------


@exercise(
    reference=model.merge_heads,
    cases=[
        Case((_numbered(1, 2, 3, 2),)),
        Case((_numbered(2, 4, 3, 2),)),
        Case((_numbered(3, 2, 5, 4).double(),)),
        Case((_numbered(2, 1, 3, 5),)),
    ],
    properties=[
        Property(
            "no number is lost and none is added",
            lambda value, case: torch.equal(
                value.flatten().sort().values, case.inputs[0].flatten()
            ),
        ),
        Property(
            "the first d_k numbers of each vector come from head 0",
            lambda value, case: torch.equal(
                value[..., : case.inputs[0].shape[-1]], case.inputs[0][:, 0]
            ),
        ),
        Property(
            "it undoes `split_heads`",
            lambda value, case: torch.equal(
                model.split_heads(value, case.inputs[0].shape[1]), case.inputs[0]
            ),
        ),
    ],
    hints=[
        "Undo the two steps of `split_heads`, the last one first.",
        "First bring the axes back into the order (batch, length, heads, d_k), then join the last "
        "two.",
        "`x.transpose(1, 2).flatten(2)`, or `.reshape(batch, length, -1)` in place of `.flatten`. "
        "`view` refuses: after a transpose the numbers no longer lie in the order of the axes.",
    ],
)
def merge_heads(x: Tensor) -> Tensor:
    """Join the heads' pieces: (batch, heads, length, d_k) to (batch, length, d_model)."""
    batch, heads, length, d_k = x.shape
    return x.transpose(1, 2).reshape(batch, length, heads * d_k)


class _MergeSteps:
    """Merging in steps, so that a mistake replaces one."""

    def arrange(self, x: Tensor) -> Tensor:
        return x.transpose(1, 2)  # (batch, length, heads, d_k)

    def join(self, pieces: Tensor) -> Tensor:
        return pieces.flatten(2)

    def __call__(self, x: Tensor) -> Tensor:
        return self.join(self.arrange(x))


@merge_heads.mistake(
    "the final shape is asked of `reshape`, without a transpose",
    observed="The shape is right, but with two heads position 0 gets head 0's numbers of "
    "positions 0 and 1, and nothing of head 1.",
    change="First `x.transpose(1, 2)`, then join the last two axes.",
)
class _ReshapeOnly(_MergeSteps):
    def __call__(self, x: Tensor) -> Tensor:
        batch, heads, length, d_k = x.shape
        return x.reshape(batch, length, heads * d_k)


@merge_heads.mistake(
    "`view` is used after `transpose`",
    observed="With more than one head torch refuses: a transpose changes the order of the axes "
    "but leaves the numbers where they lie, and `view` cannot move them.",
    change="Use `.flatten(2)` or `.reshape(...)`, which copy, or `.contiguous().view(...)`.",
)
class _ViewAfterTranspose(_MergeSteps):
    def join(self, pieces: Tensor) -> Tensor:
        return pieces.view(*pieces.shape[:2], -1)


@merge_heads.mistake(
    "the length and d_k are joined, not the heads and d_k",
    observed="Your result has shape (batch, heads, length * d_k).",
    change="First bring the heads beside d_k: `x.transpose(1, 2)`.",
)
class _NotTransposedBack(_MergeSteps):
    def arrange(self, x: Tensor) -> Tensor:
        return x


@merge_heads.mistake(
    "the heads and d_k stay two axes",
    observed="Your result has shape (batch, length, heads, d_k).",
    change="Join the last two axes: `.flatten(2)`.",
)
class _NotJoined(_MergeSteps):
    def join(self, pieces: Tensor) -> Tensor:
        return pieces


@merge_heads.mistake(
    "the heads follow each other as if they were positions",
    observed="Your result has shape (batch, heads * length, d_k).",
    change="The pieces belong side by side: concatenate along the last axis.",
)
class _AlongLength(_MergeSteps):
    def __call__(self, x: Tensor) -> Tensor:
        return x.flatten(1, 2)


@merge_heads.mistake(
    "the heads are averaged",
    observed="The last axis of your result has width d_k, not heads * d_k.",
    change="Lay the pieces side by side; the projection that follows decides how to mix them.",
)
class _Averaged(_MergeSteps):
    def join(self, pieces: Tensor) -> Tensor:
        return pieces.mean(dim=2)


@merge_heads.mistake(
    "the heads are added",
    observed="The last axis of your result has width d_k, not heads * d_k.",
    change="Lay the pieces side by side; the projection that follows decides how to mix them.",
)
class _Added(_MergeSteps):
    def join(self, pieces: Tensor) -> Tensor:
        return pieces.sum(dim=2)


@merge_heads.mistake(
    "only one head is kept",
    observed="Your result holds head 0 and nothing of the others.",
    change="Lay all heads side by side.",
)
class _OneKept(_MergeSteps):
    def join(self, pieces: Tensor) -> Tensor:
        return pieces[:, :, 0]


@merge_heads.mistake(
    "the heads take turns, feature by feature",
    observed="Each vector begins with feature 0 of every head; it should begin with all features "
    "of head 0.",
    change="Join `(heads, d_k)` in this order, not `(d_k, heads)`.",
)
class _TakesTurns(_MergeSteps):
    def join(self, pieces: Tensor) -> Tensor:
        return pieces.transpose(2, 3).flatten(2)


@merge_heads.mistake(
    "the wrong two axes are swapped",
    observed="Your result has shape (batch, heads, d_k * length): axes 2 and 3 were swapped.",
    change="Swap the heads and the length: `transpose(1, 2)`; axes are counted from 0.",
)
class _WrongAxesBack(_MergeSteps):
    def arrange(self, x: Tensor) -> Tensor:
        return x.transpose(2, 3)


@merge_heads.mistake(
    "the loop runs over the sentences instead of the heads",
    observed="Your result has shape (heads, length, batch * d_k): a loop over a tensor, and "
    "`list(x)`, run along axis 0, the batch.",
    change="Take the heads apart along axis 1: `x.unbind(1)`.",
)
class _LoopsOverBatch(_MergeSteps):
    def __call__(self, x: Tensor) -> Tensor:
        return torch.cat(list(x), dim=-1)


@merge_heads.mistake(
    "the positions are joined too",
    observed="Your result has two axes: one long vector for each sentence.",
    change="Join the last two axes only: `.flatten(2)`.",
)
class _OneVectorPerSentence(_MergeSteps):
    def join(self, pieces: Tensor) -> Tensor:
        return pieces.flatten(1)


@merge_heads.mistake(
    "the length comes before the batch",
    observed="Your result has shape (length, batch, d_model).",
    change="The batch is axis 0 and stays there: `transpose(1, 2)`.",
)
class _LengthFirstBack(_MergeSteps):
    def arrange(self, x: Tensor) -> Tensor:
        return x.permute(2, 0, 1, 3)


# --- MultiHeadAttention ----------------------------------------------------------------------


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
    cases=[
        Case((vectors(1, 2, 4),) * 2, construct=(4, 2)),
        Case(
            (vectors(3, 5, 12), vectors(3, 4, 12, seed=1), vectors(5, 4) > -0.5),
            construct=(12, 2),
        ),
        Case(
            # The same questions to the same memory, which the second time stands in reverse.
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
    ],
    properties=[
        Property(
            "the output depends on the query and on the vectors that it may see, not on their "
            "order and not on what the mask hides",
            _depends_on_sight_alone,
        ),
    ],
    hints=[
        "Write down the six steps of the picture: project, split, attend, merge, project. Which "
        "of them take `query`, which take `memory`?",
        "The queries come from `query`, keys and values from `memory`. Project the whole vectors "
        "first, then `model.split_heads`; the attention of lesson 2 handles all heads at once.",
        "`q = model.split_heads(self.query_projection(query), self.heads)`, k and v alike from "
        "`memory`; `model.scaled_dot_product_attention(q, k, v, mask)` returns output and "
        "weights; then `model.merge_heads` and `self.output_projection`.",
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
        q = model.split_heads(self.query_projection(query), self.heads)
        k = model.split_heads(self.key_projection(memory), self.heads)
        v = model.split_heads(self.value_projection(memory), self.heads)
        output, _ = model.scaled_dot_product_attention(q, k, v, mask)
        return self.output_projection(model.merge_heads(output))


class _HeadSteps(nn.Module):
    """Multi-head attention in steps, so that a mistake replaces one."""

    def __init__(self, d_model: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.query_projection = nn.Linear(d_model, d_model)
        self.key_projection = nn.Linear(d_model, d_model)
        self.value_projection = nn.Linear(d_model, d_model)
        self.output_projection = nn.Linear(d_model, d_model)

    def sources(self, query: Tensor, memory: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        return query, memory, memory

    def projections(self) -> tuple[nn.Module, nn.Module, nn.Module]:
        return self.query_projection, self.key_projection, self.value_projection

    def prepare(self, x: Tensor, projection: nn.Module) -> Tensor:
        return self.split(projection(x))

    def split(self, x: Tensor) -> Tensor:
        return model.split_heads(x, self.heads)

    def divisor(self, query: Tensor) -> float:
        return math.sqrt(query.shape[-1])

    def adapt(self, mask: Tensor) -> Tensor:
        return mask

    def hide(self, scores: Tensor, mask: Tensor) -> Tensor:
        return scores.masked_fill(~mask, torch.finfo(scores.dtype).min)

    def normalise(self, scores: Tensor) -> Tensor:
        return scores.softmax(dim=-1)

    def clear(self, weights: Tensor, mask: Tensor) -> Tensor:
        return weights.masked_fill(~mask, 0)

    def weigh(self, scores: Tensor, mask: Tensor | None) -> Tensor:
        if mask is None:
            return self.normalise(scores)
        mask = self.adapt(mask)
        return self.clear(self.normalise(self.hide(scores, mask)), mask)

    def merge(self, output: Tensor, weights: Tensor) -> Tensor:
        return model.merge_heads(output)

    def mix(self, merged: Tensor) -> Tensor:
        return self.output_projection(merged)

    def finish(self, output: Tensor, query: Tensor, weights: Tensor) -> Tensor:
        return output

    def attend(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor]:
        weights = self.weigh(q @ k.transpose(-2, -1) / self.divisor(q), mask)
        return weights @ v, weights

    def forward(self, query: Tensor, memory: Tensor, mask: Tensor | None = None) -> Tensor:
        q, k, v = map(self.prepare, self.sources(query, memory), self.projections())
        output, weights = self.attend(q, k, v, mask)
        return self.finish(self.mix(self.merge(output, weights)), query, weights)


# The commonest ones first: pairs of them are recognised too.


@MultiHeadAttention.mistake(
    "the heads are split by `view` without a transpose",
    observed="With two heads and two positions, head 0 sees the two halves of position 0 and "
    "nothing of position 1.",
    change="`view(batch, length, heads, d_k)`, then `transpose(1, 2)`; or `model.split_heads`.",
)
class _ViewSplit(_HeadSteps):
    def split(self, x: Tensor) -> Tensor:
        return _ViewOnly()(x, self.heads)


@MultiHeadAttention.mistake(
    "the heads are merged by `reshape` without a transpose",
    observed="With two heads and two positions, position 0 of your output holds head 0's results "
    "for both positions, and nothing of head 1.",
    change="`transpose(1, 2)` first, then join the last two axes; or `model.merge_heads`.",
)
class _ReshapeMerge(_HeadSteps):
    def merge(self, output: Tensor, weights: Tensor) -> Tensor:
        return _ReshapeOnly()(output)


@MultiHeadAttention.mistake(
    "the output is not projected",
    observed="The weights of `output_projection` have no influence: the heads' results stand "
    "side by side and never mix.",
    change="Return `self.output_projection(...)` of the merged heads.",
)
class _NoOutputProjection(_HeadSteps):
    def mix(self, merged: Tensor) -> Tensor:
        return merged


@MultiHeadAttention.mistake(
    "the scores are divided by sqrt(d_model)",
    observed="Your weights are flatter than they should be: a dot product in a head has d_k "
    "terms, so its spread grows with sqrt(d_k).",
    change="Divide by the root of the width of one head, `d_model // heads`.",
)
class _ScaledByModel(_HeadSteps):
    def divisor(self, query: Tensor) -> float:
        return math.sqrt(query.shape[-1] * self.heads)


@MultiHeadAttention.mistake(
    "the scores are not scaled",
    observed="Your weights are sharper than they should be.",
    change="Divide the scores by the root of the width of one head, `d_model // heads`.",
)
class _NotScaled(_HeadSteps):
    def divisor(self, query: Tensor) -> float:
        return 1.0


@MultiHeadAttention.mistake(
    "the scores are divided by d_k instead of its root",
    observed="Your weights are flatter than they should be.",
    change="Divide by `math.sqrt(d_k)`.",
)
class _NoRoot(_HeadSteps):
    def divisor(self, query: Tensor) -> float:
        return float(query.shape[-1])


@MultiHeadAttention.mistake(
    "the mask is forgotten",
    observed="Without a mask all is right; with one, hidden positions keep their weight.",
    change="Pass `mask` on to the attention.",
)
class _NoMask(_HeadSteps):
    def weigh(self, scores: Tensor, mask: Tensor | None) -> Tensor:
        return self.normalise(scores)


@MultiHeadAttention.mistake(
    "the mask is read the wrong way round",
    observed="All weight lies on the positions that the mask hides.",
    change="True means may attend: hide where the mask is False, `~mask`.",
)
class _InvertedMask(_HeadSteps):
    def adapt(self, mask: Tensor) -> Tensor:
        return ~mask


@MultiHeadAttention.mistake(
    "the memory is ignored",
    observed="The output does not depend on `memory`: keys and values are made from `query`. "
    "Where the two are the same tensor, as in self-attention, nobody notices.",
    change="Project `memory` to get keys and values.",
)
class _IgnoresMemory(_HeadSteps):
    def sources(self, query: Tensor, memory: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        return query, query, query


@MultiHeadAttention.mistake(
    "query and memory have swapped their roles",
    observed="Your output has one position for each position of `memory`.",
    change="`query` asks; keys and values come from `memory`.",
)
class _SwappedSources(_HeadSteps):
    def sources(self, query: Tensor, memory: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        return memory, query, query


@MultiHeadAttention.mistake(
    "the softmax runs over the queries",
    observed="For each key the weights sum to 1 over the queries; they should for each query.",
    change="Use `softmax(dim=-1)`, over the keys.",
)
class _SoftmaxOverQueries(_HeadSteps):
    def normalise(self, scores: Tensor) -> Tensor:
        return scores.softmax(dim=-2)


@MultiHeadAttention.mistake(
    "the softmax runs over the heads",
    observed="For each pair of positions the weights of all heads together sum to 1.",
    change="Use `softmax(dim=-1)`, over the keys; with four axes `dim=1` is the heads.",
)
class _SoftmaxOverHeads(_HeadSteps):
    def normalise(self, scores: Tensor) -> Tensor:
        return scores.softmax(dim=1)


@MultiHeadAttention.mistake(
    "a query with nothing to attend to becomes NaN",
    observed="In one case a row of the mask is False everywhere, and the softmax of nothing but "
    "minus infinity is 0 / 0.",
    change="Let such a query get zeros, as `model.scaled_dot_product_attention` does.",
)
class _EmptyRowIsNaN(_HeadSteps):
    def hide(self, scores: Tensor, mask: Tensor) -> Tensor:
        return scores.masked_fill(~mask, -math.inf)

    def clear(self, weights: Tensor, mask: Tensor) -> Tensor:
        return weights


@MultiHeadAttention.mistake(
    "a query with nothing to attend to gets the mean of what is hidden",
    observed="In one case a row of the mask is False everywhere. All its scores are then equally "
    "low, so the softmax gives each hidden position the same weight.",
    change="Set the weights to 0 where the mask is False once more, after the softmax.",
)
class _EmptyRowIsUniform(_HeadSteps):
    def clear(self, weights: Tensor, mask: Tensor) -> Tensor:
        return weights


@MultiHeadAttention.mistake(
    "the mask acts after the softmax",
    observed="Hidden positions get no weight, but what is left does not sum to 1.",
    change="Fill the hidden scores before the softmax, so that the others share all the weight.",
)
class _MaskAfterSoftmax(_HeadSteps):
    def hide(self, scores: Tensor, mask: Tensor) -> Tensor:
        return scores


@MultiHeadAttention.mistake(
    "hidden scores become 0 instead of minus infinity",
    observed="A score of 0 is an ordinary score: hidden positions keep some weight.",
    change="Fill them with minus infinity before the softmax.",
)
class _ZeroScores(_HeadSteps):
    def hide(self, scores: Tensor, mask: Tensor) -> Tensor:
        return scores.masked_fill(~mask, 0)

    def clear(self, weights: Tensor, mask: Tensor) -> Tensor:
        return weights


@MultiHeadAttention.mistake(
    "the weights are returned too",
    observed="You return a pair, the output and the weights.",
    change="Return the output alone.",
)
class _ReturnsPair(_HeadSteps):
    def finish(self, output: Tensor, query: Tensor, weights: Tensor) -> tuple[Tensor, Tensor]:
        return output, weights


@MultiHeadAttention.mistake(
    "the query is added to the output",
    observed="Your output is the right one plus `query`.",
    change="Return the attention's output alone; the layer around it, in lesson 5, adds the two.",
)
class _AddsQuery(_HeadSteps):
    def finish(self, output: Tensor, query: Tensor, weights: Tensor) -> Tensor:
        return query + output


@MultiHeadAttention.mistake(
    "nothing is projected before the attention",
    observed="The weights of `query_projection`, `key_projection` and `value_projection` have no "
    "influence: each head sees a fixed piece of the vectors.",
    change="Project first, then split: `model.split_heads(self.query_projection(query), "
    "self.heads)`.",
)
class _NoProjections(_HeadSteps):
    def projections(self) -> tuple[nn.Module, nn.Module, nn.Module]:
        return (nn.Identity(),) * 3


@MultiHeadAttention.mistake(
    "keys are blended instead of values",
    observed="The weights of `value_projection` have no influence: the output is a mean of keys.",
    change="Make the values by `self.value_projection(memory)`, and pass query, key, value in "
    "this order.",
)
class _BlendsKeys(_HeadSteps):
    def projections(self) -> tuple[nn.Module, nn.Module, nn.Module]:
        return self.query_projection, self.key_projection, self.key_projection


# Other ways to split and merge.


@MultiHeadAttention.mistake(
    "the transpose is missing both when splitting and when merging",
    observed="The two errors cancel where nothing is mixed: if each position attends only to "
    "itself, all is right. But a head sees one part of the sentence only, so words that are far "
    "apart never meet.",
    change="Use `transpose(1, 2)` after `view` when splitting, and before joining when merging.",
)
class _NoTransposes(_ViewSplit, _ReshapeMerge):
    pass


@MultiHeadAttention.mistake(
    "the heads stand behind the length when they attend",
    observed="After the split the shape is (batch, length, heads, d_k). Attention works on the "
    "last two axes, so the heads of one position attend to each other.",
    change="Add `.transpose(1, 2)` when splitting, or use `model.split_heads`.",
)
class _AttendsAcrossHeads(_HeadSteps):
    def split(self, x: Tensor) -> Tensor:
        return x.unflatten(-1, (self.heads, -1))


@MultiHeadAttention.mistake(
    "the heads of a position attend to each other, and no position to another",
    observed="The last two axes are (heads, d_k) during the attention, so no position learns "
    "about another.",
    change="Move the length next to d_k with `.transpose(1, 2)`, and back before you merge.",
)
class _PositionsNeverMeet(_AttendsAcrossHeads):
    def merge(self, output: Tensor, weights: Tensor) -> Tensor:
        return output.flatten(2)


@MultiHeadAttention.mistake(
    "`view` is used after `transpose`",
    observed="torch refuses: a transpose leaves the numbers where they lie, and `view` cannot "
    "move them.",
    change="Use `.flatten(2)` or `.reshape(...)`, which copy; or `model.merge_heads`.",
)
class _ViewMerge(_HeadSteps):
    def merge(self, output: Tensor, weights: Tensor) -> Tensor:
        return _ViewAfterTranspose()(output)


@MultiHeadAttention.mistake(
    "the features are dealt out to the heads in turn, and collected in turn",
    observed="The last axis is cut into (d_k, heads), when splitting and when merging. A model "
    "would learn this as well, but weights trained elsewhere would not fit.",
    change="Cut it into (heads, d_k): head 0 takes the first d_k features.",
)
class _DealtBothWays(_HeadSteps):
    def split(self, x: Tensor) -> Tensor:
        return _Dealt()(x, self.heads)

    def merge(self, output: Tensor, weights: Tensor) -> Tensor:
        return _TakesTurns()(output)


@MultiHeadAttention.mistake(
    "the features are dealt out to the heads in turn, but collected piece by piece",
    observed="The last axis is cut into (d_k, heads) when splitting, but joined as (heads, d_k).",
    change="Cut it into (heads, d_k): head 0 takes the first d_k features.",
)
class _DealtIn(_HeadSteps):
    def split(self, x: Tensor) -> Tensor:
        return _Dealt()(x, self.heads)


@MultiHeadAttention.mistake(
    "the number of heads and the width of a head are exchanged",
    observed="With d_model = 12 and 2 heads there are 6 heads of width 2.",
    change="There are `heads` pieces, each `d_model // heads` wide.",
)
class _HeadsAndWidthExchanged(_HeadSteps):
    def split(self, x: Tensor) -> Tensor:
        return _Exchanged()(x, self.heads)


@MultiHeadAttention.mistake(
    "the vectors are never split",
    observed="There is one head over the whole width, so each query has one distribution, and "
    "masks with an axis for the heads do not fit.",
    change="Split queries, keys and values: `model.split_heads(..., self.heads)`.",
)
class _NeverSplit(_HeadSteps):
    def split(self, x: Tensor) -> Tensor:
        return x

    def attend(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor]:
        return model.scaled_dot_product_attention(q, k, v, mask)

    def merge(self, output: Tensor, weights: Tensor) -> Tensor:
        return output


@MultiHeadAttention.mistake(
    "the memory is cut into as many positions as the query has",
    observed="All is right until `memory` has another length than `query`.",
    change="Take the length of each tensor from itself: `memory.shape[1]` for keys and values.",
)
class _LengthOfQuery(_HeadSteps):
    def forward(self, query: Tensor, memory: Tensor, mask: Tensor | None = None) -> Tensor:
        self.length = query.shape[1]
        return super().forward(query, memory, mask)

    def split(self, x: Tensor) -> Tensor:
        shape = (x.shape[0], self.length, self.heads, x.shape[-1] // self.heads)
        return x.view(shape).transpose(1, 2)


@MultiHeadAttention.mistake(
    "the heads are averaged or added instead of joined",
    observed="`output_projection` wants vectors of width d_model and gets one of width d_k for all "
    "heads together.",
    change="Lay the heads' results side by side with `model.merge_heads`; the output projection "
    "decides how to mix them.",
)
class _AveragedHeads(_HeadSteps):
    def merge(self, output: Tensor, weights: Tensor) -> Tensor:
        return output.mean(dim=1)


@MultiHeadAttention.mistake(
    "output and weights are merged together",
    observed="`model.scaled_dot_product_attention` returns two tensors, the output and the "
    "weights, and both went on as one.",
    change="Take them apart: `output, weights = model.scaled_dot_product_attention(...)`.",
)
class _MergesPair(_HeadSteps):
    def merge(self, output: Tensor, weights: Tensor) -> Tensor:
        return model.merge_heads((output, weights))


@MultiHeadAttention.mistake(
    "the weights are merged instead of the output",
    observed="`model.scaled_dot_product_attention` returns the output first and the weights "
    "second; you went on with the weights, and no value reaches the result.",
    change="Go on with the first: `output, weights = model.scaled_dot_product_attention(...)`.",
)
class _MergesWeights(_HeadSteps):
    def merge(self, output: Tensor, weights: Tensor) -> Tensor:
        return model.merge_heads(weights)


# Other scores and weights.


@MultiHeadAttention.mistake(
    "the scores are divided by the root of the number of heads",
    observed="The temperature changes with the number of heads instead of their width.",
    change="Divide by the root of the width of one head, `d_model // heads`.",
)
class _ScaledByHeads(_HeadSteps):
    def divisor(self, query: Tensor) -> float:
        return math.sqrt(self.heads)


@MultiHeadAttention.mistake(
    "there is no softmax",
    observed="The scores themselves are the weights: they can be negative and do not sum to 1.",
    change="Take the softmax over the keys.",
)
class _NoSoftmax(_HeadSteps):
    def normalise(self, scores: Tensor) -> Tensor:
        return scores


# Other masks.


@MultiHeadAttention.mistake(
    "the mask is added to the scores as 0 and 1",
    observed="Hidden positions keep most of their weight: their scores are lower by 1. This is "
    "what fused attention does with a mask that is not boolean.",
    change="Leave the mask boolean, without `.float()`; or fill with minus infinity where it is "
    "False.",
)
class _AddedMask(_HeadSteps):
    def hide(self, scores: Tensor, mask: Tensor) -> Tensor:
        return scores + mask.to(scores.dtype)

    def clear(self, weights: Tensor, mask: Tensor) -> Tensor:
        return weights


@MultiHeadAttention.mistake(
    "every attention is causal",
    observed="A position never attends to later ones, whatever the mask says, and without a mask.",
    change="Leave out `is_causal=True` and `model.causal_mask`: who calls the module says with "
    "`mask` what may be seen.",
)
class _AlwaysCausal(_HeadSteps):
    def weigh(self, scores: Tensor, mask: Tensor | None) -> Tensor:
        return super().weigh(scores, torch.ones(scores.shape[-2:], dtype=torch.bool).tril())


@MultiHeadAttention.mistake(
    "the mask loses its axis for the heads",
    observed="A mask of shape (batch, query, key) lines up with (heads, query, key) of the "
    "scores: sentence 1's mask acts on head 1. torch complains only where there are more heads "
    "than sentences, or fewer.",
    change="Leave the mask as it is, (batch, 1, query, key); one of three axes needs "
    "`mask.unsqueeze(1)`.",
)
class _ThreeAxes(_HeadSteps):
    def adapt(self, mask: Tensor) -> Tensor:
        return mask.squeeze(1)


@MultiHeadAttention.mistake(
    "the mask gets one axis too many",
    observed="The masks given here already have 2 or 4 axes, and one more was inserted for the "
    "heads.",
    change="Pass `mask` on as it is: it has an axis for the heads, or broadcasts to them.",
)
class _FiveAxes(_HeadSteps):
    def attend(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor]:
        mask = None if mask is None else mask.unsqueeze(1)
        return model.scaled_dot_product_attention(q, k, v, mask)


# Other sources of queries, keys and values.


@MultiHeadAttention.mistake(
    "the query is ignored",
    observed="The output does not depend on `query`, and has as many positions as `memory`.",
    change="Project `query` to get the queries: the output has one position for each of them.",
)
class _IgnoresQuery(_HeadSteps):
    def sources(self, query: Tensor, memory: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        return memory, memory, memory


@MultiHeadAttention.mistake(
    "the keys are made from `query`",
    observed="Self-attention is right. With another memory the weights do not depend on it, and "
    "with a memory of another length the shapes do not fit.",
    change="Project `memory` to get the keys.",
)
class _KeysFromQuery(_HeadSteps):
    def sources(self, query: Tensor, memory: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        return query, query, memory


@MultiHeadAttention.mistake(
    "the values are made from `query`",
    observed="Self-attention is right. With another memory the output blends vectors of the query "
    "itself, and with a memory of another length the shapes do not fit.",
    change="Project `memory` to get the values.",
)
class _ValuesFromQuery(_HeadSteps):
    def sources(self, query: Tensor, memory: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        return query, memory, query


@MultiHeadAttention.mistake(
    "queries and keys change places in the attention",
    observed="Your scores have a row for each key; there should be one for each query. With a "
    "memory of another length the shapes do not fit.",
    change="Pass the queries first, then the keys, then the values.",
)
class _KeysAsk(_HeadSteps):
    def attend(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor]:
        return super().attend(k, q, v, mask)


# Other projections.


@MultiHeadAttention.mistake(
    "the queries are not projected",
    observed="The weights of `query_projection` have no influence.",
    change="Use `self.query_projection(query)`.",
)
class _QueriesAsTheyAre(_HeadSteps):
    def projections(self) -> tuple[nn.Module, nn.Module, nn.Module]:
        return nn.Identity(), self.key_projection, self.value_projection


@MultiHeadAttention.mistake(
    "the keys are not projected",
    observed="The weights of `key_projection` have no influence.",
    change="Use `self.key_projection(memory)`.",
)
class _KeysAsTheyAre(_HeadSteps):
    def projections(self) -> tuple[nn.Module, nn.Module, nn.Module]:
        return self.query_projection, nn.Identity(), self.value_projection


@MultiHeadAttention.mistake(
    "the values are not projected",
    observed="The weights of `value_projection` have no influence.",
    change="Use `self.value_projection(memory)`.",
)
class _ValuesAsTheyAre(_HeadSteps):
    def projections(self) -> tuple[nn.Module, nn.Module, nn.Module]:
        return self.query_projection, self.key_projection, nn.Identity()


@MultiHeadAttention.mistake(
    "the queries go through the keys' projection",
    observed="The weights of `query_projection` have no influence. In self-attention every score "
    "is then the same in both directions.",
    change="Each has its own: `self.query_projection(query)`.",
)
class _KeyProjectionForQueries(_HeadSteps):
    def projections(self) -> tuple[nn.Module, nn.Module, nn.Module]:
        return self.key_projection, self.key_projection, self.value_projection


@MultiHeadAttention.mistake(
    "the keys go through the queries' projection",
    observed="The weights of `key_projection` have no influence. In self-attention every score "
    "is then the same in both directions.",
    change="Each has its own: `self.key_projection(memory)`.",
)
class _QueryProjectionForKeys(_HeadSteps):
    def projections(self) -> tuple[nn.Module, nn.Module, nn.Module]:
        return self.query_projection, self.query_projection, self.value_projection


@MultiHeadAttention.mistake(
    "one projection makes queries, keys and values",
    observed="Only `query_projection` has an influence on them.",
    change="Each has its own: `query_projection`, `key_projection`, `value_projection`.",
)
class _OneProjection(_HeadSteps):
    def projections(self) -> tuple[nn.Module, nn.Module, nn.Module]:
        return (self.query_projection,) * 3


@MultiHeadAttention.mistake(
    "the projections of queries and keys are swapped",
    observed="`query_projection` acts on `memory` and `key_projection` on `query`. A model would "
    "learn this as well, but weights trained elsewhere would not fit.",
    change="Use `self.query_projection(query)` and `self.key_projection(memory)`.",
)
class _SwappedQueryKey(_HeadSteps):
    def projections(self) -> tuple[nn.Module, nn.Module, nn.Module]:
        return self.key_projection, self.query_projection, self.value_projection


@MultiHeadAttention.mistake(
    "the projections of keys and values are swapped",
    observed="`value_projection` makes the keys and `key_projection` the values. A model would "
    "learn this as well, but weights trained elsewhere would not fit.",
    change="Use `self.key_projection(memory)` for the keys, and pass query, key, value in this "
    "order.",
)
class _SwappedKeyValue(_HeadSteps):
    def projections(self) -> tuple[nn.Module, nn.Module, nn.Module]:
        return self.query_projection, self.value_projection, self.key_projection


@MultiHeadAttention.mistake(
    "the pieces are projected instead of the whole vectors",
    observed="A projection wants vectors of width d_model and gets a head's pieces, of width d_k: "
    "it comes after the split, or the heads were not merged before it.",
    change="Keep this order: project, split, attend, merge, project. A smaller projection would "
    "fit a piece, but then each head would know only its own piece of each vector.",
)
class _ProjectsPieces(_HeadSteps):
    def prepare(self, x: Tensor, projection: nn.Module) -> Tensor:
        return projection(self.split(x))


# --- attention_cost --------------------------------------------------------------------------


class _CostSteps:
    """What is counted, in parts, so that a mistake replaces one."""

    def weights(self, d_model: int, heads: int) -> int:
        return 4 * d_model * d_model

    def biases(self, d_model: int, heads: int) -> int:
        return 4 * d_model

    def projections(self, d_model: int, query: int, key: int) -> int:
        return 2 * (query + key) * d_model * d_model

    def scores(self, d_model: int, heads: int, query: int, key: int) -> int:
        return query * key * d_model

    def means(self, d_model: int, heads: int, query: int, key: int) -> int:
        return query * key * d_model

    def total(self, projections: int, attention: int) -> int:
        return projections + attention

    def stored(self, d_model: int, heads: int, query: int, key: int) -> int:
        return heads * query * key

    def __call__(self, d_model: int, heads: int, query: int, key: int) -> dict[str, int]:
        sizes = (d_model, heads, query, key)
        return {
            "parameters": self.weights(d_model, heads) + self.biases(d_model, heads),
            "multiplications": self.total(
                self.projections(d_model, query, key), self.scores(*sizes) + self.means(*sizes)
            ),
            "stored weights": self.stored(*sizes),
        }


@exercise(
    reference=_CostSteps(),
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


@attention_cost.mistake(
    "the biases are not among the parameters",
    observed="At d_model = 512 you count 2048 parameters too few.",
    change="Each of the four projections has d_model biases as well.",
)
class _NoBiases(_CostSteps):
    def biases(self, d_model: int, heads: int) -> int:
        return 0


@attention_cost.mistake(
    "the parameters of the output projection are missing",
    observed="At d_model = 512 you count 787 968 parameters, those of three projections.",
    change="Count four projections: query, key, value and output.",
)
class _ThreeProjections(_CostSteps):
    def weights(self, d_model: int, heads: int) -> int:
        return 3 * d_model * d_model

    def biases(self, d_model: int, heads: int) -> int:
        return 3 * d_model


@attention_cost.mistake(
    "every head has projections of full width",
    observed="Your parameters grow with the number of heads.",
    change="The heads share d_model: each projects to d_model / heads features, and all of them "
    "together fill one matrix of d_model by d_model.",
)
class _FullWidthPerHead(_CostSteps):
    def weights(self, d_model: int, heads: int) -> int:
        return (3 * heads + 1) * d_model * d_model

    def biases(self, d_model: int, heads: int) -> int:
        return (3 * heads + 1) * d_model


@attention_cost.mistake(
    "each head projects only its own piece of the vector",
    observed="At d_model = 512 and 8 heads you count 98 304 weights for queries, keys and values "
    "instead of 786 432.",
    change="Every head reads the whole vector: project from d_model to d_model, then split.",
)
class _PieceByPiece(_CostSteps):
    def weights(self, d_model: int, heads: int) -> int:
        return 3 * d_model * d_model // heads + d_model * d_model


@attention_cost.mistake(
    "the projections are left out of the multiplications",
    observed="You count the scores and the weighted means only. At d_model = 512 and a few dozen "
    "positions the projections are most of the work.",
    change="Add the four projections: each takes d_model * d_model multiplications for a vector.",
)
class _NoProjectionWork(_CostSteps):
    def projections(self, d_model: int, query: int, key: int) -> int:
        return 0


@attention_cost.mistake(
    "only the projections are counted",
    observed="Your multiplications lack the part that grows with query * key.",
    change="Add the scores and the weighted means: query * key * d_model each.",
)
class _OnlyProjectionWork(_CostSteps):
    def total(self, projections: int, attention: int) -> int:
        return projections


@attention_cost.mistake(
    "each projection is counted for one vector",
    observed="The projections take 4 * d_model * d_model multiplications however long the "
    "sentence is.",
    change="Multiply by the number of vectors: `query` of them twice, `key` of them twice.",
)
class _OneVector(_CostSteps):
    def projections(self, d_model: int, query: int, key: int) -> int:
        return 4 * d_model * d_model


@attention_cost.mistake(
    "the work of the output projection is missing",
    observed="Your multiplications lack query * d_model * d_model.",
    change="The output projection acts once more on each of the query's positions.",
)
class _NoOutputWork(_CostSteps):
    def projections(self, d_model: int, query: int, key: int) -> int:
        return (query + 2 * key) * d_model * d_model


@attention_cost.mistake(
    "all four projections act on the query's positions",
    observed="The work of the projections does not depend on the length of the memory.",
    change="Keys and values are made from the memory: `key` vectors, not `query`.",
)
class _AllOnQuery(_CostSteps):
    def projections(self, d_model: int, query: int, key: int) -> int:
        return 4 * query * d_model * d_model


@attention_cost.mistake(
    "three projections act on the memory's positions",
    observed="The output projection is counted for `key` vectors; it acts on the output, which "
    "has `query`.",
    change="Queries and output have `query` positions, keys and values have `key`.",
)
class _ThreeOnMemory(_CostSteps):
    def projections(self, d_model: int, query: int, key: int) -> int:
        return (query + 3 * key) * d_model * d_model


@attention_cost.mistake(
    "the biases are counted as multiplications",
    observed="You count 2 * (query + key) * d_model multiplications too many.",
    change="A bias is added, not multiplied: leave it out here.",
)
class _BiasesMultiplied(_CostSteps):
    def projections(self, d_model: int, query: int, key: int) -> int:
        return 2 * (query + key) * d_model * (d_model + 1)


@attention_cost.mistake(
    "each multiplication counts twice",
    observed="You count a multiplication and an addition as two: those are FLOPs.",
    change="Count the multiplications alone: half of it.",
)
class _Flops(_CostSteps):
    def total(self, projections: int, attention: int) -> int:
        return 2 * (projections + attention)


@attention_cost.mistake(
    "the weighted means are not counted",
    observed="Your multiplications lack query * key * d_model once.",
    change="Scores are one half of the attention; blending the values takes as many again.",
)
class _NoMeans(_CostSteps):
    def means(self, d_model: int, heads: int, query: int, key: int) -> int:
        return 0


@attention_cost.mistake(
    "the scores and the weighted means are counted for one head",
    observed="Your multiplications get fewer with more heads.",
    change="There are `heads` heads of width d_model / heads: d_model multiplications for each "
    "pair of positions.",
)
class _OneHeadOnly(_CostSteps):
    def scores(self, d_model: int, heads: int, query: int, key: int) -> int:
        return query * key * d_model // heads

    means = scores


@attention_cost.mistake(
    "every head compares vectors of full width",
    observed="Your multiplications grow with the number of heads.",
    change="A head's vectors have d_model / heads features: the heads share the work.",
)
class _FullWidthScores(_CostSteps):
    def scores(self, d_model: int, heads: int, query: int, key: int) -> int:
        return heads * query * key * d_model

    means = scores


@attention_cost.mistake(
    "a score is counted as one multiplication",
    observed="In your count, scores and weighted means do not grow with d_model.",
    change="The dot product of two vectors of width d_k takes d_k multiplications.",
)
class _WidthlessScores(_CostSteps):
    def scores(self, d_model: int, heads: int, query: int, key: int) -> int:
        return heads * query * key

    means = scores


@attention_cost.mistake(
    "the weights of one head are stored",
    observed="Your stored weights do not depend on the number of heads.",
    change="Each head has its own weight for each query and key: multiply by `heads`.",
)
class _StoredForOneHead(_CostSteps):
    def stored(self, d_model: int, heads: int, query: int, key: int) -> int:
        return query * key


@attention_cost.mistake(
    "the stored weights are those of self-attention on the query",
    observed="Your stored weights do not depend on the length of the memory.",
    change="There is one weight for each query AND each key: heads * query * key.",
)
class _StoredQueryTwice(_CostSteps):
    def stored(self, d_model: int, heads: int, query: int, key: int) -> int:
        return heads * query * query


@attention_cost.mistake(
    "the stored weights are multiplied by the width",
    observed="Your stored weights grow with d_model.",
    change="A weight is one number, however wide the vectors are: heads * query * key.",
)
class _StoredVectors(_CostSteps):
    def stored(self, d_model: int, heads: int, query: int, key: int) -> int:
        return query * key * d_model


@attention_cost.mistake(
    "the weights of the projections are counted as stored weights",
    observed="Your stored weights do not depend on the lengths.",
    change="Attention weights are meant, the numbers after the softmax: heads * query * key.",
)
class _StoredParameters(_CostSteps):
    def stored(self, d_model: int, heads: int, query: int, key: int) -> int:
        return 4 * d_model * d_model
