"""Cut vectors into heads."""

import torch
from torch import Tensor

from transformer_course import model
from transformer_course.checker.cases import Case, Property
from transformer_course.checker.exercise import exercise
from transformer_course.exercises.multi_head_attention.inputs import numbered


@exercise(
    reference=model.split_heads,
    cases=[
        Case((numbered(1, 3, 4), 2)),
        Case((numbered(2, 5, 8), 4)),
        Case((numbered(3, 5, 12).double(), 2)),
        Case((numbered(2, 4, 12), 4)),
        Case((numbered(2, 3, 5), 1)),
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
            lambda value, case: all(
                torch.isin(mine, x[0]).all()
                for mine, x in zip(value[:, :, 0], case.inputs[0], strict=True)
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


split_heads.mistake(
    "`view` goes straight to the final shape, without a transpose",
    edits=[
        ("length, heads, d_model // heads).transpose(1, 2)", "heads, length, d_model // heads)")
    ],
    observed="The shape is right, but the vectors 0 1 2 3, 4 5 6 7 and 8 9 10 11 give head 0 the "
    "rows 0 1, 2 3 and 4 5: it holds all of position 0 and half of position 1, and never sees "
    "position 2.",
    change="`view` and `reshape` read the numbers in their old order: ask for `(batch, length, "
    "heads, d_k)`, then `transpose(1, 2)`.",
)
split_heads.mistake(
    "the heads come after the length",
    edits=[(".transpose(1, 2)", "")],
    observed="Your result has shape (batch, length, heads, d_k): attention would compare the "
    "heads of one position, not the positions.",
    change="Add `.transpose(1, 2)`: attention works on the last two axes, (length, d_k).",
)
split_heads.mistake(
    "the heads come before the batch",
    edits=[(".transpose(1, 2)", ".permute(2, 0, 1, 3)")],
    observed="Your result has shape (heads, batch, length, d_k), as `torch.stack` makes it.",
    change="Keep the batch first: `torch.stack(pieces, dim=1)`.",
)
split_heads.mistake(
    "the heads are the last axis",
    edits=[(".transpose(1, 2)", ".transpose(2, 3)")],
    observed="Your result has shape (batch, length, d_k, heads).",
    change="The order of the axes is (batch, heads, length, d_k).",
)
split_heads.mistake(
    "the length is the last axis",
    edits=[(".transpose(1, 2)", ".permute(0, 2, 3, 1)")],
    observed="Your result has shape (batch, heads, d_k, length).",
    change="Leave d_k last; attention itself transposes the keys.",
)
split_heads.mistake(
    "the wrong two axes are swapped",
    edits=[(".transpose(1, 2)", ".transpose(1, 3)")],
    observed="Your result has shape (batch, d_k, heads, length): axes 1 and 3 were swapped.",
    change="Swap the length and the heads: `transpose(1, 2)`; axes are counted from 0.",
)
split_heads.mistake(
    "the length comes before the batch",
    edits=[(".transpose(1, 2)", ".permute(1, 2, 0, 3)")],
    observed="Your result has shape (length, heads, batch, d_k).",
    change="The batch is axis 0 of x and stays there.",
)
split_heads.mistake(
    "the heads are folded into the batch",
    edits=[(".transpose(1, 2)", ".transpose(1, 2).flatten(0, 1)")],
    observed="Your result has shape (batch * heads, length, d_k). This works too, but then "
    "every mask must be repeated for each head.",
    change="Keep four axes: (batch, heads, length, d_k).",
)
split_heads.mistake(
    "the features are dealt out to the heads in turn",
    edits=[("heads, d_model // heads)", "d_model // heads, heads).transpose(2, 3)")],
    observed="With two heads, head 0 of the vector 0 1 2 3 holds 0 and 2; it should hold 0 and 1.",
    change="Cut the last axis into `(heads, d_k)`, not `(d_k, heads)`.",
)
split_heads.mistake(
    "the number of heads and the width of a head are exchanged",
    # `movedim` does what `transpose` does. It is here because with other axes swapped as well
    # this is the features dealt out in turn, which is then the likelier mistake.
    edits=[("heads, d_model // heads).transpose(1, 2)", "d_model // heads, heads).movedim(2, 1)")],
    observed="With d_model = 8 and 4 heads you return 2 heads of width 4.",
    change="There are `heads` pieces, each `d_model // heads` wide.",
)
split_heads.mistake(
    "every head gets the whole vector",
    edits=[
        ("view(batch, length, heads, d_model // heads)", "unsqueeze(2).expand(-1, -1, heads, -1)")
    ],
    observed="Your last axis is still d_model wide.",
    change="Cut: each head gets its own `d_model // heads` numbers.",
)
split_heads.mistake(
    "the pieces are not joined into one tensor",
    edits=[(".transpose(1, 2)", ".unbind(2)")],
    observed="You return several tensors, each of shape (batch, length, d_k).",
    change="Join them along a new axis after the batch: `torch.stack(pieces, dim=1)`.",
)
split_heads.mistake(
    "the length is cut instead of the vectors",
    edits=[
        (
            "x.view(batch, length, heads, d_model // heads).transpose(1, 2)",
            "torch.stack(x.chunk(heads, dim=1), dim=1)",
        )
    ],
    observed="With 4 positions and 4 heads each head gets one position, with all its features. "
    "`heads` need not even divide the length.",
    change="Every head sees every position: cut the last axis.",
)
split_heads.mistake(
    "head h begins at number h instead of h * d_k: the heads overlap",
    edits=[
        (
            "view(batch, length, heads, d_model // heads)",
            "unfold(-1, d_model // heads, 1)[:, :, :heads]",
        )
    ],
    observed="With two heads, head 1 of the vector 0 1 2 3 holds 1 and 2; it should hold 2 and 3.",
    change="Begin where the head before ends: `x[..., h * d_k : (h + 1) * d_k]`.",
)
split_heads.mistake(
    "the last head is missing: a loop ends one early",
    edits=[(".transpose(1, 2)", ".transpose(1, 2)[:, :-1]")],
    observed="Your result has one head too few.",
    change="Go through all heads, `range(heads)`; the last piece ends at `d_model`.",
)
split_heads.mistake(
    "all heads get the first piece",
    edits=[
        (
            "view(batch, length, heads, d_model // heads)",
            "view(batch, length, heads, d_model // heads)[:, :, :1].expand(-1, -1, heads, -1)",
        )
    ],
    observed="All your heads are equal to head 0.",
    change="Head h takes the numbers from `h * d_k` on: does your loop use h?",
)
split_heads.mistake(
    "the heads are in reverse order",
    edits=[(".transpose(1, 2)", ".transpose(1, 2).flip(1)")],
    observed="Your head 0 holds the last d_k numbers of each vector.",
    change="Begin with the first d_k numbers.",
)
split_heads.mistake(
    "the width of a head is not a whole number: `/` instead of `//`",
    edits=[("// heads", "/ heads")],
    observed="`/` makes a float of two whole numbers, even where nothing is left over, and torch "
    "wants whole sizes.",
    change="Write `d_model // heads`.",
)
split_heads.mistake(
    "the width of a head is 64, as in the paper",
    edits=[("length, heads, d_model // heads", "-1, heads, 64")],
    observed="Vectors narrower than 64 cannot be cut like that, and wider ones only if 64 happens "
    "to fit.",
    change="Compute the width: `d_model // heads`.",
)
split_heads.mistake(
    "x is cut into pieces of `heads` numbers, not into `heads` pieces",
    # Instead of the width of a head; the pieces are not moved before the length either.
    edits=[("heads, d_model // heads).transpose(1, 2)", "d_model // heads, heads)")],
    observed="With d_model = 8 and 4 heads the pieces are 4 numbers wide, and there are 2 of them; "
    "they come after the length.",
    change="`torch.split` takes the size of a piece, `torch.chunk` the number of pieces. Then move "
    "the heads before the length.",
)
split_heads.mistake(
    "x is transposed first, and a reshape goes to the final shape",
    edits=[
        (
            "x.view(batch, length, heads, d_model // heads).transpose(1, 2)",
            "x.transpose(1, 2).reshape(batch, heads, length, d_model // heads)",
        )
    ],
    observed="The shape is right, but head 0 of the vectors 0 1 2 3, 4 5 6 7 and 8 9 10 11 has 0 4 "
    "as its first row: feature 0 of two positions.",
    change="Cut first, `x.view(batch, length, heads, d_k)`, then `transpose(1, 2)`.",
)
split_heads.mistake(
    "`view` asks for (heads, length), and the two are swapped afterwards",
    edits=[("length, heads, d_model", "heads, length, d_model")],
    observed="Your result has shape (batch, length, heads, d_k), and its vectors mix positions.",
    change="`view` reads the numbers as they lie: ask for `(batch, length, heads, d_k)`, then "
    "`transpose(1, 2)`.",
)
split_heads.mistake(
    "there are always 8 heads, as in the paper",
    edits=[("heads, d_model // heads", "8, d_model // 8")],
    observed="Vectors whose width is no multiple of 8 cannot be cut like that, and others get 8 "
    "heads whatever `heads` is.",
    change="Use the argument: `x.view(batch, length, heads, d_model // heads)`.",
)
split_heads.mistake(
    "the last head stays 0: a loop ends one early",
    edits=[(".transpose(1, 2)", ".transpose(1, 2).index_fill(1, torch.tensor(heads - 1), 0)")],
    observed="Your last head holds zeros only.",
    change="Go through all heads: `range(heads)` ends at heads - 1 already.",
)
split_heads.mistake(
    "the heads come before the batch, and the length is the last axis",
    edits=[(".transpose(1, 2)", ".permute(2, 0, 3, 1)")],
    observed="Your result has shape (heads, batch, d_k, length).",
    change="Keep the batch first, `torch.stack(pieces, dim=1)`, and leave d_k last; attention "
    "itself transposes the keys.",
)
split_heads.mistake(
    "the heads' pieces lie one behind the other, and are cut as if the sentences came first",
    edits=[
        (
            "x.view(batch, length, heads, d_model // heads).transpose(1, 2)",
            "torch.cat(x.chunk(heads, dim=2)).view(batch, heads, length, d_model // heads)",
        )
    ],
    observed="One sentence alone is right. With two, sentence 0 gets pieces of sentence 1.",
    change="Join the pieces along an axis of their own: "
    "`torch.stack(x.chunk(heads, dim=2), dim=1)`.",
)
split_heads.mistake(
    "`view` without a transpose, and the number of heads is taken for their width",
    edits=[
        (
            "length, heads, d_model // heads).transpose(1, 2)",
            "d_model // heads, length, heads)",
        )
    ],
    observed="There are d_k heads, each as wide as there should be heads, and head 0 holds all of "
    "the first positions.",
    change="`view(batch, length, heads, d_k)`, then `transpose(1, 2)`.",
)
