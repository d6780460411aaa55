"""The mask that hides padding."""

import torch
from torch import Tensor

from transformer_course import model
from transformer_course.checker.cases import Case, Property
from transformer_course.checker.exercise import exercise

PADDED = [
    Case((torch.tensor([[5, 7, 0]]), 0)),
    Case((torch.tensor([[5, 7, 4, 6], [8, 4, 0, 0], [6, 0, 0, 0]]), 0)),
    Case((torch.tensor([[0, 4, 2, 3, 3], [5, 0, 1, 6, 3]]), 3)),
    Case((torch.tensor([[1, 1, 6, 0], [7, 5, 4, 8]]), 1)),
    Case((torch.tensor([[4, 5, 6], [6, 4, 0], [5, 0, 0]]), 0)),
]


def hides_all_padding(value: Tensor, case: Case) -> bool:
    """Whether no mask of the batch lets anybody attend to padding."""
    ids, pad_id = case.inputs
    padding = (ids == pad_id)[:, None, None, :]
    return not (value.bool() & padding).any()


@exercise(
    reference=model.padding_mask,
    cases=PADDED,
    properties=[
        Property("no padding token may be attended to", hides_all_padding),
        Property(
            "every other token may be attended to",
            lambda value, case: bool(
                value.bool()[(case.inputs[0] != case.inputs[1])[:, None, None, :]].all()
            ),
        ),
    ],
    hints=[
        "Which comparison of `ids` with `pad_id` is True for the tokens that may be attended to?",
        "`ids != pad_id` has shape (batch, key). The scores have shape (batch, heads, query, key): "
        "where do two new axes go?",
        "`(ids != pad_id)[:, None, None, :]`",
    ],
)
def padding_mask(ids: Tensor, pad_id: int) -> Tensor:
    """Return True for each token that is not padding, shape (batch, 1, 1, key)."""
    return (ids != pad_id)[:, None, None, :]


# Which tokens are padding, and along which axis

padding_mask.mistake(
    "the padding is True and the words are False",
    edits=[("ids != pad_id", "ids == pad_id")],
    observed="All attention goes to the padding: True means that a key may be attended to.",
    change='True means "may attend": compare with `!=`, or turn the result round with `~`.',
)
padding_mask.mistake(
    "0 is taken for the padding instead of `pad_id`",
    edits=[("ids != pad_id", "ids != 0")],
    observed="Right while `pad_id` is 0. With `pad_id=3` the padding may be attended to, and the "
    "token 0 may not.",
    change="Compare with the argument: `ids != pad_id`. `ids.bool()` compares with 0 too.",
)
padding_mask.mistake(
    "ids below `pad_id` count as padding",
    edits=[("ids != pad_id", "ids > pad_id")],
    observed="Right while `pad_id` is 0. With `pad_id=3` the tokens 0, 1 and 2 are hidden too.",
    change="Compare with `!=`, not with `>`: an id is a name, its size means nothing.",
)
padding_mask.mistake(
    "padding is expected at the end of each row",
    edits=[
        ("ids != pad_id", "ids.ne(pad_id).sum(dim=1, keepdim=True) > torch.arange(ids.shape[1])")
    ],
    observed="You count the words and let that many through, from the first place on. A row that "
    "begins with padding, 1 1 6 0 with `pad_id=1`, hides its words.",
    change="Compare each id by itself: `ids != pad_id`.",
)
padding_mask.mistake(
    "everything from the first padding on is hidden",
    edits=[("(ids != pad_id)", "((ids == pad_id).cumsum(dim=1) == 0)")],
    observed="A row that begins with padding, 1 1 6 0 with `pad_id=1`, hides its words.",
    change="Compare each id by itself: `ids != pad_id`.",
)
padding_mask.mistake(
    "the last key of each sentence is always hidden",
    edits=[
        ("(ids != pad_id)", "(ids != pad_id).index_fill(1, torch.tensor(ids.shape[1] - 1), False)")
    ],
    observed="The last column is False even where it holds a word: a loop or a slice ends one "
    "early.",
    change="Go through all keys: `range(length)`, not `range(length - 1)`.",
)
padding_mask.mistake(
    "either `pad_id` or 0 counts as padding",
    edits=[("(ids != pad_id)", "((ids != pad_id) & (ids != 0))")],
    observed="Right while `pad_id` is 0. With `pad_id=3` the token 0 is hidden too.",
    change="Only `pad_id` is padding: `ids != pad_id`.",
)
padding_mask.mistake(
    "queries are masked instead of keys",
    edits=[("[:, None, None, :]", "[:, None, :, None]")],
    observed="The rows of the padding are False; its columns should be, so that nothing attends "
    "to it.",
    change="The last axis is the keys': `[:, None, None, :]`, not `[:, None, :, None]`.",
)
padding_mask.mistake(
    "the padding's queries are masked as well as its keys",
    edits=[
        ("(ids !=", "(real := ids !="),
        ("[:, None, None, :]", "[:, None, :, None] & real[:, None, None, :]"),
    ],
    observed="The rows of the padding are all False: they have nothing to attend to. What comes "
    "out there is never used, so no row needs hiding.",
    change="Mask keys only: `(ids != pad_id)[:, None, None, :]`.",
)
padding_mask.mistake(
    "the padding mask has two axes, (batch, key)",
    edits=[("[:, None, None, :]", "")],
    observed="Against (query, key) a (batch, key) mask is an error, or, with as many sentences as "
    "queries, a mask for the wrong rows.",
    change="Insert the axes of heads and queries: `[:, None, None, :]`.",
)
padding_mask.mistake(
    "the axis of the heads is missing",
    edits=[("[:, None, None, :]", "[:, None, :]")],
    observed="A mask of three axes puts the batch where the scores have the heads: an error, or, "
    "with as many sentences as heads, the mask of another sentence.",
    change="Insert two axes: `[:, None, None, :]`.",
)
padding_mask.mistake(
    "the batch is not the first axis any more",
    edits=[("[:, None, None, :]", "[None, :, None, :]")],
    observed="Your mask has shape (1, batch, 1, key): the batch is where the scores have the "
    "heads.",
    change="Put both new axes after the batch: `[:, None, None, :]`.",
)
padding_mask.mistake(
    "the keys come before the new axes",
    edits=[("[:, None, None, :]", "[:, :, None, None]")],
    observed="Your mask has shape (batch, key, 1, 1): the keys are where the scores have the "
    "heads.",
    change="Put both new axes between batch and keys: `[:, None, None, :]`.",
)
padding_mask.mistake(
    "all sentences share one row: a key is open only if it is in all of them",
    edits=[("(ids != pad_id)", "(ids != pad_id).all(dim=0).expand(ids.shape)")],
    observed="Your mask is the same for each sentence of the batch.",
    change="Compare each id by itself: `ids != pad_id`, without `all` or `any`.",
)
padding_mask.mistake(
    "only the first sentence is looked at",
    edits=[("(ids != pad_id)", "(ids[:1] != pad_id)")],
    observed="Your mask has shape (1, 1, 1, key), that of one sentence.",
    change="Compare all ids, `ids != pad_id`, not those of `ids[0]`.",
)
padding_mask.mistake(
    "the new axes come first",
    edits=[("[:, None, None, :]", "[None, None]")],
    observed="The batch is where the scores have the queries: row i of the mask belongs to "
    "sentence i.",
    change="Keep the batch in front: `[:, None, None, :]`.",
)
padding_mask.mistake(
    "it holds 0 and -inf, to be added to scores",
    edits=[("return (", "return torch.where(("), ("None, :]", "None, :], 0.0, -torch.inf)")],
    observed="Your mask holds numbers; a boolean one is wanted, with True where one may attend.",
    change="Return the comparison or the triangle itself, of dtype `torch.bool`.",
)
padding_mask.mistake(
    "it holds 0 and -1e9, to be added to scores",
    edits=[("return (", "return torch.where(("), ("None, :]", "None, :], 0.0, -1e9)")],
    observed="Your mask holds numbers; a boolean one is wanted, with True where one may attend.",
    change="Return the comparison or the triangle itself, of dtype `torch.bool`.",
)
padding_mask.mistake(
    "it holds the ids, with 0 for the padding",
    edits=[("(ids != pad_id)", "(ids * (ids != pad_id))")],
    observed="Your mask holds numbers; True and False are wanted.",
    change="Return the comparison itself: `ids != pad_id`.",
)
padding_mask.mistake(
    "the mask is copied for every query",
    edits=[("[:, None, None, :]", "[:, None, None].repeat(1, 1, ids.shape[1], 1)")],
    observed="It works, but your mask has a row for every query, though all its rows are equal: it "
    "is that many times larger.",
    change="Leave the axis of the queries at 1: it is broadcast.",
)
padding_mask.mistake(
    "1 is taken for the padding instead of `pad_id`",
    edits=[("ids != pad_id", "ids != 1")],
    observed="It is right only where `pad_id` is 1.",
    change="Compare with `pad_id`.",
)
padding_mask.mistake(
    "batch and keys have changed places",
    edits=[("(ids != pad_id)", "(ids != pad_id).T")],
    observed="Your mask has shape (key, 1, 1, batch).",
    change="Keep the batch first, without a transpose: `(ids != pad_id)[:, None, None, :]`.",
)
padding_mask.mistake(
    "the words are counted, and one key too many is let through",
    edits=[
        ("ids != pad_id", "ids.ne(pad_id).sum(dim=1, keepdim=True) >= torch.arange(ids.shape[1])")
    ],
    observed="The first padding after the words is True: places are counted from 0, so that of "
    "the first padding is the number of words.",
    change="Compare each id by itself: `ids != pad_id`.",
)
padding_mask.mistake(
    "`>=` lets the padding itself through",
    edits=[("ids != pad_id", "ids >= pad_id")],
    observed="With `pad_id` 0 everything is True, the padding too.",
    change="Compare with `!=`: an id is a name, its size means nothing.",
)
padding_mask.mistake(
    "each sentence is open or closed as a whole",
    edits=[
        ("(ids != pad_id)[:, None, None, :]", "(ids != pad_id).any(dim=1)[:, None, None, None]")
    ],
    observed="Your mask has shape (batch, 1, 1, 1): one True for each sentence that holds a word.",
    change="Compare each id by itself, without `any` or `all`.",
)
