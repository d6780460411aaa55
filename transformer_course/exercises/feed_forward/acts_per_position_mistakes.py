"""Mistakes in other ways to test a layer; the commonest are with the exercise."""

from transformer_course.exercises.feed_forward.acts_per_position import (
    LOOKS_ELSEWHERE,
    acts_per_position,
    in_order,
)

acts_per_position.mistake(
    "only position 3 is changed",
    edits=[*LOOKS_ELSEWHERE, ("range(x.shape[1])", "[3]")],
    observed="A layer that swaps the first two positions passes your test, and so does one with "
    "other weights at each position; a sentence of three words stops it.",
    change="Change every position in turn. Then also test that all positions are treated alike.",
)
acts_per_position.mistake(
    "only the position in the middle is changed",
    edits=[*LOOKS_ELSEWHERE, ("range(x.shape[1])", "[x.shape[1] // 2]")],
    observed="A layer that swaps the first two positions passes your test, and so does one with "
    "other weights at each position.",
    change="Change every position in turn. Then also test that all positions are treated alike.",
)
acts_per_position.mistake(
    "only the first position is changed",
    edits=[*LOOKS_ELSEWHERE, ("range(x.shape[1])", "range(1)")],
    observed="A layer that adds the next position to each passes your test, because no position "
    "has the first one as its next; so does one with other weights at each position.",
    change="Change every position in turn. Then also test that all positions are treated alike.",
)
acts_per_position.mistake(
    "only the last position is changed",
    edits=[*LOOKS_ELSEWHERE, ("range(x.shape[1])", "[x.shape[1] - 1]")],
    observed="The mean over the positions so far passes your test, because only the last output "
    "sees the last position; so does a layer with other weights at each position.",
    change="Change every position in turn. Then also test that all positions are treated alike.",
)
acts_per_position.mistake(
    "only two positions change places",
    edits=in_order("[1, 0, *range(2, x.shape[1])]"),
    observed="A layer that swaps the first two positions passes your test, and so does one that "
    "treats the last position in another way; self-attention does as well.",
    change="Let every position take part. Then also test whether other positions matter.",
)
acts_per_position.mistake(
    "only two positions are compared with each other",
    edits=[
        *LOOKS_ELSEWHERE,
        (
            "atol=1e-5)\n",
            "atol=1e-5)\n        and torch.allclose("
            "layer(_first_two_swapped(x)), _first_two_swapped(together), atol=1e-5)\n",
        ),
    ],
    observed="A layer that changes the sign at the last position passes your test: it treats the "
    "first two alike.",
    change="Let every position change its place, or compare each with what the layer gives for it "
    "alone.",
)
acts_per_position.mistake(
    "only one other order is tried, the reverse",
    edits=in_order("[*reversed(range(x.shape[1]))]"),
    observed="A layer that reverses the positions passes your test; so does self-attention.",
    change="Use an order that is not its own reverse, such as `torch.randperm`. Then also test "
    "whether other positions matter.",
)
acts_per_position.mistake(
    "all positions hold the same vector",
    edits=[
        ("together = layer(x)", "together = layer(x[:, :1].expand_as(x))"),
        ("layer(x[:, [position]])", "together[:, [0]]"),
    ],
    observed="Self-attention passes your test: where all vectors are equal, a mean of them is the "
    "vector itself, and mixing cannot show.",
    change="Use vectors that differ, and see whether the output at a position changes with the "
    "others.",
)
acts_per_position.mistake(
    "the tolerance is too wide",
    edits=[("1e-5", "0.1")],
    observed="A layer that adds a little of the mean to each position passes your test.",
    change="Allow for rounding only: `atol=1e-5`.",
)

# The same, by those who test as well whether equal vectors get equal outputs at all positions.
for _which, _positions, _passing in [
    (
        "last",
        "[x.shape[1] - 1]",
        "The mean over the positions so far passes your test, because "
        "only the last output sees the last position; so does a layer that swaps the first two.",
    ),
    (
        "first",
        "range(1)",
        "A layer that puts the mean over all positions at the first one passes "
        "your test, because no other output sees the first position.",
    ),
]:
    acts_per_position.mistake(
        f"only the {_which} position is changed, though equal vectors are compared",
        edits=[
            *LOOKS_ELSEWHERE,
            ("range(x.shape[1])", _positions),
            ("return all(", "return _alike_where_equal(layer, x) and all("),
        ],
        observed=_passing,
        change="Change every position in turn, `for i in range(x.shape[1])`, and look at the "
        "others each time.",
    )
