"""Join the heads again."""

import torch
from torch import Tensor

from transformer_course import model
from transformer_course.checker.cases import Case, Property
from transformer_course.checker.exercise import exercise
from transformer_course.exercises.multi_head_attention.inputs import numbered


@exercise(
    reference=model.merge_heads,
    cases=[
        Case((numbered(1, 2, 3, 2),)),
        Case((numbered(2, 4, 3, 2),)),
        Case((numbered(3, 2, 5, 4).double(),)),
        Case((numbered(2, 1, 3, 5),)),
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
    pieces = x.transpose(1, 2)  # (batch, length, heads, d_k)
    return pieces.flatten(2)


merge_heads.mistake(
    "`reshape` goes straight to the final shape, without a transpose",
    edits=[("pieces.flatten(2)", "x.reshape(*pieces.shape[:2], -1)")],
    observed="The shape is right, but with two heads position 0 gets head 0's numbers of "
    "positions 0 and 1, and nothing of head 1.",
    change="First `x.transpose(1, 2)`, then join the last two axes.",
)
merge_heads.mistake(
    "`view` is used after `transpose`",
    edits=[("pieces.flatten(2)", "pieces.view(*pieces.shape[:2], -1)")],
    observed="With more than one head torch refuses: a transpose changes the order of the axes "
    "but leaves the numbers where they lie, and `view` cannot move them.",
    change="Use `.flatten(2)` or `.reshape(...)`, which copy, or `.contiguous().view(...)`.",
)
merge_heads.mistake(
    "the length and d_k are joined, not the heads and d_k",
    edits=[("x.transpose(1, 2)", "x")],
    observed="Your result has shape (batch, heads, length * d_k).",
    change="First bring the heads beside d_k: `x.transpose(1, 2)`.",
)
merge_heads.mistake(
    "the heads and d_k stay two axes",
    edits=[("pieces.flatten(2)", "pieces")],
    observed="Your result has shape (batch, length, heads, d_k).",
    change="Join the last two axes: `.flatten(2)`.",
)
merge_heads.mistake(
    "the heads follow each other as if they were positions",
    edits=[("pieces.flatten(2)", "x.flatten(1, 2)")],
    observed="Your result has shape (batch, heads * length, d_k).",
    change="The pieces belong side by side: concatenate along the last axis.",
)
merge_heads.mistake(
    "the heads are averaged",
    edits=[("pieces.flatten(2)", "pieces.mean(dim=2)")],
    observed="The last axis of your result has width d_k, not heads * d_k.",
    change="Lay the pieces side by side; the projection that follows decides how to mix them.",
)
merge_heads.mistake(
    "the heads are added",
    edits=[("pieces.flatten(2)", "pieces.sum(dim=2)")],
    observed="The last axis of your result has width d_k, not heads * d_k.",
    change="Lay the pieces side by side; the projection that follows decides how to mix them.",
)
merge_heads.mistake(
    "only one head is kept",
    edits=[("pieces.flatten(2)", "pieces[:, :, 0]")],
    observed="Your result holds head 0 and nothing of the others.",
    change="Lay all heads side by side.",
)
merge_heads.mistake(
    "the heads take turns, feature by feature",
    edits=[("pieces.flatten(2)", "pieces.transpose(2, 3).flatten(2)")],
    observed="Each vector begins with feature 0 of every head; it should begin with all features "
    "of head 0.",
    change="Join `(heads, d_k)` in this order, not `(d_k, heads)`.",
)
merge_heads.mistake(
    "the wrong two axes are swapped",
    edits=[("x.transpose(1, 2)", "x.transpose(2, 3)")],
    observed="Your result has shape (batch, heads, d_k * length): axes 2 and 3 were swapped.",
    change="Swap the heads and the length: `transpose(1, 2)`; axes are counted from 0.",
)
merge_heads.mistake(
    "the loop runs over the sentences instead of the heads",
    edits=[("pieces.flatten(2)", "torch.cat(list(x), dim=-1)")],
    observed="Your result has shape (heads, length, batch * d_k): a loop over a tensor, and "
    "`list(x)`, run along axis 0, the batch.",
    change="Take the heads apart along axis 1: `x.unbind(1)`.",
)
merge_heads.mistake(
    "the positions are joined too",
    edits=[("pieces.flatten(2)", "pieces.reshape(len(pieces), -1)")],
    observed="Your result has two axes: one long vector for each sentence.",
    change="Join the last two axes only: `.flatten(2)`.",
)
merge_heads.mistake(
    "the length comes before the batch",
    edits=[("x.transpose(1, 2)", "x.permute(2, 0, 1, 3)")],
    observed="Your result has shape (length, batch, d_model).",
    change="The batch is axis 0 and stays there: `transpose(1, 2)`.",
)
merge_heads.mistake(
    "the sizes are taken from `x.shape` in the wrong order: length before heads",
    edits=[("pieces.flatten(2)", "pieces.reshape(x.shape[0], x.shape[1], -1)")],
    observed="The argument has shape (batch, heads, length, d_k). Your result has as many "
    "positions as there are heads.",
    change="`batch, heads, length, d_k = x.shape` has to come before the transpose.",
)
merge_heads.mistake(
    "the last two axes are swapped, and a reshape goes to the final shape",
    edits=[
        ("x.transpose(1, 2)", "x.transpose(2, 3)"),
        ("pieces.flatten(2)", "pieces.reshape(x.shape[0], x.shape[2], -1)"),
    ],
    observed="The shape is right, but with two heads position 0 holds numbers of head 0 only.",
    change="Swap the heads and the length: `x.transpose(1, 2)`, which is not `(-2, -1)`.",
)
merge_heads.mistake(
    "the width is heads * length instead of heads * d_k",
    edits=[("pieces.flatten(2)", "pieces.reshape(x.shape[0], -1, x.shape[1] * x.shape[2])")],
    observed="In the argument axis 2 is the length; d_k is axis 3.",
    change="Take the width from the last axis: `x.shape[1] * x.shape[3]`.",
)
merge_heads.mistake(
    "the last head is missing: a loop ends one early",
    edits=[("pieces.flatten(2)", "pieces[:, :, : max(1, x.shape[1] - 1)].flatten(2)")],
    observed="With four heads of width 2 your vectors have 6 numbers instead of 8.",
    change="Go through all heads: `range(x.shape[1])`.",
)
merge_heads.mistake(
    "the heads are in reverse order",
    edits=[("pieces.flatten(2)", "pieces.flip(2).flatten(2)")],
    observed="Each of your vectors begins with the numbers of the last head.",
    change="Begin with head 0.",
)
merge_heads.mistake(
    "the batch is joined with the positions",
    edits=[("pieces.flatten(2)", "pieces.flatten(2).flatten(0, 1)")],
    observed="Your result has two axes, (batch * length, d_model).",
    change="Keep the batch: return (batch, length, heads * d_k).",
)
merge_heads.mistake(
    "the heads are a last axis",
    edits=[("pieces.flatten(2)", "pieces.transpose(2, 3)")],
    observed="Your result has shape (batch, length, d_k, heads).",
    change="Lay the pieces side by side: concatenate them along the last axis, `dim=-1`.",
)
merge_heads.mistake(
    "the heads follow each other as if they were sentences",
    edits=[("pieces.flatten(2)", "torch.cat(x.unbind(1))")],
    observed="Your result has shape (heads * batch, length, d_k): `torch.cat` joins along axis 0 "
    "unless it is told otherwise.",
    change="The pieces belong side by side: `torch.cat(..., dim=-1)`.",
)
merge_heads.mistake(
    "the length is joined with the heads",
    edits=[("pieces.flatten(2)", "pieces.flatten(1, 2)")],
    observed="Your result has shape (batch, length * heads, d_k).",
    change="Join the heads with d_k, the last two axes: `.flatten(2)`.",
)
merge_heads.mistake(
    "only the last head is kept",
    edits=[("pieces.flatten(2)", "pieces[:, :, -1]")],
    observed="Your result holds the last head and nothing of the others: does a loop overwrite "
    "what it has found?",
    change="Lay all heads side by side.",
)
merge_heads.mistake(
    "the length is the last axis",
    edits=[("pieces.flatten(2)", "pieces.flatten(2).mT")],
    observed="Your result has shape (batch, d_model, length).",
    change="Join the heads with d_k, and keep the length before them: `x.transpose(1, 2)` first.",
)
merge_heads.mistake(
    "the width is always 512, as in the paper",
    edits=[("pieces.flatten(2)", "pieces.reshape(len(pieces), -1, 512)")],
    observed="The vectors here are 4, 8 or 5 numbers wide, and cannot fill rows of 512.",
    change="Compute the width, heads * d_k, or let `.flatten(2)` do so.",
)
merge_heads.mistake(
    "the last head stays 0: a loop ends one early",
    edits=[
        ("pieces.flatten(2)", "pieces.index_fill(2, torch.tensor(x.shape[1] - 1), 0).flatten(2)")
    ],
    observed="The last d_k numbers of each of your vectors are 0.",
    change="Go through all heads: `range(heads)` ends at heads - 1 already.",
)
merge_heads.mistake(
    "head h is put at number h instead of h * d_k: the heads overlap",
    edits=[
        (
            "return pieces.flatten(2)",
            "merged = torch.zeros_like(pieces.flatten(2))\n"
            "    for head, piece in enumerate(x.unbind(1)):\n"
            "        merged[..., head : head + x.shape[3]] = piece\n"
            "    return merged",
        )
    ],
    observed="With two heads of width 2 the last number of each vector stays 0: head 1 overwrites "
    "half of head 0.",
    change="Begin where the head before ends: `merged[..., h * d_k : (h + 1) * d_k]`.",
)
merge_heads.mistake(
    "the positions come before the batch, and are joined as if the batch came first",
    edits=[("pieces.flatten(2)", "x.permute(2, 0, 1, 3).reshape(*pieces.shape[:2], -1)")],
    observed="One sentence alone is right. With two, sentence 0 gets positions of sentence 1.",
    change="Leave the batch in front: `x.permute(0, 2, 1, 3)` or `x.transpose(1, 2)`.",
)
