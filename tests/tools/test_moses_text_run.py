"""The run on lower-cased, cut text: what it learns from, and that its figure is of its words."""

import json
from pathlib import Path

import pytest

from tools.moses_text_run import bleu_of_words, in_moses_words
from transformer_course.translation import bleu_tokenized_lowercase, multi30k_corpus
from transformer_course.translation.corpora.corpus import Corpus, SentencePair
from transformer_course.translation.training.recorded_runs import results_file

MULTI30K = Path(__file__).parents[2].parent / "shared" / "data" / "multi30k"


def test_each_language_is_cut_by_its_own_rules():
    pair = SentencePair("Isn't it Paul's?", "C'est l'ami de Paul.")
    corpus = in_moses_words(Corpus("two", "en", "fr", {"train": [pair], "test": []}))
    expected = SentencePair("isn 't it paul 's ?", "c' est l' ami de paul .")
    assert corpus.splits == {"train": [expected], "test": []}


def test_the_figure_is_that_of_plain_text():
    plain = ["C'est l'ami de Paul et Marie."], ["C'est un ami de Paul et Marie !"]
    cut = [
        [pair.target for pair in in_moses_words(corpus).split("test")]
        for texts in plain
        for corpus in [Corpus("", "en", "fr", {"test": [SentencePair("", t) for t in texts]})]
    ]
    assert bleu_of_words(*cut) == pytest.approx(bleu_tokenized_lowercase(*plain, "fr"))


@pytest.mark.skipif(not MULTI30K.is_dir(), reason="the captions of Multi30k are not here")
def test_the_recorded_figure_is_that_of_the_recorded_translations():
    recorded = json.loads(results_file("en-de", "moses").read_text(encoding="utf-8"))
    test = in_moses_words(multi30k_corpus("en-de", MULTI30K.parent)).split("test")
    score = bleu_of_words(recorded["translations"], [pair.target for pair in test])
    assert score == pytest.approx(recorded["bleu_tokenized_lowercase"])
