"""The comparisons of lesson 10: what is in the file, and that nothing is run twice."""

import json
import sys

import pytest

from tools import variant_runs
from transformer_course.model import FeedForward, LayerNorm, variants
from transformer_course.translation import RECIPES, Translator
from transformer_course.translation.corpora.corpus import SentencePair
from transformer_course.translation.training.recorded_runs import RESULTS

PAIRS = [SentencePair("the cat sleeps", "le chat dort"), SentencePair("a dog", "un chien")]


def test_what_is_done_is_not_done_again(tmp_path, monkeypatch):
    done = []

    def run(kind, seed, options):
        done.append((kind, seed))
        return {"right": {"4": 0.5}}

    monkeypatch.setattr(variant_runs, "RESULTS", tmp_path)
    monkeypatch.setitem(variant_runs.WHATS, "recall", (["softmax", "linear"], run))
    for seeds in ("1", "2"):
        monkeypatch.setattr(sys, "argv", ["variant_runs", "recall", "--seeds", seeds])
        variant_runs.main()
    assert done == [("softmax", 0), ("linear", 0), ("softmax", 1), ("linear", 1)]
    written = json.loads((tmp_path / "variants-recall.json").read_text())
    assert [(row["kind"], row["seed"]) for row in written["runs"]] == done
    assert written["command"] == "python -m tools.variant_runs recall --seeds 2"
    assert {"date", "machine", "versions"} <= written.keys()


@pytest.mark.parametrize("what", variant_runs.WHATS)
def test_every_kind_is_recorded_with_three_seeds_at_least_but_the_gpt_with_one(what):
    runs = json.loads((RESULTS / f"variants-{what}.json").read_text())["runs"]
    kinds, _ = variant_runs.WHATS[what]
    for kind in kinds:
        assert sum(run["kind"] == kind for run in runs) >= min(3, variant_runs.SEEDS[what])


@pytest.mark.parametrize("kind", variant_runs.CAPTIONS)
def test_translators_with_other_parts_translate_and_are_of_about_the_same_size(kind):
    sizes = RECIPES["toy"].sizes
    usual = Translator.from_pairs(PAIRS, ("en", "fr"), **sizes).model
    translator = Translator.from_pairs(PAIRS, ("en", "fr"), **sizes)
    changed = translator.model
    for change in variant_runs.CAPTIONS[kind]:
        change(changed)
    counts = [
        sum(weight.numel() for weight in network.parameters()) for network in (usual, changed)
    ]
    assert counts[1] == pytest.approx(counts[0], rel=0.03)
    kinds = {type(part) for part in changed.modules()}
    assert (
        (variants.RMSNorm in kinds)
        == (LayerNorm not in kinds)
        == ("Llama" in kind or kind == "RMSNorm")
    )
    assert (FeedForward in kinds) == (kind not in ("GELU", "SwiGLU", "all that Llama has"))
    assert len(translator.translate([pair.source for pair in PAIRS])) == len(PAIRS)


def test_the_small_gpt_is_trained_alike_but_for_what_is_compared(monkeypatch):
    monkeypatch.setattr(variant_runs, "TOY_STEPS", 2)
    monkeypatch.setattr(variant_runs, "RATES", (1e-3,))
    kinds, run = variant_runs.WHATS["steady"]
    first, second = (run(kind, 0, None)["loss"]["0.001"] for kind in kinds)
    assert first != second
    kinds, run = variant_runs.WHATS["experts"]
    one, free, balanced = (run(kind, 0, None) for kind in kinds)
    assert one["loss"] == pytest.approx(first)  # the same network, seed and rate
    assert one["held"] == one["used"] and free["held"] > 2 * free["used"]
    assert free["used"] == pytest.approx(one["used"], rel=0.01)
    assert free["held"] == balanced["held"] and free["loss"] != balanced["loss"]
    assert all(sum(load) == pytest.approx(1) for load in balanced["loads"])
