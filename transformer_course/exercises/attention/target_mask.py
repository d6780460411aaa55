"""The mask of a target sentence, which hides padding and future."""

from torch import Tensor

from transformer_course import model
from transformer_course.checker.cases import Property
from transformer_course.checker.exercise import exercise
from transformer_course.exercises import own
from transformer_course.exercises.attention.causal_mask import causal_mask
from transformer_course.exercises.attention.padding_mask import (
    PADDED,
    hides_all_padding,
    padding_mask,
)


@exercise(
    reference=model.target_mask,
    parts={"own.padding_mask": padding_mask, "own.causal_mask": causal_mask},
    cases=PADDED,
    properties=[
        Property("no padding token may be attended to", hides_all_padding),
        Property(
            "no position may attend to a later one",
            lambda value, case: not value.bool().triu(1).any(),
        ),
        Property(
            "a token that is not padding may attend to itself",
            lambda value, case: bool(
                value.bool()[:, 0].diagonal(dim1=1, dim2=2)[case.inputs[0] != case.inputs[1]].all()
            ),
        ),
    ],
    hints=[
        "You have both masks already. A key may be attended to if both of them allow it.",
        "The padding mask has shape (batch, 1, 1, length), the causal one (length, length). They "
        "broadcast to (batch, 1, length, length). Which operator is True where both are?",
        "`padding_mask(ids, pad_id) & causal_mask(ids.shape[1])`",
    ],
)
def target_mask(ids: Tensor, pad_id: int) -> Tensor:
    """Return what both masks allow, shape (batch, 1, length, length)."""
    return own.padding_mask(ids, pad_id) & own.causal_mask(ids.shape[1])


# Which tokens are padding, and along which axis

target_mask.shares(
    padding_mask,
    "the padding is True and the words are False",
    "0 is taken for the padding instead of `pad_id`",
    "ids below `pad_id` count as padding",
    "padding is expected at the end of each row",
    "everything from the first padding on is hidden",
    "the last key of each sentence is always hidden",
    "either `pad_id` or 0 counts as padding",
    "queries are masked instead of keys",
    "the padding's queries are masked as well as its keys",
    "the padding mask has two axes, (batch, key)",
    "the axis of the heads is missing",
    "the new axes come first",
    "only the first sentence is looked at",
    "all sentences share one row: a key is open only if it is in all of them",
)
target_mask.shares(
    padding_mask,
    "it holds 0 and -inf, to be added to scores",
    edits=[
        ("return own", "return torch.where(own"),
        ("ids.shape[1])", "ids.shape[1]), 0.0, -torch.inf)"),
    ],
)
target_mask.shares(
    padding_mask,
    "it holds 0 and -1e9, to be added to scores",
    edits=[
        ("return own", "return torch.where(own"),
        ("ids.shape[1])", "ids.shape[1]), 0.0, -1e9)"),
    ],
)

# Which positions are the future

target_mask.shares(
    causal_mask,
    "each position may attend to the next one too",
    "a position may not attend to itself",
    "each position sees itself and the future instead of the past",
    "the future is True and the rest False",
    "each position may attend to itself only",
    "each position sees itself and the one before it only",
    "the last row is empty: a loop ends one early",
    "the first row is empty: a loop begins one late",
)
target_mask.mistake(
    "nothing hides the future",
    edits=[(".tril()", "")],
    observed="Row 0 allows every word, the future too.",
    change="The padding mask alone is not enough: combine it, by `&`, with the lower triangle.",
)

# Both

target_mask.mistake(
    "one of the two masks is enough: OR instead of AND",
    edits=[("& own", "| own")],
    observed="Row 0 allows every word, the future too, and the last row allows the padding. "
    "`+` between boolean tensors is OR as well.",
    change="Both must allow: combine with `&`.",
)
target_mask.mistake(
    "the causal mask is left out",
    edits=[(" & own.causal_mask(ids.shape[1])", "")],
    observed="Your mask has one row for all queries, so each position sees the future.",
    change="Combine it with the causal mask: `& causal_mask(ids.shape[1])`.",
)
target_mask.mistake(
    "the padding mask is left out",
    edits=[("(ids != pad_id)", "torch.ones_like(ids, dtype=torch.bool)")],
    observed="Your mask is the same for every sentence: padding may be attended to.",
    change="Combine it with the padding mask: `padding_mask(ids, pad_id) & ...`.",
)
target_mask.mistake(
    "it is nothing but the causal mask",
    edits=[("own.padding_mask(ids, pad_id) & own.causal", "own.causal")],
    observed="Your mask has two axes and is the same for every sentence: padding may be attended "
    "to.",
    change="Combine it with the padding mask: `padding_mask(ids, pad_id) & ...`.",
)
target_mask.mistake(
    "what only one of the two allows: `^` or `!=` instead of AND",
    edits=[("& own", "^ own")],
    observed="Where both masks are True, yours is False, and where one is, True.",
    change="Both must allow: combine with `&`.",
)
target_mask.mistake(
    "the whole mask is turned round",
    edits=[("return own", "return ~(own"), ("ids.shape[1])", "ids.shape[1]))")],
    observed="What is forbidden is True: padding and future.",
    change='Turn it round with `~`: True means "may attend".',
)
target_mask.mistake(
    "the causal mask is as long as the batch",
    edits=[("ids.shape[1]", "len(ids)")],
    observed="`len(ids)` and `ids.shape[0]` count sentences. That is an error, unless there are as "
    "many sentences as tokens in each.",
    change="Take the length from axis 1: `ids.shape[1]`.",
)
target_mask.mistake(
    "each position may attend to itself, padding too",
    edits=[
        ("ids.shape[1])", "ids.shape[1]) | torch.eye(ids.shape[1], dtype=torch.bool)"),
    ],
    observed="The diagonal is True even where it is padding: no padding may be attended to.",
    change="Leave the diagonal as `&` makes it: attention itself sees to rows without any key.",
)
