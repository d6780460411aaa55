import math
from collections import Counter

import pandas as pd
import pytest
import sacrebleu
from hypothesis import given
from hypothesis import strategies as st

from transformer_course.translation.corpora.corpus import SentencePair
from transformer_course.translation.evaluation.bleu import ngrams
from transformer_course.translation.evaluation.failures import (
    count_words,
    failure_table,
    length_ratio,
    rare_words,
    repetition,
    repetitions,
    sentence_chrf,
    summary_by,
    unseen_words,
    words_of,
)
from transformer_course.translation.evaluation.metrics import bleu
from transformer_course.translation.translator import Translator

COUNTS = Counter(the=100, cat=5, owl=4, yak=1)
WORDS = st.lists(st.sampled_from("abc"), max_size=12)


def test_words_are_lower_case_and_no_punctuation() -> None:
    assert words_of("The cat - my cat! - has 2.5 dogs, hasn't it?", "en") == (
        ["the", "cat", "my", "cat", "has", "2.5", "dogs", "hasn", "'t", "it"]
    )
    assert words_of("L'homme dort…", "fr") == ["l'", "homme", "dort"]
    assert words_of(" ?! ", "en") == []


def test_without_blanks_characters_are_words() -> None:
    assert words_of("我爱 北京。", "zh") == ["我", "爱", "北", "京"]
    said, wanted = ["我爱北京天安门的广场。"] * 2, ["我爱上海天安门的广场。"] * 2
    table = pd.DataFrame({"translation": said, "reference": wanted, "kind": "a"}).assign(
        chrf=50.0, length_ratio=1.0, repetition=""
    )
    assert summary_by(table, "kind", language="zh")["sacrebleu"].item() == bleu(said, wanted, "zh")
    assert bleu(said, wanted, "zh") > 10 > bleu(said, wanted, "en")


def test_words_are_counted_over_all_sentences() -> None:
    counts = count_words(["The cat saw the dog.", "A cat!"], "en")
    assert counts == {"the": 2, "cat": 2, "saw": 1, "dog": 1, "a": 1}


def test_a_word_is_unseen_or_rare_or_neither() -> None:
    words = ["the", "cat", "owl", "yak", "zebu", "zebu"]
    assert unseen_words(words, COUNTS) == ["zebu", "zebu"]
    assert rare_words(words, COUNTS, fewer_than=5) == ["owl", "yak"]
    assert rare_words(words, COUNTS, fewer_than=1) == []


def test_looking_a_word_up_does_not_count_it() -> None:
    counts = Counter(COUNTS)
    unseen_words(["zebu"], counts)
    assert counts == COUNTS


def test_length_ratio_is_a_share_of_the_reference() -> None:
    assert length_ratio(["a", "b"], ["x", "y", "z", "w"]) == 0.5
    assert length_ratio(["a", "b"], ["x"]) == 2
    assert length_ratio([], ["x"]) == 0
    assert length_ratio(["a", "b"], []) == 2


def test_repetitions_are_counted() -> None:
    words = ["a", "man", "in", "a", "man", "in", "a", "hat"]
    assert repetitions(words, 2) == {("a", "man"): 2, ("man", "in"): 2, ("in", "a"): 2}
    assert repetitions(words, 3) == {("a", "man", "in"): 2, ("man", "in", "a"): 2}
    assert repetitions(words, 5) == {}


def test_doubled_word_repeats_at_its_first_time() -> None:
    assert repetitions(["a", "very", "very", "old", "hat"]) == {("very", "very"): 1}


@pytest.mark.parametrize(
    ("translation", "reference", "found"),
    [
        ("a man in a man in a hat", "a man in a hat", "a man in a"),
        ("a man in a hat", "a man in a hat", ""),
        ("a man and a man", "two men", "a man"),
        ("a man and a man", "a man sees a man", ""),  # the reference says it twice too
        ("a man a man a man", "a man sees a man", "a man a man"),
        ("the the cat", "the cat", "the the"),
        ("so so", "so so la la", ""),
        ("we saw a dog we saw a cat", "we saw a dog and we saw it", "we saw a"),
        ("a b c a b c", "a b x b c y a b z b c", "a b c"),  # only the longer one is new
        ("cat", "cat", ""),
        ("", "cat", ""),
    ],
)
def test_repetition_by_hand(translation: str, reference: str, found: str) -> None:
    assert repetition(translation.split(), reference.split()) == found


@given(WORDS)
def test_reference_itself_never_repeats_too_much(words: list[str]) -> None:
    assert repetition(words, words) == ""


@given(WORDS, WORDS)
def test_repetition_is_the_longest_there_is(words: list[str], reference: list[str]) -> None:
    """Against a search through all lengths that stops nowhere."""
    wrong = [
        ngram
        for n in range(2, len(words) + 1)
        for ngram, count in ngrams(words, n).items()
        if count > ngrams(reference, n)[ngram] and (count > 1 or len(set(ngram)) == 1)
    ]
    longest = max(map(len, wrong), default=0)
    found = tuple(repetition(words, reference).split())
    assert len(found) == longest
    assert found in wrong or not wrong


def test_score_of_a_sentence_is_chrf() -> None:
    said, wanted = "il mangeait", "il mangea"
    assert sentence_chrf(said, wanted) == sacrebleu.sentence_chrf(said, [wanted]).score
    assert sentence_chrf(wanted, wanted) == pytest.approx(100)
    assert sentence_chrf("", wanted) == 0
    # A wrong ending is less wrong than another word, which no count of whole words can tell.
    assert sentence_chrf(said, wanted) > sentence_chrf("il dort", wanted)


@pytest.fixture
def table(translator: Translator) -> pd.DataFrame:
    """Three translations: a right one, one that stops early, one that goes round in circles."""
    pairs = [
        SentencePair("The cat sleeps.", "Le chat dort."),
        SentencePair("My owl eats and the zebu sings.", "Mon hibou mange et le zébu chante."),
        SentencePair("My yak dreams.", "Mon yak rêve."),
    ]
    translations = ["Le chat dort.", "Mon roi.", "Mon roi rêve, mon roi rêve."]
    counts = Counter(the=9, my=9, cat=9, sleeps=9, eats=9, sings=9, dreams=2, owl=1, yak=1)
    counts["and"] = 9
    return failure_table(translator, pairs, translations, counts, rare=2)


def test_table_has_a_row_for_each_sentence(table: pd.DataFrame) -> None:
    assert table["source"].tolist()[0] == "The cat sleeps."
    assert table["reference"].tolist()[0] == "Le chat dort."
    assert table["translation"].tolist()[0] == "Le chat dort."
    assert table["source_words"].tolist() == [3, 7, 3]
    assert table["length_ratio"].tolist() == [1, 2 / 7, 2]
    assert table["unseen_words"].tolist() == [0, 1, 0]
    assert table["rare_words"].tolist() == [0, 1, 1]
    assert table["repetition"].tolist() == ["", "", "mon roi rêve"]
    expected = [
        sentence_chrf(t, r) for t, r in zip(table.translation, table.reference, strict=True)
    ]
    assert table["chrf"].tolist() == expected
    assert len(set(expected)) == 3


def test_unknown_pieces_are_those_of_the_translators_vocabulary(table: pd.DataFrame) -> None:
    """It knows neither capitals at the head nor full stops, nor the words of the second line."""
    assert table["unknown_pieces"].tolist() == [
        len(["The", "."]),
        len(["My", "owl", "and", "zebu", "."]),
        len(["My", "yak", "."]),
    ]


def test_table_can_be_filtered(table: pd.DataFrame) -> None:
    assert table[table.length_ratio < 0.8].translation.tolist() == ["Mon roi."]
    assert table[table.repetition != ""].translation.tolist() == ["Mon roi rêve, mon roi rêve."]


def test_table_needs_a_translation_for_each_pair(translator: Translator) -> None:
    with pytest.raises(ValueError, match="got 1 translations and 2 references"):
        failure_table(translator, [SentencePair("a", "b")] * 2, ["b"], COUNTS)
    with pytest.raises(ValueError, match="got 0 translations"):
        failure_table(translator, [], [], COUNTS)


@pytest.fixture
def long_table() -> pd.DataFrame:
    """Five rows of 2, 5, 6, 10 and 99 words."""
    references = [f"Le chat numéro {n} dort dans la maison." for n in range(5)]
    translations = [r.replace("dort", "mange") if n % 2 else r for n, r in enumerate(references)]
    return pd.DataFrame(
        {
            "reference": references,
            "translation": translations,
            "chrf": [10.0, 20.0, 30.0, 50.0, 70.0],
            "source_words": [2, 5, 6, 10, 99],
            "length_ratio": [1.0, 0.5, 0.8, 1.0, 2.0],
            "repetition": ["", "la la", "", "", "le chat"],
            "kind": ["question", "statement", "question", "statement", "statement"],
        }
    )


def test_bins_end_where_they_say(long_table: pd.DataFrame) -> None:
    summary = summary_by(long_table, "source_words", [5, 10])
    assert summary.index.tolist() == ["up to 5", "over 5, up to 10", "over 10"]
    assert summary.index.name == "source_words"
    assert summary["sentences"].tolist() == [2, 2, 1]
    assert summary["chrf"].tolist() == [15, 40, 70]
    assert summary["length_ratio"].tolist() == [0.75, 0.9, 2]
    assert summary["repeating"].tolist() == [0.5, 0, 1]


def test_bin_of_a_single_count_is_called_by_it(long_table: pd.DataFrame) -> None:
    counts = long_table.assign(unseen_words=[0, 1, 2, 3, 4])
    summary = summary_by(counts, "unseen_words", [0, 1, 3])
    assert summary.index.tolist() == ["none", "1", "over 1, up to 3", "over 3"]
    assert summary["sentences"].tolist() == [1, 1, 2, 1]


@pytest.mark.parametrize(
    ("first", "names"),
    [(0.5, ["over 0, up to 1", "over 1"]), (-1, ["up to 0", "over 0, up to 1", "over 1"])],
)
def test_bins_of_other_numbers_are_not(
    long_table: pd.DataFrame, first: float, names: list[str]
) -> None:
    """There are many between 0 and 1, and below 0."""
    numbers = long_table.assign(change=[first, 1, 2, 2, 2])
    assert summary_by(numbers, "change", [0, 1]).index.tolist() == names


def test_bleu_of_a_bin_is_pooled(long_table: pd.DataFrame) -> None:
    summary = summary_by(long_table, "source_words", [5, 10])
    said, wanted = long_table["translation"].tolist(), long_table["reference"].tolist()
    assert summary["sacrebleu"].tolist() == [
        bleu(said[:2], wanted[:2]),
        bleu(said[2:4], wanted[2:4]),
        bleu(said[4:], wanted[4:]),
    ]
    assert summary["sacrebleu"].iloc[0] < summary["sacrebleu"].iloc[2]


def test_no_sentence_is_lost_and_empty_bins_are_left_out(long_table: pd.DataFrame) -> None:
    summary = summary_by(long_table, "source_words", [0, 50.5, 200])
    assert summary.index.tolist() == ["over 0, up to 50.5", "over 50.5, up to 200"]
    assert summary["sentences"].sum() == 5


def test_without_bins_each_value_has_a_row(long_table: pd.DataFrame) -> None:
    summary = summary_by(long_table, "kind")
    assert summary["sentences"].to_dict() == {"question": 2, "statement": 3}
    assert summary["chrf"].to_dict() == pytest.approx({"question": 20, "statement": 140 / 3})


def test_sentences_without_a_value_have_a_row_too(long_table: pd.DataFrame) -> None:
    long_table["kind"] = ["question", None, None, "question", "question"]
    assert summary_by(long_table, "kind")["sentences"].tolist() == [3, 2]


@pytest.mark.parametrize("bins", [[], [5, 5], [10, 5], [5, math.inf], [math.nan]])
def test_bins_must_rise(long_table: pd.DataFrame, bins: list[float]) -> None:
    with pytest.raises(ValueError, match="bins must be one or more numbers, finite and rising"):
        summary_by(long_table, "source_words", bins)


def test_text_has_no_bins(long_table: pd.DataFrame) -> None:
    with pytest.raises(ValueError, match="'kind' holds text: leave bins out"):
        summary_by(long_table, "kind", [5])


def test_column_must_be_there(long_table: pd.DataFrame) -> None:
    with pytest.raises(ValueError, match="no column 'lenght'; use one of reference, translation"):
        summary_by(long_table, "lenght")


def test_rows_must_be_there(long_table: pd.DataFrame) -> None:
    with pytest.raises(ValueError, match="no rows to summarise"):
        summary_by(long_table[long_table.chrf > 100], "source_words", [5])
