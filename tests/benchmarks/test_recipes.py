"""Changes of the recipe do what they say, and only that."""

import pytest

from benchmarks.recipes import CHANGES, PiecesAtRandom, larger_eps, rotary_and_gelu, smaller_start
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
