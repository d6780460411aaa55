"""From the pieces of a published translator to the rectangle of ids that it reads."""

import torch
from torch import Tensor

from transformer_course.checker.cases import Case, Property
from transformer_course.checker.exercise import exercise

_IDS = {"</s>": 0, "<unk>": 1, "▁le": 2, "▁chat": 3, "s": 4, "▁dort": 5, "▁Le": 6, "<pad>": 7}
# Another order, in which no special token has the id that it has above.
_OTHERS = {"▁dort": 0, "s": 1, "▁": 2, "<pad>": 3, "▁chat": 4, "<unk>": 5, "▁le": 6, "</s>": 7}
_THREE = [["▁le", "▁chat", "s"], ["▁dort"], ["▁Le", "▁chat"]]
_UNKNOWN = [["▁dort", "▁zèbre", "s"], ["▁zèbre"], ["▁chat", "s", "▁dort", "▁le"]]
# Another piece is unknown: a KeyError holds the piece, and one in other words each time tells more.
_OTHER_UNKNOWN = [["▁dort", "▁gnou", "s"], ["▁gnou"], ["▁chat", "s", "▁dort", "▁le"]]


def _ends_once(value: Tensor, case: Case) -> bool:
    _, ids = case.inputs
    return bool(((value == ids["</s>"]).sum(dim=1) == 1).all())


def _padding_comes_last(value: Tensor, case: Case) -> bool:
    _, ids = case.inputs
    padded = (value == ids["<pad>"]).int()
    return bool((padded.diff(dim=1) >= 0).all())


@exercise(
    cases=[
        Case(([["▁le", "▁chat"]], _IDS)),
        Case((_THREE, _IDS)),
        Case((_UNKNOWN, _IDS)),
        Case((_OTHER_UNKNOWN, _OTHERS)),
        Case(([[], ["▁le"]], _IDS)),
    ],
    properties=[
        Property("every sentence ends once", _ends_once),
        Property("padding comes last", _padding_comes_last),
    ],
    hints=[
        "Two steps: a list of ids for each sentence, then padding up to the longest. Do the rows "
        "have their end tokens already when you look for the longest?",
        "`ids.get(piece, ...)` gives another number where a piece is not in the list. Which one? "
        "Take the numbers of the special tokens from `ids`, too: every translator has others.",
        '`[ids.get(piece, ids["<unk>"]) for piece in pieces] + [ids["</s>"]]` is one row; '
        '`row + [ids["<pad>"]] * (longest - len(row))` is as long as the longest.',
    ],
)
def marian_ids(sentences: list[list[str]], ids: dict[str, int]) -> Tensor:
    """Return the ids of sentences that are cut into pieces, of shape (sentences, longest + 1)."""
    rows = []
    for pieces in sentences:
        rows.append([ids.get(piece, ids["<unk>"]) for piece in pieces] + [ids["</s>"]])
    longest = max(len(row) for row in rows)
    return torch.tensor([row + [ids["<pad>"]] * (longest - len(row)) for row in rows])


# The commonest

marian_ids.mistake(
    "the end token is missing",
    edits=[(' + [ids["</s>"]]', "")],
    observed="`▁le ▁chat` gives two ids; it should give three.",
    change='Add `ids["</s>"]` to each row: the encoder read it in training.',
)
marian_ids.mistake(
    "rows are filled with 0",
    edits=[('[ids["<pad>"]]', "[0]")],
    observed="In shorter rows, `</s>` is followed by zeros. Here 0 is not the padding: no mask "
    "hides it, and the encoder reads a sentence that ends several times.",
    change='Fill with `ids["<pad>"]`.',
)
marian_ids.mistake(
    "unknown pieces are left out",
    edits=[(" for piece in pieces]", " for piece in pieces if piece in ids]")],
    observed="A row with an unknown piece is shorter than the sentence: a word disappears.",
    change='Give an unknown piece the id of `<unk>`: `ids.get(piece, ids["<unk>"])`.',
)
marian_ids.mistake(
    "padding comes first",
    edits=[
        (
            'row + [ids["<pad>"]] * (longest - len(row))',
            '[ids["<pad>"]] * (longest - len(row)) + row',
        )
    ],
    observed="Shorter rows begin with padding, so their first piece is not at position 0, where it "
    "was in training.",
    change="Write the row first, then its padding.",
)
marian_ids.mistake(
    "the end token comes after the padding",
    edits=[
        (' + [ids["</s>"]]', ""),
        ("(longest - len(row))", '(longest - len(row)) + [ids["</s>"]]'),
    ],
    observed="In shorter rows, padding stands between the last piece and `</s>`.",
    change="Add the end token first, and pad what comes out of that.",
)
marian_ids.mistake(
    "sentences are columns",
    edits=[
        (
            'torch.tensor([row + [ids["<pad>"]] * (longest - len(row)) for row in rows])',
            'torch.tensor([row + [ids["<pad>"]] * (longest - len(row)) for row in rows]).T',
        )
    ],
    observed="The shape is (length, sentences).",
    change="Return one row for each sentence, without the transpose.",
)
marian_ids.mistake(
    "rows are one longer than the longest",
    edits=[("max(len(row) for row in rows)", "max(len(row) for row in rows) + 1")],
    observed="Even the longest row ends with padding.",
    change="Your rows have their end tokens already: pad to the longest of them.",
)
marian_ids.mistake(
    "rows are sorted by their length",
    edits=[("for pieces in sentences:", "for pieces in sorted(sentences, key=len, reverse=True):")],
    observed="The longest sentence comes first, so translations would go to other sentences.",
    change="Leave the sentences in their order.",
)
marian_ids.mistake(
    "an unknown piece gets id 0",
    edits=[('ids.get(piece, ids["<unk>"])', "ids.get(piece, 0)")],
    observed="Where `</s>` has id 0, a sentence ends at its first unknown word.",
    change='Write `ids.get(piece, ids["<unk>"])`.',
)
marian_ids.mistake(
    "an unknown piece gets id 1",
    edits=[('ids.get(piece, ids["<unk>"])', "ids.get(piece, 1)")],
    observed="Right where `<unk>` has id 1, wrong where it has id 5.",
    change='Ask the list: `ids.get(piece, ids["<unk>"])`.',
)
marian_ids.mistake(
    "the sentence stands between two end tokens",
    edits=[("rows.append([ids.get", 'rows.append([ids["</s>"]] + [ids.get')],
    observed="Each row begins with `</s>` and ends with it.",
    change="A row of the source is its pieces and one `</s>` behind them.",
)
marian_ids.mistake(
    "rows are filled with the end token",
    edits=[('[ids["<pad>"]]', '[ids["</s>"]]')],
    observed="Shorter rows end several times.",
    change='Fill with `ids["<pad>"]`, which the masks hide.',
)

# The end

marian_ids.mistake(
    "the end token comes first",
    edits=[
        ("rows.append([ids.get", 'rows.append([ids["</s>"]] + [ids.get'),
        (' + [ids["</s>"]]', ""),
    ],
    observed="Each row begins with `</s>`, and its last id is that of a piece.",
    change='Put `ids["</s>"]` behind the pieces.',
)
marian_ids.mistake(
    "a begin token stands in front of the source",
    edits=[("rows.append([ids.get", 'rows.append([ids["<pad>"]] + [ids.get')],
    observed="Each row begins with `<pad>`. The decoder begins so, but the source does not.",
    change="A row of the source is its pieces and `</s>`, nothing else.",
)
marian_ids.mistake(
    "the end token has the course's number",
    edits=[(' + [ids["</s>"]]', " + [2]")],
    observed="Each row ends with 2, which is `<eos>` in the course's vocabularies. Here it is a "
    "piece of text.",
    change='Ask the list that came with the translator: `ids["</s>"]`.',
)
marian_ids.mistake(
    "the end token is taken to be 0",
    edits=[(' + [ids["</s>"]]', " + [0]")],
    observed="In a vocabulary where `</s>` is 7, the rows end with 0.",
    change='Ask the list that came with the translator: `ids["</s>"]`.',
)

# Unknown pieces

marian_ids.mistake(
    "an unknown piece stops with a KeyError",
    edits=[('ids.get(piece, ids["<unk>"])', "ids[piece]")],
    observed="`▁zèbre` is not in the list, so `ids[piece]` raises KeyError.",
    change='Write `ids.get(piece, ids["<unk>"])`.',
)
marian_ids.mistake(
    "an unknown piece gets the course's number of `<unk>`",
    edits=[('ids.get(piece, ids["<unk>"])', "ids.get(piece, 3)")],
    observed="An unknown piece gets id 3, which here is a piece or the padding.",
    change='Ask the list: `ids.get(piece, ids["<unk>"])`.',
)
marian_ids.mistake(
    "an unknown piece becomes padding",
    edits=[('ids.get(piece, ids["<unk>"])', 'ids.get(piece, ids["<pad>"])')],
    observed="There is padding in the middle of a sentence, and the mask will hide it.",
    change='Write `ids.get(piece, ids["<unk>"])`.',
)

# Padding

marian_ids.mistake(
    "rows are filled with the unknown token",
    edits=[('[ids["<pad>"]]', '[ids["<unk>"]]')],
    observed="In shorter rows, `</s>` is followed by `<unk>`, which no mask hides.",
    change='Fill with `ids["<pad>"]`.',
)
marian_ids.mistake(
    "the last id is taken to be the padding",
    edits=[('[ids["<pad>"]]', "[len(ids) - 1]")],
    observed="Right where `<pad>` comes last, wrong in the vocabulary where its id is 3.",
    change='Ask the list: `ids["<pad>"]`.',
)
marian_ids.mistake(
    "longer sentences are cut to the shortest",
    edits=[
        ("longest = max(", "longest = min("),
        ('row + [ids["<pad>"]] * (longest - len(row))', "row[:longest]"),
    ],
    observed="All rows are as long as the shortest, and the ends of the others are gone.",
    change="Pad all rows to the longest: `max(len(row) for row in rows)`.",
)
marian_ids.mistake(
    "rows are not padded",
    edits=[(' + [ids["<pad>"]] * (longest - len(row))', "")],
    observed="Rows of different lengths make no rectangle: torch raises ValueError.",
    change='Add `[ids["<pad>"]] * (longest - len(row))` to each row.',
)
marian_ids.mistake(
    "rows are cut one too short",
    edits=[
        ("max(len(row) for row in rows)", "max(len(row) for row in rows) - 1"),
        ("torch.tensor([row +", "torch.tensor([row[:longest] +"),
    ],
    observed="The longest rows lose their `</s>`: you count their pieces alone.",
    change="Look for the longest row when the end tokens are there: "
    "`max(len(row) for row in rows)`.",
)

# The pieces

marian_ids.mistake(
    "the mark of a word's beginning is cut off",
    edits=[("ids.get(piece,", 'ids.get(piece.strip("▁"),')],
    observed="`▁chat` becomes `chat`, which is not in the list: all words are unknown.",
    change="Look the piece up as it is; `▁` belongs to it.",
)
marian_ids.mistake(
    "the pieces are written in small letters",
    edits=[("ids.get(piece,", "ids.get(piece.lower(),")],
    observed="`▁Le` gets the id of `▁le`.",
    change="Look the piece up as it is.",
)
marian_ids.mistake(
    "empty sentences are left out",
    edits=[("for pieces in sentences:", "for pieces in filter(None, sentences):")],
    observed="A list with an empty sentence gives a row too few; that sentence is `</s>` alone.",
    change="Make a row for each sentence.",
)
marian_ids.mistake(
    "rows have a fixed length",
    edits=[("max(len(row) for row in rows)", "512")],
    observed="All rows have 512 ids, and most of them are padding.",
    change="Pad to the longest row: `max(len(row) for row in rows)`.",
)

# Other numbers

marian_ids.mistake(
    "the special tokens have the course's numbers",
    edits=[
        ('ids.get(piece, ids["<unk>"])', "ids.get(piece, 3)"),
        (' + [ids["</s>"]]', " + [2]"),
        ('[ids["<pad>"]]', "[0]"),
    ],
    observed="Each row ends with 2, shorter ones go on with 0, and an unknown piece is 3: these "
    "are `<eos>`, `<pad>` and `<unk>` in the course's vocabularies, and not here.",
    change='Ask the list that came with the translator: `ids["</s>"]`, `ids["<pad>"]` and '
    '`ids["<unk>"]`.',
)
marian_ids.mistake(
    "the special tokens' numbers are written by hand",
    edits=[
        ('ids.get(piece, ids["<unk>"])', "ids.get(piece, 1)"),
        (' + [ids["</s>"]]', " + [0]"),
        ('[ids["<pad>"]]', "[len(ids) - 1]"),
    ],
    observed="Right in the vocabulary where `</s>` is 0, `<unk>` is 1 and `<pad>` comes last, "
    "wrong in the other one.",
    change='Ask the list: `ids["</s>"]`, `ids["<unk>"]` and `ids["<pad>"]`.',
)
marian_ids.mistake(
    "the course's begin token stands in front",
    edits=[("rows.append([ids.get", "rows.append([1] + [ids.get")],
    observed="Each row begins with 1, which is `<bos>` in the course's vocabularies. Here it is "
    "not, and the source has none.",
    change="A row of the source is its pieces and `</s>`, nothing else.",
)
marian_ids.mistake(
    "an unknown piece gets a number behind the end of the list",
    edits=[('ids.get(piece, ids["<unk>"])', "ids.get(piece, len(ids))")],
    observed="With 8 ids an unknown piece gets 8, for which the table has no row.",
    change='Write `ids.get(piece, ids["<unk>"])`.',
)
marian_ids.mistake(
    "the longest row is measured without its end token",
    edits=[("max(len(row) for row in rows)", "max(map(len, sentences))")],
    observed="The longest rows stay one longer than what you fill up to, so the rows make no "
    "rectangle: torch raises ValueError.",
    change="Look for the longest row when the end tokens are there, or add 1: "
    "`max(len(row) for row in rows)`.",
)
for _width in (64, 128, 10):
    marian_ids.mistake(
        f"rows are {_width} long, whatever the sentences",
        edits=[("max(len(row) for row in rows)", f"{_width}")],
        observed=f"All rows have {_width} ids, and most of them are padding.",
        change="Pad to the longest row: `max(len(row) for row in rows)`.",
    )
for _number in (-100, -1):
    marian_ids.mistake(
        f"rows are filled with {_number}",
        edits=[('[ids["<pad>"]]', f"[{_number}]")],
        observed=f"Shorter rows are filled with {_number}. That is no token: the table of "
        "embeddings has no such row.",
        change='Fill with `ids["<pad>"]`.',
    )
marian_ids.mistake(
    "an unknown piece gets -1",
    edits=[('ids.get(piece, ids["<unk>"])', "ids.get(piece, -1)")],
    observed="An unknown piece gets -1, for which the table of embeddings has no row.",
    change='Write `ids.get(piece, ids["<unk>"])`.',
)
marian_ids.mistake(
    "an unknown piece becomes an end token",
    edits=[('ids.get(piece, ids["<unk>"])', 'ids.get(piece, ids["</s>"])')],
    observed="A sentence ends at its first unknown word.",
    change='Write `ids.get(piece, ids["<unk>"])`.',
)
marian_ids.mistake(
    "rows end with the unknown token",
    edits=[(' + [ids["</s>"]]', ' + [ids["<unk>"]]')],
    observed="Each row ends with the id of `<unk>`. The list has no `<eos>`: here the end token is "
    "called `</s>`.",
    change='Add `ids["</s>"]` to each row.',
)
marian_ids.mistake(
    "rows are sorted from short to long",
    edits=[("for pieces in sentences:", "for pieces in sorted(sentences, key=len):")],
    observed="The shortest sentence comes first, so translations would go to other sentences.",
    change="Leave the sentences in their order.",
)
marian_ids.mistake(
    "pieces are cut into letters",
    edits=[("for piece in pieces]", 'for piece in "".join(pieces)]')],
    observed="A row has an id for each letter, and most letters are not in the list.",
    change="Look each piece up as a whole.",
)
marian_ids.mistake(
    "the pieces are turned round",
    edits=[("for piece in pieces]", "for piece in pieces[::-1]]")],
    observed="Each row begins with the sentence's last piece.",
    change="Leave the pieces in their order.",
)
marian_ids.mistake(
    "all sentences are one row",
    edits=[
        ("torch.tensor([row", "torch.tensor([number for row in rows for number in row"),
        (' + [ids["<pad>"]] * (longest - len(row)) for row in rows]', "]"),
    ],
    observed="Your result has one axis, with a sentence after the other.",
    change="Make a row for each sentence, and pad it to the longest.",
)
