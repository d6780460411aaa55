"""From pairs of sentences to rectangles of ids."""

from collections.abc import Callable

import torch
from torch import Tensor

from transformer_course.checker.cases import Case, Property
from transformer_course.checker.exercise import exercise
from transformer_course.translation.corpora import batches

Pairs = list[tuple[list[int], list[int]]]
_PAIRS = [([4, 5, 6], [7, 8]), ([5], [6, 4, 8, 7]), ([6, 4], [5])]
_NEEDED = (
    "the three rectangles; what goes in where padding comes out has no effect, and may be `eos`"
)


def _rectangles(code: Callable, pairs: Pairs, bos: int, eos: int, pad: int) -> tuple:
    """Collate; what goes in where padding is to come out has no effect, so it is blanked."""
    source, target_in, target_out = code(pairs, bos, eos, pad)
    if isinstance(target_in, Tensor) and isinstance(target_out, Tensor):
        same_shape = target_in.shape == target_out.shape
        target_in = torch.where(target_out == pad, pad, target_in) if same_shape else target_in
    return source, target_in, target_out


@exercise(
    reference=batches.collate,
    cases=[
        Case(([([4, 5], [6, 7, 8])], 1, 2, 0), observe=_rectangles),
        Case((_PAIRS, 1, 2, 0), observe=_rectangles, looks_at=_NEEDED),
        Case((_PAIRS, 2, 3, 9), observe=_rectangles, looks_at=_NEEDED),
        Case(([([4, 4, 4, 4], [5]), ([6], [7])], 1, 2, 0), observe=_rectangles),
    ],
    properties=[
        Property(
            "the source holds no begin token",
            lambda value, case: not (value[0] == case.inputs[1]).any(),
        ),
        Property(
            "every target in begins with the begin token",
            lambda value, case: bool((value[1][:, 0] == case.inputs[1]).all()),
        ),
        Property(
            "every target out holds the end token once",
            lambda value, case: bool(((value[2] == case.inputs[2]).sum(dim=1) == 1).all()),
        ),
        Property(
            "target out is target in, one step ahead",
            lambda value, case: torch.equal(
                value[1][:, 1:],
                torch.where(value[2][:, 1:] == case.inputs[3], case.inputs[3], value[2][:, :-1]),
            ),
        ),
    ],
    hints=[
        "Write the three lists for one pair on paper first. If the target is `[7, 8]`, what does "
        "the decoder read first, and what must it predict last?",
        "For one pair: source `[*source, eos]`, target in `[bos, *target]`, target out "
        "`[*target, eos]`.",
        "Then fill each rectangle: `row + [pad] * (longest - len(row))`, where `longest` is the "
        "longest row of this batch, and `torch.tensor(rows)`.",
    ],
)
def collate(pairs: list, bos: int, eos: int, pad: int) -> tuple[Tensor, Tensor, Tensor]:
    """Return source, target in and target out as rectangles of ids."""

    def rectangle(rows: list[list[int]]) -> Tensor:
        longest = max(len(row) for row in rows)
        return torch.tensor([row + [pad] * (longest - len(row)) for row in rows])

    return (
        rectangle([[*source, eos] for source, _ in pairs]),
        rectangle([[bos, *target] for _, target in pairs]),
        rectangle([[*target, eos] for _, target in pairs]),
    )


collate.mistake(
    "target in and target out are the same",
    edits=[("[bos, *target]", "[*target, eos]")],
    observed="For the target 6 7 8 the decoder reads 6 7 8 and must predict 6 7 8: each answer is "
    "right in front of it. The loss falls to nearly 0 and nothing is learned.",
    change="Put `bos` before what goes in and `eos` after what comes out.",
)
collate.mistake(
    "the shift goes the wrong way",
    edits=[("[bos, *target]", "[*target, eos]"), ("[*target, eos]", "[bos, *target]")],
    observed="The decoder reads a word and must predict the one before it; `bos` comes out.",
    change="Swap them: `bos` goes in first, `eos` comes out last.",
)
collate.mistake(
    "the source has no end token",
    edits=[("[*source, eos]", "[*source]")],
    observed="The source's rows are one shorter than wanted; an empty sentence would have "
    "nothing to attend to.",
    change="Append `eos` to each source too.",
)
collate.mistake(
    "the source begins with the begin token",
    edits=[("[*source, eos]", "[bos, *source, eos]")],
    observed="The first column of the source is `bos`.",
    change="The begin token tells the decoder to start; the source takes only `eos`, at its end.",
)
collate.mistake(
    "the source has the begin token in place of the end token",
    edits=[("[*source, eos]", "[bos, *source]")],
    observed="The source begins with `bos` and does not end with `eos`; its shape is right.",
    change="Append `eos` to each source, and leave `bos` to the decoder: `[*source, eos]`.",
)
collate.mistake(
    "source and target are filled up to one width",
    edits=[
        ("max(len(row) for row in rows)", "max(len(ids) for pair in pairs for ids in pair) + 1")
    ],
    observed="The three rectangles are equally wide, as wide as the longest sentence of both "
    "languages.",
    change="Take the longest row of each rectangle alone.",
)
collate.mistake(
    "padding comes first",
    edits=[("row + [pad]", "[pad]"), ("len(row))", "len(row)) + row")],
    observed="Short rows begin with padding, so their words are at other positions than in a long "
    "row.",
    change="Append the padding: `row + [pad] * n`.",
)
collate.mistake(
    "rows are filled up with 0 instead of `pad`",
    edits=[("[pad]", "[0]")],
    observed="With `pad=9` the short rows end in 0, which is then an ordinary token.",
    change="Use the argument `pad`.",
)
collate.mistake(
    "the rectangles lie on their side",
    edits=[("for row in rows])", "for row in rows]).T")],
    observed="The first axis is the token, the second the sentence.",
    change="Batch first: one row for each sentence. `pad_sequence` needs `batch_first=True`.",
)
collate.mistake(
    "the end token comes after the padding",
    edits=[
        ("row + [pad]", "row[: -1 if row[-1] == eos else None] + [pad]"),
        ("(longest - len(row))", "(longest - len(row)) + [eos] * (row[-1] == eos)"),
    ],
    observed="The last column of the source and of target out is `eos` in every row; short rows "
    "have padding in front of it.",
    change="Append `eos` to each row first, then fill the row up.",
)
collate.mistake(
    "rows are filled up with the end token",
    edits=[("[pad]", "[eos]")],
    observed="Short rows end in several `eos`, and nothing tells padding from the end.",
    change="Use the argument `pad`.",
)
collate.mistake(
    "target in and target out are the whole sentence with both its ends",
    edits=[("[bos, *target]", "[bos, *target, eos]"), ("[*target, eos]", "[bos, *target, eos]")],
    observed="Both hold `bos`, the words and `eos`, so the token to predict is the one just read.",
    change="Leave `eos` off what goes in and `bos` off what comes out.",
)
collate.mistake(
    "there is no begin token",
    edits=[("[bos, *target]", "[*target]"), ("[*target, eos]", "[*target[1:], eos]")],
    observed="Target in begins with the first word, so that word is never predicted, and when "
    "translating there is nothing to start from.",
    change="Target in is `[bos, *target]`, and target out holds all words of the target.",
)
collate.mistake(
    "there is no end token to predict",
    edits=[("[bos, *target]", "[bos, *target[:-1]]"), ("[*target, eos]", "[*target]")],
    observed="With `bos=1` and `eos=2` you make 1 6 7 and 6 7 8 of the target 6 7 8. Wanted are "
    "1 6 7 8 and 6 7 8 2: without the end token the model never learns to stop.",
    change="Target out is `[*target, eos]`, and target in holds all words of the target.",
)
collate.mistake(
    "target in ends with the end token too",
    edits=[("[bos, *target]", "[bos, *target, eos]")],
    observed="Target in is one longer than target out: it holds `eos`, after which nothing is "
    "to be predicted.",
    change="Leave `eos` off what goes in.",
)
collate.mistake(
    "target in has no begin token",
    edits=[("[bos, *target]", "[*target]")],
    observed="Target in begins with the first word, and is one shorter than target out.",
    change="Target in is `[bos, *target]`.",
)
collate.mistake(
    "target out has no end token",
    edits=[("[*target, eos]", "[*target]")],
    observed="Target out ends with the last word, and is one shorter than target in: the model "
    "never learns to stop.",
    change="Target out is `[*target, eos]`.",
)
collate.mistake(
    "target out begins with the begin token",
    edits=[("[*target, eos]", "[bos, *target, eos]")],
    observed="Target out is one longer than target in, and `bos` is the first token to predict.",
    change="Leave `bos` off what comes out: `[*target, eos]`.",
)
collate.mistake(
    "source and target are swapped",
    edits=[
        ("for source, _", "for _, source"),
        ("[bos, *target] for _, target in", "[bos, *target] for target, _ in"),
        ("[*target, eos] for _, target in", "[*target, eos] for target, _ in"),
    ],
    observed="The first rectangle holds the second sentence of each pair.",
    change="A pair is (source, target): take its first list for the source.",
)
collate.mistake(
    "rows are cut to the shortest",
    edits=[("max(len", "min(len"), ("row + [pad]", "row[:longest] + [pad]")],
    observed="The rectangles are as narrow as the shortest sentence: words are lost.",
    change="Fill up to the longest row of the batch.",
)
collate.mistake(
    "the rectangles are wider than the longest sentence",
    edits=[("max(len(row) for row in rows)", "10")],
    observed="Every batch is as wide as some fixed length: most of it is padding, and padding "
    "costs as much time as words.",
    change="Fill up to the longest row of this batch.",
)
collate.mistake(
    "the longest rows lose their last token",
    edits=[
        ("max(len(row) for row in rows)", "max(len(row) for row in rows) - 1"),
        ("row + [pad]", "row[:longest] + [pad]"),
    ],
    observed="The rectangles are one narrower than wanted: the longest length was taken without "
    "`bos` and `eos`, and rows are cut to it.",
    change="Measure the rows when `bos` and `eos` are in them.",
)
collate.mistake(
    "nothing is filled up",
    edits=[("row + [pad] * (longest - len(row))", "row")],
    observed="It stops as soon as two rows have different lengths: a tensor is a rectangle.",
    change="Append `[pad] * (longest - len(row))` to each row before you make the tensor.",
)
collate.mistake(
    "what comes out is filled up with -100",
    edits=[
        (
            "return (",
            "def ignoring(rows):\n        return rectangle(rows).masked_fill("
            "rectangle(rows) == pad, -100)\n\n    return (",
        ),
        ("rectangle([[*target, eos]", "ignoring([[*target, eos]"),
    ],
    observed="Short rows of target out end in -100, which torch's `cross_entropy` leaves out by "
    "itself. Here `pad` is asked for in all three.",
    change="Fill target out up with `pad` as well; the loss will be told to leave it out.",
)
collate.mistake(
    "`bos` and `eos` have changed places",
    edits=[("    def rectangle", "    bos, eos = eos, bos\n\n    def rectangle")],
    observed="Target in begins with `eos`; source and target out end with `bos`.",
    change="`bos` is the begin token, which goes in first; `eos` ends the source and target out.",
)
collate.mistake(
    "the special ids are fixed",
    edits=[("    def rectangle", "    bos, eos, pad = 1, 2, 0\n\n    def rectangle")],
    observed="With `bos=2`, `eos=3` and `pad=9` your rows still hold 1, 2 and 0.",
    change="Use the arguments `bos`, `eos` and `pad`, not the constants of the lesson.",
)
for _first, _reverse in {"longest": True, "shortest": False}.items():
    collate.mistake(
        f"the {_first} sources come first",
        edits=[
            (
                "    def rectangle",
                f"    pairs = sorted(pairs, key=lambda pair: len(pair[0]), reverse={_reverse})\n\n"
                "    def rectangle",
            )
        ],
        observed="The rows are in another order than the pairs: they are sorted by length.",
        change="Keep the order of the pairs; nothing here needs sorted rows.",
    )
collate.mistake(
    "the width is measured before `bos` and `eos` are added",
    edits=[("len(row) for row in rows)", "len(row) for row in rows) - 1")],
    observed="The longest row is one longer than the rectangle is wide, so that a shorter row "
    "beside it does not fit.",
    change="Add `bos` and `eos` first, then look for the longest row.",
)
collate.mistake(
    "the target is as wide as the longest source",
    edits=[
        (
            "longest = max(len(row) for row in rows)",
            "longest = max(len(source) for source, _ in pairs) + 1",
        )
    ],
    observed="Where a target is longer than all sources, its rows differ in length.",
    change="Look for the longest row of each rectangle on its own.",
)
collate.mistake(
    "there is a column of padding too many",
    edits=[("max(len(row) for row in rows)", "max(len(row) for row in rows) + 1")],
    observed="The rectangles are one wider than their longest rows: their last column holds "
    "nothing but padding.",
    change="Each row gets one token only, `bos` or `eos`: as wide as the longest row is enough.",
)
