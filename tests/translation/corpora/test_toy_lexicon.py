import pytest

from transformer_course.translation.corpora.toy_lexicon import (
    ADJECTIVES,
    DEFINITE,
    FEMININE,
    MASCULINE,
    NOUNS,
    VERBS,
    A,
    english_words,
)


def adjective(english):
    return next(row for row in ADJECTIVES if row.english == english)


@pytest.mark.parametrize(
    ("gender", "plural", "form"),
    [
        (MASCULINE, False, "blanc"),
        (FEMININE, False, "blanche"),
        (MASCULINE, True, "blancs"),
        (FEMININE, True, "blanches"),
    ],
)
def test_an_adjective_agrees(gender, plural, form):
    assert adjective("white").french_form(gender, plural) == form


def test_a_noun_keeps_its_gender():
    horse = next(noun for noun in NOUNS if noun.english == "horse horses")
    assert horse.french_form(FEMININE, True) == "chevaux"


@pytest.mark.parametrize("noun", NOUNS, ids=lambda noun: noun.english)
def test_a_noun_has_two_forms_in_each_language(noun):
    assert len(noun.english.split()) == len(noun.french.split()) == 2


@pytest.mark.parametrize("modifier", [*ADJECTIVES, *DEFINITE], ids=lambda row: row.english)
def test_a_modifier_has_four_french_forms(modifier):
    assert len(modifier.french.split()) == 4


def test_a_has_no_plural():
    assert A.french.split() == ["un", "une"]


@pytest.mark.parametrize("verb", VERBS, ids=lambda verb: f"{verb.english} {verb.particle}")
def test_a_verb_has_all_persons_and_something_that_may_follow(verb):
    assert len(verb.english.split()) == 2
    assert len(verb.french.split()) == 4
    assert bool(verb.objects) != bool(verb.prepositions)


def test_english_words_are_single_sorted_and_complete():
    words = english_words()
    assert words == sorted(set(words))
    assert {"a", "an", "these", "mice", "looks", "for", "does", "not", "with", "i"} <= set(words)
    assert not any(" " in word or "|" in word for word in words)
