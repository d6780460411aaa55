import itertools
import math
import signal
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.translation.training.conftest import (
    SETTINGS,
    NewTrainer,
    assert_same_weights,
    interrupt_at,
    without_seconds,
)
from transformer_course.translation.corpora.batches import Batch, EncodedPair, length_batches
from transformer_course.translation.corpora.corpus import SentencePair
from transformer_course.translation.corpora.vocabulary import BOS, EOS, PAD
from transformer_course.translation.training import trainer as training
from transformer_course.translation.training.loss import smoothed_cross_entropy
from transformer_course.translation.training.schedule import noam, warmup_cosine
from transformer_course.translation.training.trainer import Row, Trainer
from transformer_course.translation.translator import Translator


def assert_same_function(trainer: Trainer, other: Trainer) -> None:
    """Compare logits: a bias of the keys changes none, so its gradient is rounding alone."""
    source, target = torch.tensor([[4, 5, 6, EOS]]), torch.tensor([[BOS, 6, 5, 4]])
    with torch.no_grad():
        torch.testing.assert_close(
            trainer.model(source, target), other.model(source, target), rtol=1e-3, atol=1e-3
        )


def test_training_is_determined_by_its_seed(new_trainer: NewTrainer, straight: Trainer) -> None:
    again, other = new_trainer(), new_trainer(seed=1)
    again.train()
    other.train()
    assert_same_weights(again, straight)
    assert without_seconds(again.history) == without_seconds(straight.history)
    assert other.history[-1]["train_loss"] != straight.history[-1]["train_loss"]


def test_global_random_state_neither_matters_nor_moves(
    new_trainer: NewTrainer, straight: Trainer
) -> None:
    trainer = new_trainer()
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(99)
        before = torch.get_rng_state()
        trainer.train()
        assert torch.equal(torch.get_rng_state(), before)
    assert_same_weights(trainer, straight)


def test_it_learns(new_trainer: NewTrainer) -> None:
    trainer = new_trainer(steps=120, learning_rate=1e-2, evaluate_every=40)
    history = trainer.train()
    assert history[-1]["dev_loss"] < history[0]["dev_loss"] / 2
    assert history[-1]["dev_exact_match"] == 1.0
    assert trainer.translator.translate(["this king dreams"]) == ["ce roi rêve"]


def test_history_has_a_row_for_each_look_and_for_the_end(new_trainer: NewTrainer) -> None:
    seen = []
    trainer = new_trainer(steps=7, watch=lambda history: seen.append(len(history)))
    history = trainer.train()
    assert [row["step"] for row in history] == [3, 6, 7]
    assert seen == [1, 2, 3]
    assert history is trainer.history
    seconds = [row["seconds"] for row in history]
    assert seconds == sorted(seconds)
    assert not trainer.model.training


def test_losses_are_those_of_the_lesson(translator: Translator, pairs: list[SentencePair]) -> None:
    """The trainer takes torch's kernel; lesson 7 shows smoothed_cross_entropy."""
    uneven = [*pairs[:3], SentencePair("the cat", "le chat"), SentencePair("dog", "chien")]
    one_batch = replace(SETTINGS, steps=1, batch_tokens=1000, learning_rate=1e-9)
    encoded = translator.encode_pairs(uneven)
    model = translator.model
    row = Trainer(translator, uneven, uneven[2:], replace(one_batch, dev_sentences=5)).train()[0]

    def loss(pairs: list[EncodedPair], smoothing: float) -> float:
        batch = Batch.from_pairs(pairs, BOS, EOS, PAD)
        logits = model(batch.source, batch.target_in).flatten(0, 1)
        return smoothed_cross_entropy(logits, batch.target_out.flatten(), smoothing, PAD).item()

    assert row["dev_loss"] == pytest.approx(loss(encoded[2:], 0.0), rel=1e-5)
    order = length_batches(encoded, 1000, torch.Generator().manual_seed(SETTINGS.seed))[0]
    model.train()
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(SETTINGS.seed)  # the dropout of step 0
        expected = loss([encoded[number] for number in order], SETTINGS.smoothing)
    assert row["train_loss"] == pytest.approx(expected, rel=1e-5)


def test_each_epoch_takes_every_pair_once_in_an_order_of_its_own(
    new_trainer: NewTrainer, monkeypatch: pytest.MonkeyPatch
) -> None:
    trainer = new_trainer()
    batches = []
    update = trainer.update
    monkeypatch.setattr(trainer, "update", lambda b: (batches.append(b.source.tolist()), update(b)))
    trainer.train()
    epochs = batches[:6], batches[6:]
    first, second = (sorted(row for batch in epoch for row in batch) for epoch in epochs)
    assert first == second
    assert len({tuple(row) for row in first}) == 48
    assert batches[:6] != batches[6:]


def learning_rates(trainer: Trainer) -> list[float]:
    return [row["learning_rate"] for row in trainer.train()]


def test_learning_rate_follows_the_cosine(new_trainer: NewTrainer) -> None:
    """Taken at the middle of each step, so that neither the first nor the last is wasted."""
    rates = learning_rates(new_trainer(steps=10, evaluate_every=1, warmup=0.3))
    middles = [(step + 0.5) / 10 for step in range(10)]
    assert rates == pytest.approx([warmup_cosine(middle, 5e-3, 0.3) for middle in middles])
    assert min(rates) > 0


def test_learning_rate_follows_the_paper(new_trainer: NewTrainer) -> None:
    rates = learning_rates(
        new_trainer(steps=10, evaluate_every=1, warmup=0.4, schedule="noam", learning_rate=0.5)
    )
    assert rates == pytest.approx([0.5 * noam(step, 16, 4) for step in range(1, 11)])


def test_minutes_end_the_run(new_trainer: NewTrainer) -> None:
    trainer = new_trainer(minutes=1 / 60, evaluate_every=1000)
    history = trainer.train()
    assert trainer.progress == 1
    assert 1 <= history[-1]["seconds"] < 5
    assert history[-1]["learning_rate"] < 0.1 * SETTINGS.learning_rate


def test_clock_asks_for_looks_that_steps_do_not(
    new_trainer: NewTrainer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The steps are slow here, and an interrupt takes none of these looks back."""
    monkeypatch.setattr(training, "SECONDS_BETWEEN_LOOKS", 0.2)
    trainer = new_trainer(minutes=2 / 60, evaluate_every=1000)
    update = trainer.update

    def update_slowly(batch: Batch) -> None:
        time.sleep(0.05)
        update(batch)
        if len(trainer.history) == 2:
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(trainer, "update", update_slowly)
    assert len(trainer.train()) == 3  # the last one is for the stop
    monkeypatch.setattr(trainer, "update", update)
    looks = [row["seconds"] for row in trainer.train()]
    assert trainer.progress == 1
    gaps = [after - before for before, after in itertools.pairwise([0.0, *looks])]
    assert len(looks) >= 4
    assert all(gap >= 0.19 for gap in gaps[:-1])


def test_gradient_is_clipped(new_trainer: NewTrainer, straight: Trainer) -> None:
    clipped = new_trainer(clip_norm=1e-12, weight_decay=0.0)  # far below Adam's eps
    before = {name: tensor.clone() for name, tensor in clipped.model.state_dict().items()}
    clipped.train()
    for name, tensor in clipped.model.state_dict().items():
        torch.testing.assert_close(tensor, before[name], rtol=0, atol=1e-4)
    assert clipped.history[-1]["train_loss"] > straight.history[-1]["train_loss"]


def test_same_trainer_can_go_on_after_an_interrupt(
    new_trainer: NewTrainer, straight: Trainer, capsys: pytest.CaptureFixture[str]
) -> None:
    trainer = new_trainer(watch=interrupt_at(6))
    trainer.train()
    assert "Stopped at step 6" in capsys.readouterr().out
    assert trainer.stopped
    assert not trainer.model.training
    trainer.train()
    assert not trainer.stopped
    assert_same_weights(trainer, straight)


@pytest.mark.parametrize("where", ["loss", "gradient"])
def test_numbers_that_are_none_stop_the_run_before_they_reach_the_weights(
    new_trainer: NewTrainer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    trainer = new_trainer(tmp_path)
    loss = trainer._loss

    def spoilt(*arguments: Any) -> torch.Tensor:
        value = loss(*arguments)
        if where == "loss" and trainer.step == 4:
            return value * math.nan
        if value.requires_grad and trainer.step == 4:
            value.register_hook(lambda gradient: gradient * math.inf)
        return value

    monkeypatch.setattr(trainer, "_loss", spoilt)
    with pytest.raises(FloatingPointError, match=r"at step 5 .* lower learning rate than 0\.005"):
        trainer.train()
    assert trainer.step == 4
    assert all(tensor.isfinite().all() for tensor in trainer.model.state_dict().values())
    resumed = new_trainer()
    resumed.resume(tmp_path)
    assert resumed.step == 3


def test_wild_learning_rate_ends_in_a_clear_error(new_trainer: NewTrainer) -> None:
    with pytest.raises(FloatingPointError, match=r"lower learning rate than 1e\+30"):
        new_trainer(learning_rate=1e30).train()


@pytest.mark.parametrize(
    ("train", "dev"), [(0, 3), (3, 0)], ids=["no training pairs", "no dev pairs"]
)
def test_empty_splits_are_refused(
    translator: Translator, pairs: list[SentencePair], train: int, dev: int
) -> None:
    with pytest.raises(ValueError, match=f"got {train} train, {dev} dev"):
        Trainer(translator, pairs[:train], pairs[:dev], SETTINGS)


def test_accumulated_gradients_are_those_of_the_large_batch(new_trainer: NewTrainer) -> None:
    without_dropout = {"dropout": 0.0}
    large = new_trainer(batch_tokens=64, sizes=without_dropout)
    small = new_trainer(batch_tokens=32, accumulate=2, sizes=without_dropout)
    large.train()
    small.train()
    assert small.step == large.step
    assert_same_function(small, large)


def test_fast_loss_takes_the_same_steps(new_trainer: NewTrainer) -> None:
    plain, fast = (new_trainer(fast=fast, sizes={"dropout": 0.0}) for fast in (False, True))
    plain.train()
    fast.train()
    assert_same_function(fast, plain)


def test_bfloat16_learns_too(new_trainer: NewTrainer) -> None:
    trainer = new_trainer(steps=30, learning_rate=1e-2, evaluate_every=15)
    trainer.precision = torch.bfloat16  # a graphics card would have chosen it
    first, last = trainer.train()
    assert last["dev_loss"] < first["dev_loss"]
    assert trainer.facts()["precision"] == "bfloat16"
    assert all(weight.dtype == torch.float32 for weight in trainer.model.parameters())


def test_average_is_what_translates(new_trainer: NewTrainer, straight: Trainer) -> None:
    averaged = new_trainer(average=0.8)
    seen = []
    update = averaged.update

    def update_and_remember(batch: Batch) -> None:
        update(batch)
        seen.append(averaged.model.output.weight.detach().clone())

    averaged.update = update_and_remember
    averaged.train()
    expected = averaged.model.output.weight
    torch.testing.assert_close(seen[-1], straight.model.output.weight, rtol=0, atol=0)
    assert not torch.allclose(expected, seen[-1])
    average = seen[0]  # by hand; after one step the first, random weights still count a little
    for step, weight in enumerate(seen[1:], start=2):
        keep = min(0.8, step / (step + 10))
        average = keep * average + (1 - keep) * weight
    assert (expected - average).abs().mean() < 0.05 * (expected - seen[-1]).abs().mean()


def test_patience_stops_the_run_and_keeps_the_best(
    new_trainer: NewTrainer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trainer = new_trainer(tmp_path, steps=100, patience=2)
    losses = iter([5.0, 4.0, 4.5, 4.0, 3.0])
    seen = []

    def watch(history: list[Row]) -> None:
        seen.append(trainer.model.output.weight.detach().clone())

    trainer.watch = watch
    monkeypatch.setattr(trainer.dev, "loss", lambda: next(losses))
    history = trainer.train()
    assert [row["dev_loss"] for row in history] == pytest.approx([5.0, 4.0, 4.5, 4.0])
    # The fourth look is as good as the second, not better: the second is kept.
    assert torch.equal(trainer.model.output.weight, seen[1])
    assert torch.equal(Translator.load(tmp_path).model.output.weight, seen[1])


def test_a_stopped_run_hands_out_the_best_too(
    new_trainer: NewTrainer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trainer = new_trainer(tmp_path, steps=100, patience=9)
    losses = iter([5.0, 4.0, 4.5, 4.6])
    seen = []

    def watch(history: list[Row]) -> None:
        seen.append(trainer.model.output.weight.detach().clone())
        if len(history) == 3:
            signal.raise_signal(signal.SIGINT)

    trainer.watch = watch
    monkeypatch.setattr(trainer.dev, "loss", lambda: next(losses))
    trainer.train()
    assert trainer.stopped
    assert torch.equal(trainer.model.output.weight, seen[1])
    assert torch.equal(Translator.load(tmp_path).model.output.weight, seen[1])


def test_facts_say_what_is_trained(new_trainer: NewTrainer) -> None:
    trainer = new_trainer()
    facts = trainer.facts()
    assert facts["train_pairs"] == 48
    assert facts["parameters"] == sum(weight.numel() for weight in trainer.model.parameters())
    assert facts["padding_waste"] == 0  # all sentences have three words
    assert (facts["precision"], facts["device"]) == ("float32", "cpu")


def test_padding_is_that_of_all_that_one_update_takes(
    translator: Translator, pairs: list[SentencePair]
) -> None:
    uneven = [SentencePair("dog", "chien"), SentencePair("the cat", "le chat"), *pairs[:2]]

    def waste(batch_tokens: int, accumulate: int = 1) -> float:
        settings = replace(SETTINGS, batch_tokens=batch_tokens, accumulate=accumulate)
        return Trainer(translator, uneven, uneven, settings).facts()["padding_waste"]

    assert waste(8, accumulate=2) == waste(16) != waste(8)
