"""Marian's tokens: two sentencepiece models that cut, and a list of its own that numbers."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from sentencepiece import SentencePieceProcessor

from transformer_course.pretrained.layout import Layout, read_bytes, read_json
from transformer_course.translation.checkpoints import CheckpointError
from transformer_course.translation.corpora.vocabulary import (
    BOS,
    EOS,
    PAD,
    SPECIAL_TOKENS,
    Vocabulary,
)

UNKNOWN = "<unk>"


class MarianTokenizer:
    """Cut a sentence into Marian's sub-words, number them by our ids, and go back.

    Parameters
    ----------
    language
        Code, such as ``"en"``.
    pieces
        The content of ``source.spm`` or ``target.spm``.
    vocabulary
        The tokens in the order of our ids.

    Raises
    ------
    ValueError
        If ``pieces`` is no sentencepiece model.
    """

    def __init__(self, language: str, pieces: bytes, vocabulary: Vocabulary) -> None:
        self.language = language
        self.vocabulary = vocabulary
        self._processor = SentencePieceProcessor()
        try:
            self._processor.LoadFromSerializedProto(pieces)
        except RuntimeError:  # it names a line of sentencepiece's own source
            raise ValueError("this is no sentencepiece model") from None

    def tokens(self, text: str) -> list[str]:
        """Cut a sentence into sub-words; ``▁`` marks the beginning of a word."""
        return self._processor.encode(text, out_type=str)

    def encode(self, text: str) -> list[int]:
        """Turn a sentence into ids, without special tokens at its ends."""
        return self.vocabulary.encode(self.tokens(text))

    def encode_all(self, texts: Sequence[str]) -> list[list[int]]:
        """Encode many sentences."""
        return [self.encode(text) for text in texts]

    def decode(self, ids: Iterable[int]) -> str:
        """Turn ids into a sentence; padding, begin and end leave no trace."""
        pieces = self.vocabulary.decode(number for number in ids if number not in (PAD, BOS, EOS))
        # Of a piece of the other language, sentencepiece leaves the mark as it is.
        return self._processor.decode_pieces(pieces).replace("▁", " ").strip()


def read_tokenizer(
    folder: Path, side: str, language: str, ids: Mapping[str, int], order: list[int]
) -> MarianTokenizer:
    """Read the tokeniser of a side, ``"source"`` or ``"target"``.

    Raises
    ------
    CheckpointError
        If its sentencepiece model is missing or damaged, or its tokens are not as they must be.
    """
    path = folder / f"{side}.spm"
    names = {number: token for token, number in ids.items()}
    others = [names[number] for number in order[len(SPECIAL_TOKENS) :]]
    try:
        vocabulary = Vocabulary([*SPECIAL_TOKENS, *others])
    except ValueError as error:
        raise CheckpointError(
            f"the tokens of the {side} in {folder} do not fit config.json: {error} Download both "
            f"again, from one model."
        ) from None
    try:
        return MarianTokenizer(language, read_bytes(path), vocabulary)
    except CheckpointError:
        raise
    except ValueError as error:
        raise CheckpointError(f"{path} cannot be used: {error}; download it again.") from None


def read_ids(folder: Path, layout: Layout) -> tuple[dict[str, int], dict[str, int]]:
    """Read the ids of the tokens of source and target.

    Raises
    ------
    CheckpointError
        If a list is missing, damaged, or of another size than config.json says.
    """
    files = ("vocab.json", "vocab.json" if layout.shared else "target_vocab.json")
    found = [read_json(folder / name) for name in files]
    for name, ids, size in zip(files, found, layout.vocabularies, strict=True):
        numbers = [number for number in ids.values() if isinstance(number, int)]
        if len(ids) != size or sorted(numbers) != [*range(size)] or UNKNOWN not in ids:
            raise CheckpointError(
                f"{folder / name} must number {size:,} tokens from 0 on, {UNKNOWN} among them, as "
                f"config.json says; it holds {len(ids):,}. Both files must be of one model."
            )
    return found[0], found[1]


def our_order(ids: Mapping[str, int], layout: Layout) -> list[int]:
    """Return Marian's id of each of our tokens: padding, begin, end, unknown, then the others.

    Marian has no begin token: ours repeats the one that its translations begin behind.
    """
    special = [layout.pad, layout.end, ids[UNKNOWN]]
    others = (number for number in range(len(ids)) if number not in special)
    return [layout.pad, layout.begin, layout.end, ids[UNKNOWN], *others]
