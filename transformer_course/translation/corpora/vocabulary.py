"""Text to token ids and back: vocabularies, and a tokeniser that knows words."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cache, cached_property, lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

PAD, BOS, EOS, UNK = range(4)
# A blank where spaCy cuts and Moses' rules do not join: "T - shirt", "dit -elle", "is n't".
LEFT_BLANK = re.compile(r"(?<=\w) (?=- ?\w|n't\b)|(?<=\w -) (?=\w)")
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
        self.tokens = tuple(tokens)
        self._ids = {token: number for number, token in enumerate(tokens)}
        if len(self._ids) != len(tokens):
            raise ValueError("a vocabulary must hold each token once; some appear twice.")
        if not all(isinstance(token, str) for token in tokens):
            raise ValueError("a vocabulary must hold text only; some tokens are not text.")

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
        """Return the token of each id."""
        return [self.tokens[number] for number in ids]


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
    # A look for its folder is enough: spaCy takes two seconds to import, and the French rules
    # two more, which a translator into French does not need.
    folder = Path(find_spec("spacy").origin).parent / "lang"
    known = sorted(rules.parent.name for rules in folder.glob("*/__init__.py"))
    if language not in known:
        raise ValueError(
            f"no tokeniser for the language {language!r}; use one of {', '.join(known)}."
        )


@cache
def _spacy_pipeline(language: str) -> Any:
    import spacy

    _check_language(language)
    try:
        return spacy.blank(language)
    except ImportError as error:  # Japanese, for one, needs a package of its own
        raise ValueError(f"spaCy cannot load its rules for {language!r}: {error}") from None


class WordTokenizer:
    """Cut a sentence into words by spaCy's rules, number them, and go back.

    Parameters
    ----------
    language
        Code, such as ``"en"``.
    vocabulary
        The words that have an id of their own.

    Raises
    ------
    ValueError
        If spaCy has no tokeniser for the language.
    """

    def __init__(self, language: str, vocabulary: Vocabulary) -> None:
        _check_language(language)
        self.language = language
        self.vocabulary = vocabulary

    @cached_property
    def _detokenizer(self) -> Any:
        from sacremoses import MosesDetokenizer  # here, because it takes half a second

        return MosesDetokenizer(lang=self.language)

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
        """Turn ids into a sentence; padding, begin and end leave no trace."""
        words = self.vocabulary.decode(number for number in ids if number not in (PAD, BOS, EOS))
        return LEFT_BLANK.sub("", self._detokenizer.detokenize(words, unescape=False))


def split_words(text: str, language: str) -> list[str]:
    """Cut a sentence into words and punctuation marks by spaCy's rules for the language."""
    return list(_split_words(text, language))


# A corpus is cut twice, for its vocabulary and for its ids.
@lru_cache(maxsize=2**17)
def _split_words(text: str, language: str) -> tuple[str, ...]:
    tokens = _spacy_pipeline(language).tokenizer(text)
    return tuple(token.text for token in tokens if not token.is_space)
