"""What BLEU counts in each test sentence of the German runs that lesson 9 compares."""

from pathlib import Path

import pytest

from tools.moses_counts import counts_of_runs, counts_of_words
from transformer_course.translation import bleu_of_counts, moses_counts, recorded_run

MULTI30K = Path(__file__).parents[2].parent / "shared" / "data" / "multi30k"


def test_a_sentence_by_hand():
    said, wanted = ["a", "dog", "runs", "on", "grass"], ["a", "dog", "is", "on", "the", "grass"]
    assert counts_of_words(said, wanted) == [4, 1, 0, 0, 5, 4, 3, 2, 5, 6]


@pytest.mark.parametrize(
    ("name", "recipe"), [("shipped", None), ("plain text", "long"), ("text like theirs", "moses")]
)
def test_the_counts_are_those_of_the_recorded_figure(name, recipe):
    counts = moses_counts()[name]
    assert counts.shape == (1000, 10)
    run = recorded_run("en-de", recipe)
    first = run["seeds"][0]["beam_5"] if "seeds" in run else run
    recorded = first["bleu_tokenized_lowercase"]
    assert bleu_of_counts(counts.sum(axis=0)) == pytest.approx(recorded, abs=0.005)


@pytest.mark.skipif(not MULTI30K.is_dir(), reason="the captions of Multi30k are not here")
def test_the_counts_are_those_of_the_recorded_translations():
    again = counts_of_runs(MULTI30K.parent)
    recorded = moses_counts()
    for name, rows in again.items():
        assert [[int(n) for n in row.split()] for row in rows] == recorded[name].tolist()
