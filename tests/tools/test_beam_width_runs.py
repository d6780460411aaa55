"""Beams of several widths in translators that have learned too little."""

import json

import pytest

from tools import beam_width_runs
from transformer_course.translation import (
    Translator,
    bleu,
    gnmt,
    mean_length,
    toy_checkpoint,
    toy_corpus,
)
from transformer_course.translation.training.recorded_runs import RESULTS


def test_a_search_is_scored_with_its_length():
    toy, pairs = Translator.load(toy_checkpoint()), toy_corpus().split("dev")[:20]
    wanted = [pair.target for pair in pairs]
    said, row = beam_width_runs.searched(toy, pairs, 1, gnmt(0))
    assert said == toy.translate([pair.source for pair in pairs])
    assert row["bleu"] == bleu(said, wanted)
    assert row["length"] == pytest.approx(
        sum(map(len, map(str.split, said))) / sum(map(len, map(str.split, wanted)))
    )
    assert -10 < row["log_probability"] < 0


def test_a_wide_beam_is_ranked_as_asked():
    toy, pairs = Translator.load(toy_checkpoint()), toy_corpus().split("dev")[:10]
    _, by_sum = beam_width_runs.searched(toy, pairs, 8, gnmt(0))
    _, by_mean = beam_width_runs.searched(toy, pairs, 8, mean_length)
    assert by_sum["log_probability"] >= by_mean["log_probability"]


def test_twenty_models_are_recorded_each_with_every_beam():
    stored = json.loads((RESULTS / "beam-width.json").read_text(encoding="utf-8"))
    models = stored["models"]
    assert [model["seed"] for model in models] == list(range(beam_width_runs.SEEDS))
    for model in models:
        assert [int(beam) for beam in model["by_the_sum"]] == list(beam_width_runs.BEAMS)
        difference = model["by_the_sum"]["4"]["bleu"] - model["by_the_sum"]["64"]["bleu"]
        assert model["narrow_minus_wide"]["difference"] == pytest.approx(difference)
