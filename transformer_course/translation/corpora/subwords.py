"""Sub-words: frequent words stay whole, rare words are cut into known pieces.

Sources: Sennrich et al. (2016), "Neural Machine Translation of Rare Words with Subword Units";
Kudo and Richardson (2018), "SentencePiece".
"""

import io
import random
import re
from collections.abc import Iterable, Sequence

from sentencepiece import SentencePieceProcessor, SentencePieceTrainer

from transformer_course.translation.corpora.vocabulary import (
    BOS,
    EOS,
    PAD,
    SPECIAL_TOKENS,
    UNK,
    Vocabulary,
    tidy,
)


class SubwordTokenizer:
    """Cut a sentence into sub-words, number them, and go back.

    Source and target of one translator share the pieces, each with its own language.

    Parameters
    ----------
    language
        Code, such as ``"en"``.
    pieces
        What :func:`learn_subwords` returned.

    Raises
    ------
    ValueError
        If ``pieces`` is not a sentencepiece model, or one with other special tokens.
    """

    def __init__(self, language: str, pieces: bytes) -> None:
        self.language = language
        self.pieces = pieces
        self._processor = SentencePieceProcessor()
        try:
            self._processor.LoadFromSerializedProto(pieces)
        except RuntimeError:  # it names a line of sentencepiece's own source
            raise ValueError("the sub-words are damaged: not a sentencepiece model.") from None
        size = self._processor.get_piece_size()
        self.vocabulary = Vocabulary([self._processor.id_to_piece(n) for n in range(size)])

    def tokens(self, text: str) -> list[str]:
        """Cut a sentence into sub-words; ``▁`` marks the beginning of a word."""
        return self._processor.encode(tidy(text), out_type=str)

    def encode(self, text: str) -> list[int]:
        """Turn a sentence into ids, without special tokens at its ends."""
        return self._processor.encode(tidy(text))

    def encode_all(self, texts: Sequence[str]) -> list[list[int]]:
        """Encode many sentences, on all processors."""
        return self._processor.encode([tidy(text) for text in texts], num_threads=-1)

    def decode(self, ids: Iterable[int]) -> str:
        """Turn ids into a sentence; padding, begin and end leave no trace."""
        return self._processor.decode([number for number in ids if number not in (PAD, BOS, EOS)])

    def scores(self) -> list[float]:
        """Return the score of each sub-word: of all merges, the best score comes first."""
        return self._processor.get_score(list(range(len(self.vocabulary))))


PER_ROOT, MOST = 35, 32_000
LONGEST = 2**16
"""Bytes of a text; sentencepiece passes over a longer one, and left to itself over 4,192."""
SAMPLE = 200_000
"""Sentences from which sub-words are learned at most; more take minutes and change little."""


def sample(texts: Sequence[str]) -> Sequence[str]:
    """Return the sentences from which sub-words are learned: all, or a sample of very many."""
    return texts if len(texts) <= SAMPLE else random.Random(0).sample(texts, SAMPLE)


def usual_size(texts: Sequence[str]) -> int:
    """Return how many sub-words suit a text: 35 for each square root of its sentence pairs.

    That is 1,500 for 1,800 pairs and 6,000 for 29,000; 32,000 at most. A text with many characters
    gets one for each and half as many more. The table stays small, and training short. More can be
    better: 6,000 were, for 2,600 captions (``results/own-text.json``), and 10,000 for 29,000
    (``benchmarks/results/recipes.json``).

    Parameters
    ----------
    texts
        The sentences of both languages.
    """
    characters = len(set().union(*sample(texts)))
    by_pairs = round(PER_ROOT * (len(texts) / 2) ** 0.5, -2)
    return int(max(min(by_pairs, MOST), 1.5 * characters + len(SPECIAL_TOKENS)))


def learn_subwords(texts: Iterable[str], size: int) -> bytes:
    """Learn ``size`` sub-words by merging the most frequent pairs of pieces (byte pair encoding).

    Give it the training split of both languages, and no other text.

    Parameters
    ----------
    texts
        Sentences.
    size
        Number of pieces, the four special tokens included; a small text has fewer.

    Returns
    -------
    pieces
        A sentencepiece model, as its tools read it.

    Raises
    ------
    ValueError
        If ``size`` is below the number of the text's characters, or there is no text.
    """
    try:
        return _train(texts, size)
    except RuntimeError as error:  # it names a line of sentencepiece's own source
        least = re.search(r" vs (\d+)", str(error))
        why = (
            f"its characters and the {len(SPECIAL_TOKENS)} special tokens alone are {least[1]}"
            if least
            else "there have to be words, and more sub-words than special tokens"
        )
        raise ValueError(f"{size} sub-words cannot be learned from this text: {why}.") from None


def _train(texts: Iterable[str], size: int) -> bytes:
    model = io.BytesIO()
    SentencePieceTrainer.train(
        sentence_iterator=map(tidy, texts),
        model_writer=model,
        model_type="bpe",
        vocab_size=size,
        max_sentence_length=LONGEST,
        hard_vocab_limit=False,  # a small text has fewer pieces
        character_coverage=1.0,
        normalization_rule_name="identity",  # what was cut comes back as it was, such as ½
        pad_id=PAD,
        bos_id=BOS,
        eos_id=EOS,
        unk_id=UNK,
        pad_piece=SPECIAL_TOKENS[PAD],
        bos_piece=SPECIAL_TOKENS[BOS],
        eos_piece=SPECIAL_TOKENS[EOS],
        unk_piece=SPECIAL_TOKENS[UNK],
        unk_surface=SPECIAL_TOKENS[UNK],
        num_threads=1,  # several would break ties in another order each time
        minloglevel=2,
    )
    return model.getvalue()
