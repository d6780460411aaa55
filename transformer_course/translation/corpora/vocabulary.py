"""Text to token ids and back: vocabularies, and a tokeniser that knows words."""

import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cache, lru_cache
from typing import Any, Protocol, runtime_checkable

from transformer_course.translation.corpora.languages import WITHOUT_BLANKS, is_language

PAD, BOS, EOS, UNK = range(4)
BYTE_ORDER_MARK = "\ufeff"
SPECIAL_TOKENS = ("<pad>", "<bos>", "<eos>", "<unk>")


class Vocabulary:
    """A numbered list of token types; the first four are padding, begin, end and unknown.

    Parameters
    ----------
    tokens
        The token types, special tokens included, in the order of their ids.

    Raises
    ------
    ValueError
        If the special tokens do not come first, a token appears twice or is not text.
    """

    def __init__(self, tokens: Sequence[str]) -> None:
        if tuple(tokens[: len(SPECIAL_TOKENS)]) != SPECIAL_TOKENS:
            raise ValueError(f"a vocabulary must begin with {SPECIAL_TOKENS}; got {tokens[:4]}.")
        if not all(isinstance(token, str) for token in tokens):
            raise ValueError("a vocabulary must hold text only; some tokens are not text.")
        self.tokens = tuple(tokens)
        self._ids = {token: number for number, token in enumerate(tokens)}
        if len(self._ids) != len(tokens):
            twice = next(token for token, count in Counter(tokens).items() if count > 1)
            raise ValueError(f"a vocabulary must hold each token once; {twice!r} appears twice.")

    @classmethod
    def from_sentences(cls, sentences: Iterable[list[str]], min_frequency: int = 1) -> "Vocabulary":
        """Collect the tokens seen at least ``min_frequency`` times, the most frequent first.

        Give it the training split only: a vocabulary that has seen the test sentences makes
        the test easier than real text.
        """
        counts = Counter(token for sentence in sentences for token in sentence)
        frequent = [token for token, count in counts.items() if count >= min_frequency]
        frequent.sort(key=lambda token: (-counts[token], token))
        return cls([*SPECIAL_TOKENS, *frequent])

    def __len__(self) -> int:
        return len(self.tokens)

    def __contains__(self, token: str) -> bool:
        return token in self._ids

    def encode(self, tokens: Iterable[str]) -> list[int]:
        """Return the id of each token, that of ``<unk>`` for a token never seen."""
        return [self._ids.get(token, UNK) for token in tokens]

    def decode(self, ids: Iterable[int]) -> list[str]:
        """Return the token of each id; raise IndexError for one that the vocabulary lacks."""
        return [self._token(number) for number in ids]

    def _token(self, number: int) -> str:
        if not 0 <= number < len(self):
            raise IndexError(f"token ids must be between 0 and {len(self) - 1}; got {number}.")
        return self.tokens[number]


@runtime_checkable
class Tokenizer(Protocol):
    """What a translator asks of a tokeniser."""

    language: str
    vocabulary: Vocabulary

    def tokens(self, text: str) -> list[str]:
        """Cut a sentence into tokens."""

    def encode(self, text: str) -> list[int]:
        """Turn a sentence into ids, without special tokens at its ends."""

    def encode_all(self, texts: Sequence[str]) -> list[list[int]]:
        """Encode many sentences."""

    def decode(self, ids: Iterable[int]) -> str:
        """Turn ids into a sentence; padding, begin and end leave no trace."""


def _check_language(language: str) -> None:
    if not is_language(language):
        raise ValueError(
            f"no tokeniser for the language {language!r}: give the code of a language, such as "
            f"'en' or 'haw'."
        )
    if language in WITHOUT_BLANKS:
        raise ValueError(
            f"no tokeniser for the language {language!r}, which sets no blanks between words: "
            f"cut it into sub-words."
        )


# Here and below sacremoses is imported late: it takes a third of a second.
@cache
def _tokenizer(language: str) -> Any:
    from sacremoses import MosesTokenizer

    _check_language(language)
    return MosesTokenizer(lang=language)


@cache
def _detokenizer(language: str) -> Any:
    from sacremoses import MosesDetokenizer

    return MosesDetokenizer(lang=language)


class WordTokenizer:
    """Cut a sentence into words by Moses' rules, number them, and go back.

    Parameters
    ----------
    language
        Code, such as ``"en"``.
    vocabulary
        The words that have an id of their own.

    Raises
    ------
    ValueError
        If there is no such language, or it sets no blanks between words.
    """

    def __init__(self, language: str, vocabulary: Vocabulary) -> None:
        _check_language(language)
        self.language = language
        self.vocabulary = vocabulary

    @classmethod
    def from_texts(
        cls, language: str, texts: Iterable[str], min_frequency: int = 1
    ) -> "WordTokenizer":
        """Build the vocabulary from the sentences of a training split."""
        sentences = (split_words(text, language) for text in texts)
        return cls(language, Vocabulary.from_sentences(sentences, min_frequency))

    def tokens(self, text: str) -> list[str]:
        """Cut a sentence into words and punctuation marks."""
        return split_words(text, self.language)

    def encode(self, text: str) -> list[int]:
        """Turn a sentence into ids, without special tokens at its ends."""
        return self.vocabulary.encode(self.tokens(text))

    def encode_all(self, texts: Sequence[str]) -> list[list[int]]:
        """Encode many sentences."""
        return [self.encode(text) for text in texts]

    def decode(self, ids: Iterable[int]) -> str:
        """Turn ids into a sentence; padding, begin and end leave no trace.

        A mark inside a word, as in German *geht's*, may come back with a blank beside it: Moses'
        rules join apostrophes in English, French and Italian only.
        """
        words = self.vocabulary.decode(number for number in ids if number not in (PAD, BOS, EOS))
        return _detokenizer(self.language).detokenize(words, unescape=False)


def composed(text: str) -> str:
    """Return a text whose letters are one character with their accents (Unicode's NFC).

    Byte order marks are left out; Windows writes them at the beginning of a file, and two files
    that are put together have one in the middle.
    """
    return unicodedata.normalize("NFC", text).replace(BYTE_ORDER_MARK, "")


def tidy(text: str) -> str:
    """Return a text as tokenisers read it: :func:`composed`, one plain blank between words."""
    return " ".join(composed(text).split())


def split_words(text: str, language: str) -> list[str]:
    """Cut a sentence into words and punctuation marks by Moses' rules for the language."""
    return list(_split_words(text, language))


# A corpus is cut twice, for its vocabulary and for its ids.
@lru_cache(maxsize=2**17)
def _split_words(text: str, language: str) -> tuple[str, ...]:
    return tuple(_tokenizer(language).tokenize(tidy(text), escape=False))
