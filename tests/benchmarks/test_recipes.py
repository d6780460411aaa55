"""Changes of the recipe do what they say, and only that."""

from collections.abc import Sequence
from pathlib import Path
from statistics import fmean

import pytest

from benchmarks import recipes
from benchmarks.recipes import CHANGES, PiecesAtRandom, larger_eps, rotary_and_gelu, smaller_start
from benchmarks.results_file import recorded_runs
from transformer_course.model.variants import GELUFeedForward, rotary_attention
from transformer_course.translation import (
    RECIPES,
    SentencePair,
    Trainer,
    TrainingSettings,
    Translator,
)
from transformer_course.translation.corpora.batches import length_batches
from transformer_course.translation.training.recipes import LONG_RUN
from transformer_course.translation.training.schedule import noam

ROOT = Path(__file__).parents[2]
LINES = [
    ("the dogs are running through the high grass", "die Hunde rennen durch das hohe Gras"),
    ("the men are running and the women are reading", "die Männer rennen und die Frauen lesen"),
    ("two women are reading in the grass", "zwei Frauen lesen im Gras"),
]
PAIRS = [SentencePair(*line) for line in LINES]


@pytest.fixture
def trainer() -> Trainer:
    sizes = {"d_model": 16, "heads": 2, "encoder_layers": 1, "decoder_layers": 1, "d_ff": 32}
    translator = Translator.from_pairs(PAIRS, ("en", "de"), subwords=60, **sizes)
    return Trainer(translator, PAIRS, PAIRS, TrainingSettings(steps=2, evaluate_every=2))


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_settings_are_known(change) -> None:
    assert (change.of(RECIPES["multi30k"]) == RECIPES["multi30k"]) == (not change.settings)


@pytest.mark.parametrize("recipe", [RECIPES["multi30k"], LONG_RUN])
def test_the_inverse_root_gets_as_high_as_the_cosine(recipe) -> None:
    plan = CHANGES["inverse root"].of(recipe).training
    warmup = round(plan.warmup * plan.steps)
    peak = plan.learning_rate * noam(warmup, recipe.sizes["d_model"], warmup)
    assert peak == pytest.approx(recipe.training.learning_rate, rel=0.02)


def test_words_are_cut_otherwise_and_stay_the_same_words(trainer) -> None:
    plain, drawn = trainer.pairs, PiecesAtRandom(trainer, PAIRS)
    cuts = {tuple(drawn[1][0]) for _ in range(20)}
    assert len(cuts) > 1
    assert {trainer.translator.source.decode(cut) for cut in cuts} == {PAIRS[1].source}
    assert length_batches(drawn, 20) == length_batches(plain, 20)


def test_what_was_taught_stands_beside_the_pairs(trainer, tmp_path, monkeypatch) -> None:
    taught = tmp_path / "taught.de"
    taught.write_text("die Hunde\ndie Männer\nzwei Frauen\n", encoding="utf-8")
    monkeypatch.setattr(recipes, "TAUGHT", taught)
    plain, text = [*trainer.pairs], trainer.text
    recipes.taught_by_three(trainer, PAIRS)
    assert [trainer.pairs[n] for n in range(3)] == plain and len(trainer.pairs) == 6
    source, target = trainer.pairs[5]
    assert source == plain[2][0] and trainer.translator.target.decode(target) == "zwei Frauen"
    assert trainer.text != text  # a run with another text does not go on with this one
    taught.write_text("die Hunde\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"has 1 of 3 lines: see benchmarks\.taught"):
        recipes.taught_by_three(trainer, PAIRS)


@pytest.mark.parametrize("prepare", [rotary_and_gelu, smaller_start, larger_eps])
def test_the_optimizer_still_holds_the_weights(trainer, prepare) -> None:
    prepare(trainer, PAIRS)
    held = {id(weight) for group in trainer.optimizer.param_groups for weight in group["params"]}
    assert held == {id(weight) for weight in trainer.model.parameters()}
    before = [weight.clone() for weight in trainer.model.parameters()]
    trainer.train()
    assert all(
        not weight.equal(old)
        for weight, old in zip(trainer.model.parameters(), before, strict=True)
        if weight.grad.any()
    )


def test_queries_keys_and_values_begin_shorter(trainer) -> None:
    projection = trainer.model.encoder.layers[0].self_attention.key_projection
    before = projection.weight.norm().item()
    smaller_start(trainer, PAIRS)
    assert projection.weight.norm().item() == pytest.approx(before / 2**0.5)


def test_adam_gets_the_eps_of_its_paper(trainer) -> None:
    larger_eps(trainer, PAIRS)
    assert {group["eps"] for group in trainer.optimizer.param_groups} == {1e-8}


def test_positions_and_activation_are_exchanged(trainer) -> None:
    model = trainer.model
    rotary_and_gelu(trainer, PAIRS)
    assert not model.source_positions.encoding.any() and not model.target_positions.encoding.any()
    for layer in (*model.encoder.layers, *model.decoder.layers):
        assert isinstance(layer.feed_forward, GELUFeedForward)
        assert layer.self_attention.attend is rotary_attention


def test_lesson_and_book_say_what_was_measured() -> None:
    def mean(change: str, steps: int, seeds: Sequence[int] = (0, 1, 2)) -> float:
        runs = [row for row in recorded_runs("recipes") if row["steps"] == steps]
        those = [row for row in runs if row["change"] == change and row["seed"] in seeds]
        return fmean(row["sacrebleu"] for row in those)

    assert round(mean("10,000 pieces", 20_000) - mean("as it is", 20_000), 1) == 0.7
    gain = mean("inverse root", 10_000) - mean("as it is", 10_000, seeds=(0, 1))
    assert round(gain, 1) == 0.8
    assert mean("10,000 pieces, inverse root", 20_000) < max(
        row["sacrebleu"] for row in recorded_runs("recipes") if row["change"] == "10,000 pieces"
    )
    lesson = (ROOT / "notebooks" / "text" / "09_real_translation.md").read_text(encoding="utf-8")
    assert "where 10,000 led by 0.7" in lesson and "gave 0.8 more in half the steps" in lesson
    assert "on average by 0.7" in (ROOT / "book" / "measured.md").read_text(encoding="utf-8")
