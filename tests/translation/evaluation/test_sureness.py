import pytest

from transformer_course.translation import (
    Translator,
    shipped_checkpoint,
    toy_checkpoint,
    toy_corpus,
)
from transformer_course.translation.corpora.corpus import SentencePair
from transformer_course.translation.evaluation.sureness import doubt_below, in_small_letters
from transformer_course.translation.training.runs import doubt_in
from transformer_course.translation.translator import shipped_names


def test_a_twentieth_of_dev_is_doubted() -> None:
    toy, dev = Translator.load(toy_checkpoint()), toy_corpus().split("dev")[:100]
    doubt = doubt_below(toy, dev)
    scores = [score for _, score in toy.translate_with_scores([pair.source for pair in dev])]
    assert sum(score < doubt for score in scores) == 5
    too_long = SentencePair("the cat " * toy.model.config.max_len, "le chat")
    assert doubt_below(toy, [too_long, *dev]) == doubt
    for none in ([], [too_long]):
        with pytest.raises(ValueError, match="nobody knows what is usual"):
            doubt_below(toy, none)


@pytest.mark.parametrize("beam", [1, 3])
def test_scores_come_with_the_translations_of_the_same_search(beam: int) -> None:
    toy = Translator.load(toy_checkpoint())
    sentences = ["the cats do not sleep", "", "a red fish dreams of the king"]
    scored = toy.translate_with_scores(sentences, beam=beam)
    assert [text for text, _ in scored] == toy.translate(sentences, beam=beam)
    assert scored[1] == ("", 0.0)
    assert all(score <= 0 for _, score in scored)


@pytest.mark.parametrize("name", shipped_names())
def test_shipped_translators_know_what_is_usual(name: str) -> None:
    assert -1 < doubt_in(shipped_checkpoint(name)) < 0


def test_captions_are_sure_and_other_texts_are_not() -> None:
    french = Translator.load(shipped_checkpoint("multi30k-en-fr"))
    doubt = doubt_in(shipped_checkpoint("multi30k-en-fr"))
    captions = ["A dog runs on the beach.", "Two men are sitting on a bench."]
    elsewhere = ["The parliament adopted the resolution.", "347 people were there."]
    sure = [score >= doubt for _, score in french.translate_with_scores(captions + elsewhere)]
    assert sure == [True, True, False, False]


@pytest.mark.parametrize(
    ("sentence", "small"),
    [
        ("THE CAT SLEEPS.", "The cat sleeps."),
        ("ÉTÉ 1999!", None),  # three letters may be a name
        ("THE CAT sleeps", None),
        ("NATO", "Nato"),
        ("A 4", None),
        ("猫在睡觉。", None),
    ],
)
def test_capitals_are_made_small(sentence: str, small: str | None) -> None:
    assert in_small_letters(sentence) == small
