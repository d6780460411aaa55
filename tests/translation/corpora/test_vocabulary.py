import gzip

import pytest

from tests.real_texts import MULTI30K, needs_multi30k
from transformer_course.translation.corpora.vocabulary import (
    BOS,
    EOS,
    PAD,
    SPECIAL_TOKENS,
    UNK,
    Vocabulary,
    WordTokenizer,
    split_words,
)

# How many of a thousand captions must come back letter by letter. The others hold doubled blanks or
# apostrophes that are quotation marks.
ROUND_TRIPS = 0.99


@pytest.fixture
def vocabulary() -> Vocabulary:
    return Vocabulary.from_sentences([["b", "a", "c"], ["b", "c"], ["b"], ["d"]])


def test_special_tokens_come_first(vocabulary: Vocabulary) -> None:
    assert vocabulary.tokens[:4] == SPECIAL_TOKENS
    assert vocabulary.encode(SPECIAL_TOKENS) == [PAD, BOS, EOS, UNK]


def test_frequent_tokens_come_first_and_equals_in_alphabetical_order(
    vocabulary: Vocabulary,
) -> None:
    assert vocabulary.tokens[4:] == ("b", "c", "a", "d")


def test_order_of_the_sentences_does_not_matter(vocabulary: Vocabulary) -> None:
    assert Vocabulary.from_sentences([["d"], ["b"], ["c", "b"], ["c", "a", "b"]]).tokens == (
        vocabulary.tokens
    )


def test_rare_tokens_are_left_out() -> None:
    vocabulary = Vocabulary.from_sentences([["a", "b"], ["a", "a", "b"]], min_frequency=3)
    assert vocabulary.tokens[4:] == ("a",)
    assert "a" in vocabulary
    assert "b" not in vocabulary


def test_size_counts_special_tokens(vocabulary: Vocabulary) -> None:
    assert len(vocabulary) == 8


def test_unseen_token_is_unknown(vocabulary: Vocabulary) -> None:
    assert vocabulary.decode(vocabulary.encode(["a", "zebra"])) == ["a", "<unk>"]


@pytest.mark.parametrize(
    ("tokens", "complaint"),
    [
        (["a", "b"], "must begin with"),
        ([*SPECIAL_TOKENS, "a", "a"], "each token once; 'a' appears twice"),
        ([*SPECIAL_TOKENS, "a", 5], "text only"),
        ([*SPECIAL_TOKENS, ["a"]], "text only"),
    ],
)
@pytest.mark.usefixtures("unchecked_signatures")
def test_wrong_token_lists_are_refused(tokens: list[str], complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        Vocabulary(tokens)


@pytest.mark.parametrize("number", [-1, 8])
def test_an_id_that_is_none_is_refused(vocabulary: Vocabulary, number: int) -> None:
    with pytest.raises(IndexError, match=f"between 0 and 7; got {number}"):
        vocabulary.decode([number])


@pytest.mark.parametrize(
    ("language", "text", "tokens"),
    [
        ("en", "The small cat sleeps.", ["The", "small", "cat", "sleeps", "."]),
        ("fr", "L'homme n'aime pas l'eau.", ["L'", "homme", "n'", "aime", "pas", "l'", "eau", "."]),
        ("fr", "  deux   blancs ", ["deux", "blancs"]),
        ("en", " \t ", []),
        ("fr", "un cafe\u0301\u00a0noir", ["un", "café", "noir"]),
        ("en", "\ufeffa man", ["a", "man"]),
    ],
)
def test_words_are_cut(language: str, text: str, tokens: list[str]) -> None:
    assert split_words(text, language) == tokens


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("fr", "l'homme n'aime pas l'eau"),
        ("fr", "Qu'est-ce qu'il mange ?"),
        ("fr", "J'aime son T-shirt, dit-elle aujourd'hui."),
        ("en", "a long-sleeved T-shirt, isn't it?"),
        ("en", "the dog's owner, (a man), sleeps."),
    ],
)
def test_sentence_survives_encoding(language: str, text: str) -> None:
    tokenizer = WordTokenizer.from_texts(language, [text])
    assert tokenizer.decode(tokenizer.encode(text)) == text


def test_special_tokens_leave_no_trace_but_unknown_words_do() -> None:
    tokenizer = WordTokenizer.from_texts("en", ["the cat"])
    ids = [BOS, *tokenizer.encode("the zebra"), EOS, PAD, PAD]
    assert tokenizer.decode(ids) == "the <unk>"


def test_vocabulary_comes_from_the_given_texts_only() -> None:
    tokenizer = WordTokenizer.from_texts("en", ["the cat", "the dog"], min_frequency=2)
    assert tokenizer.vocabulary.tokens == (*SPECIAL_TOKENS, "the")
    assert tokenizer.encode("the cat barks") == [4, UNK, UNK]


def test_ids_carry_no_special_tokens() -> None:
    tokenizer = WordTokenizer.from_texts("en", ["the cat"])
    assert not {PAD, BOS, EOS} & set(tokenizer.encode("the cat"))
    assert tokenizer.encode("") == []


@pytest.mark.parametrize("language", ["qq", "EN", "../en", "en.punctuation", "", "zh", "ja"])
def test_unknown_language_is_refused_at_once(language: str, vocabulary: Vocabulary) -> None:
    with pytest.raises(ValueError, match="no tokeniser for the language"):
        WordTokenizer(language, vocabulary)


@needs_multi30k
@pytest.mark.parametrize("language", ["en", "fr", "de"])
def test_real_captions_survive_encoding(language: str) -> None:
    with gzip.open(MULTI30K / f"val.{language}.gz", "rt", encoding="utf-8") as file:
        captions = [line.strip() for line in file]
    tokenizer = WordTokenizer.from_texts(language, captions)
    decoded = [tokenizer.decode(tokenizer.encode(caption)) for caption in captions]
    same = sum(a == b for a, b in zip(captions, decoded, strict=True))
    assert same >= ROUND_TRIPS * len(captions)
