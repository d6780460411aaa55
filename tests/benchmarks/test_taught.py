"""Several translators that choose each token together."""

from pathlib import Path

import pytest
import torch

from benchmarks.results_file import RESULTS, recorded_runs
from benchmarks.taught import Ensemble, Together
from transformer_course.model import evaluating
from transformer_course.translation import SentencePair, Translator
from transformer_course.translation.checkpoints import read_json
from transformer_course.translation.decoding.cached import CachedDecoder

TEXT = ["the dogs are running through the grass", "two women are reading in the high grass"]
PAIRS = [SentencePair(line, line) for line in TEXT]


@pytest.fixture
def translators() -> list[Translator]:
    sizes = {"d_model": 16, "heads": 2, "encoder_layers": 1, "decoder_layers": 1, "d_ff": 32}
    return [
        Translator.from_pairs(PAIRS, ("en", "de"), seed=seed, subwords=60, **sizes)
        for seed in range(3)
    ]


def test_the_mean_of_the_probabilities_counts(translators) -> None:
    models = [each.model for each in translators]
    source_ids = translators[0].batch(translators[0].encode_pairs(PAIRS)).source
    with evaluating(models[0]), evaluating(models[1]), evaluating(models[2]), torch.no_grad():
        together = Ensemble(models, source_ids)
        alone = [CachedDecoder(model, source_ids) for model in models]
        for tokens, parents in ((torch.tensor([2, 2]), [1, 0]), (torch.tensor([7, 9]), [0, 0])):
            expected = torch.stack([each.step(tokens).softmax(-1) for each in alone]).mean(dim=0)
            assert together.step(tokens).softmax(-1).allclose(expected, atol=1e-6)
            for decoder in (together, *alone):
                decoder.reorder(torch.tensor(parents))


def test_three_times_the_same_is_that_one(translators) -> None:
    one = translators[0]
    one.model.eval()
    assert Together.of([one] * 3).translate(TEXT, beam=3) == one.translate(TEXT, beam=3)
    for each in translators:
        each.model.eval()
    assert Together.of(translators).translate(TEXT, beam=3) != one.translate(TEXT, beam=3)


def test_the_book_says_what_was_measured() -> None:
    book = Path(__file__).parents[2].joinpath("book", "measured.md").read_text(encoding="utf-8")
    together = read_json(RESULTS / "taught.json")
    assert together["translators"] == 3 and f"reach {together['sacrebleu']:.1f} on dev" in book
    short = [row for row in recorded_runs("recipes") if row["steps"] == 10_000]
    [taught] = [r["sacrebleu"] for r in short if r["change"] == "10,000 pieces, taught by three"]
    alone = [row["sacrebleu"] for row in short if row["change"] == "10,000 pieces"]
    assert f"{taught - max(alone):.1f} above the best seed" in book
