from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transformer_course.translation.checkpoints import CheckpointError
from transformer_course.translation.corpora import subwords
from transformer_course.translation.corpora.corpus import SentencePair
from transformer_course.translation.corpora.subwords import SubwordTokenizer, learn_subwords
from transformer_course.translation.corpora.vocabulary import BOS, EOS, PAD, SPECIAL_TOKENS, UNK
from transformer_course.translation.translator import Translator

NewTranslator = Callable[..., Translator]
TEXTS = [
    "the lowest tower is lower than the newest tower",
    "a new tower is newer than the oldest one",
    "la nouvelle tour est plus haute que l'ancienne",
] * 3
TOKENIZER = SubwordTokenizer("en", learn_subwords(TEXTS, 60))


def test_special_tokens_have_the_ids_of_the_course() -> None:
    assert TOKENIZER.vocabulary.tokens[:4] == SPECIAL_TOKENS
    assert len(TOKENIZER.vocabulary) == 60


def test_frequent_words_stay_whole_and_rare_ones_are_cut() -> None:
    assert TOKENIZER.tokens("tower") == ["▁tower"]
    cut = TOKENIZER.tokens("lowering")
    assert len(cut) > 1
    assert "".join(cut) == "▁lowering"


@pytest.mark.parametrize("text", sorted(set(TEXTS)))
def test_text_comes_back(text: str) -> None:
    assert TOKENIZER.decode(TOKENIZER.encode(text)) == text


def test_signs_come_back_as_they_were() -> None:
    text = "½ cup: 3² cats …"
    tokenizer = SubwordTokenizer("en", learn_subwords([text] * 5, 30))
    assert tokenizer.decode(tokenizer.encode(text)) == text


@given(st.lists(st.sampled_from(["the", "low", "new", "est", "er", "tower"]), min_size=1))
def test_words_of_known_letters_come_back(words: list[str]) -> None:
    text = " ".join(words)
    ids = TOKENIZER.encode(text)
    assert UNK not in ids
    assert TOKENIZER.decode(ids) == text
    assert TOKENIZER.vocabulary.decode(ids) == TOKENIZER.tokens(text)


def test_ends_and_padding_leave_no_trace() -> None:
    ids = [BOS, *TOKENIZER.encode("a new tower"), EOS, PAD, PAD]
    assert TOKENIZER.decode(ids) == "a new tower"


def test_letter_never_seen_is_unknown() -> None:
    assert UNK in TOKENIZER.encode("塔")
    assert "<unk>" in TOKENIZER.decode(TOKENIZER.encode("a 塔"))


@pytest.mark.parametrize(
    "text", ["la nouvelle tour\n", "\ufeffla\tnouvelle tour", "la\u00a0nouvelle \u2028tour"]
)
def test_white_space_of_any_kind_is_a_blank(text: str) -> None:
    wanted = TOKENIZER.tokens("la nouvelle tour")
    assert TOKENIZER.tokens(text) == wanted
    assert TOKENIZER.encode_all([text]) == [TOKENIZER.encode(text)]
    assert TOKENIZER.vocabulary.decode(TOKENIZER.encode(text)) == wanted


def test_accents_are_read_and_learned_in_either_form() -> None:
    whole, apart = "un café d'été", "un cafe\u0301 d'e\u0301te\u0301"
    tokenizer = SubwordTokenizer("fr", learn_subwords([apart] * 5, 20))
    assert tokenizer.encode(whole) == tokenizer.encode(apart)
    assert tokenizer.decode(tokenizer.encode(apart)) == whole


@pytest.mark.parametrize("text", [" ", "\n", "\t\u00a0", "\u3000", "\ufeff"])
def test_blank_text_has_no_tokens(text: str) -> None:
    assert TOKENIZER.encode(text) == []
    assert TOKENIZER.decode([]) == ""


def test_learning_is_repeatable() -> None:
    assert learn_subwords(TEXTS, 60) == TOKENIZER.pieces


def test_first_merges_are_the_most_frequent_pairs() -> None:
    """By hand: in "aab aab aac", the pair that stands most often is (▁, a), then (▁a, a)."""
    few = SubwordTokenizer("en", learn_subwords(["aab aab aac"], 10))
    merged = [token for token in few.vocabulary.tokens[4:] if len(token) > 1]
    assert merged[:2] in (["▁a", "▁aa"], ["aa", "▁aa"])


@pytest.mark.parametrize(("texts", "size"), [(TEXTS, 5), ([], 60)], ids=["too few", "no text"])
def test_sizes_that_do_not_fit_the_text(texts: list[str], size: int) -> None:
    with pytest.raises(ValueError, match=f"{size} sub-words cannot be learned") as caught:
        learn_subwords(texts, size)
    assert ".cc" not in str(caught.value)  # sentencepiece names a file of its own
    assert ("tokens alone are" in str(caught.value)) == bool(texts)


def test_small_text_has_fewer_pieces() -> None:
    few = SubwordTokenizer("en", learn_subwords(["a new tower"], 4000))
    assert len(few.vocabulary) < 40
    assert few.tokens("a new tower") == ["▁a", "▁new", "▁tower"]


@pytest.mark.parametrize("pieces", [b"", b"no model", bytes(100), TOKENIZER.pieces[:200]])
def test_damaged_pieces_are_refused(pieces: bytes) -> None:
    with pytest.raises(ValueError, match="sub-words are damaged") as caught:
        SubwordTokenizer("en", pieces)
    assert ".cc" not in str(caught.value)


def test_translator_with_subwords_comes_back(
    pairs: list[SentencePair], new_translator: NewTranslator, tmp_path: Path
) -> None:
    translator = new_translator(subwords=50)
    assert translator.model.config.tying == "three_way"
    assert translator.source.pieces == translator.target.pieces
    translator.save(tmp_path)
    loaded = type(translator).load(tmp_path)
    sentences = [pair.source for pair in pairs[:5]]
    assert loaded.translate(sentences) == translator.translate(sentences)
    assert (loaded.source.language, loaded.target.language) == ("en", "fr")


@pytest.mark.parametrize(
    ("damage", "complaint"),
    [
        ("missing", r"subwords\.model is missing"),
        ("cut", r"subwords\.model cannot be read: the sub-words are damaged"),
        ("foreign", r"config\.json does not describe a translator"),
    ],
)
def test_damaged_subwords_file(
    new_translator: NewTranslator, tmp_path: Path, damage: str, complaint: str
) -> None:
    translator = new_translator(subwords=50)
    translator.save(tmp_path)
    path = tmp_path / "subwords.model"
    if damage == "missing":
        path.unlink()
    elif damage == "cut":
        path.write_bytes(path.read_bytes()[:100])
    else:
        path.write_bytes(TOKENIZER.pieces)
    with pytest.raises(CheckpointError, match=complaint):
        type(translator).load(tmp_path)


@pytest.mark.parametrize(
    ("pairs", "size"), [(1788, 1500), (29_000, 6000), (1_000_000, 32_000), (1, 16)]
)
def test_usual_number_of_subwords(pairs: int, size: int) -> None:
    assert subwords.usual_size(["a cat slept"] * 2 * pairs) == size


def test_text_of_many_characters_gets_room_for_them() -> None:
    texts = [chr(0x4E00 + number) for number in range(1000)]
    size = subwords.usual_size(texts)
    assert size > 1500
    assert len(SubwordTokenizer("zh", learn_subwords(texts * 3, size)).vocabulary) > 1000


def test_very_many_sentences_are_sampled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subwords, "SAMPLE", 10)
    texts = [str(number) for number in range(100)]
    drawn = subwords.sample(texts)
    assert len(drawn) == 10
    assert {*drawn} < {*texts}
    assert subwords.sample(texts) == drawn
    assert subwords.sample(texts[:10]) == texts[:10]


def test_all_sentences_at_once_are_cut_as_one_by_one() -> None:
    texts = [f"the cat number {number} sleeps" for number in range(50)]
    tokenizer = SubwordTokenizer("en", learn_subwords(texts, 40))
    assert tokenizer.encode_all(texts) == [tokenizer.encode(text) for text in texts]
    assert tokenizer.encode_all([]) == []


def test_a_very_long_line_is_read_too() -> None:
    letters = "".join(map(chr, range(0x4E00, 0x4E00 + 1500)))  # 4,500 bytes
    tokenizer = SubwordTokenizer("zh", learn_subwords(["the cat"] * 30 + [letters], 2300))
    assert UNK not in tokenizer.encode(letters)
