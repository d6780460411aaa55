import shutil
import signal
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import torch

from tests.translation.training.conftest import (
    SETTINGS,
    NewTrainer,
    assert_same_weights,
    interrupt_at,
    without_seconds,
)
from transformer_course.translation.checkpoints import (
    CheckpointError,
    read_tensors,
    write_tensors,
)
from transformer_course.translation.corpora.batches import Batch
from transformer_course.translation.corpora.corpus import SentencePair
from transformer_course.translation.training import state
from transformer_course.translation.training.state import METRICS_FILE, TRAINING_FILE
from transformer_course.translation.training.trainer import Row, Trainer
from transformer_course.translation.translator import Translator

FILES = {"config.json", "model.safetensors", TRAINING_FILE, METRICS_FILE}


def interrupt_after_update(trainer: Trainer, step: int) -> None:
    """Let Ctrl-C be pressed in the middle of a step."""
    update = trainer.update

    def update_and_interrupt(batch: Batch) -> None:
        update(batch)
        if trainer.step == step:
            signal.raise_signal(signal.SIGINT)

    trainer.update = update_and_interrupt


def test_nothing_is_written_without_a_folder(
    new_trainer: NewTrainer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    new_trainer(steps=3).train()
    assert list(tmp_path.iterdir()) == []


def test_checkpoint_holds_the_translator_and_the_metrics(
    new_trainer: NewTrainer, tmp_path: Path
) -> None:
    trainer = new_trainer(output=tmp_path, steps=7)
    history = trainer.train()
    assert {path.name for path in tmp_path.iterdir()} == FILES
    loaded = Translator.load(tmp_path)
    for name, tensor in loaded.model.state_dict().items():
        assert torch.equal(tensor, trainer.model.state_dict()[name]), name
    metrics = pd.read_csv(tmp_path / METRICS_FILE)
    assert list(metrics.columns) == list(history[0])
    pd.testing.assert_frame_equal(metrics, pd.DataFrame(history))


def test_resumed_run_equals_the_straight_one_to_the_bit(
    new_trainer: NewTrainer, straight: Trainer, tmp_path: Path
) -> None:
    """Stop at step 9, in the second epoch; dropout is on."""
    stopped = new_trainer(tmp_path, interrupt_at(9))
    stopped.train()
    assert stopped.step == 9

    resumed = new_trainer(tmp_path)
    resumed.resume(tmp_path)
    assert (resumed.step, resumed.seconds) == (9, stopped.seconds)
    assert resumed.history == stopped.history
    resumed.train()
    assert_same_weights(resumed, straight)
    assert without_seconds(resumed.history) == without_seconds(straight.history)


def test_stop_between_two_looks_is_resumed_too(
    new_trainer: NewTrainer, straight: Trainer, tmp_path: Path
) -> None:
    stopped = new_trainer(tmp_path)
    interrupt_after_update(stopped, 4)
    assert [row["step"] for row in stopped.train()] == [3, 4]

    resumed = new_trainer(tmp_path)
    resumed.resume(tmp_path)
    assert without_seconds(resumed.train()) == without_seconds(straight.history)
    assert_same_weights(resumed, straight)


def test_stop_between_two_looks_does_not_count_for_patience(
    new_trainer: NewTrainer, tmp_path: Path
) -> None:
    settings = {"average": 0.8, "patience": 1}
    whole = new_trainer(**settings)
    whole.train()
    for step in (4, 5):
        stopped = new_trainer(tmp_path, **settings)
        if step > 4:
            stopped.resume(tmp_path)
        interrupt_after_update(stopped, step)
        stopped.train()
        assert stopped.step == step
    resumed = new_trainer(tmp_path, **settings)
    resumed.resume(tmp_path)
    assert without_seconds(resumed.train()) == without_seconds(whole.history)
    assert_same_weights(resumed, whole)


def test_saving_by_hand_and_foreign_random_numbers_do_not_matter(
    new_trainer: NewTrainer, straight: Trainer, tmp_path: Path
) -> None:
    def watch(_history: list[Row]) -> None:
        torch.rand(5)
        interrupt_at(6)(_history)

    stopped = new_trainer(watch=watch)
    stopped.train()
    with torch.random.fork_rng(devices=[]):
        torch.rand(3)
        stopped.save(tmp_path)
    resumed = new_trainer()
    resumed.resume(tmp_path)
    resumed.train()
    assert_same_weights(resumed, straight)


def test_finished_run_stays_as_it_is(new_trainer: NewTrainer, tmp_path: Path) -> None:
    finished = new_trainer(tmp_path, steps=3)
    finished.train()
    resumed = new_trainer(tmp_path, steps=3)
    resumed.resume(tmp_path)
    assert resumed.train() == finished.history
    assert_same_weights(resumed, finished)


def test_second_interrupt_comes_through_and_the_checkpoint_is_whole(
    new_trainer: NewTrainer, straight: Trainer, tmp_path: Path
) -> None:
    trainer = new_trainer(tmp_path, interrupt_at(6, times=2))
    usual = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        trainer.train()
    assert signal.getsignal(signal.SIGINT) is usual
    assert {path.name for path in tmp_path.iterdir()} == FILES
    resumed = new_trainer(tmp_path)
    resumed.resume(tmp_path)
    assert resumed.step == 6
    resumed.train()
    assert_same_weights(resumed, straight)


def test_full_disk_leaves_the_last_checkpoint(
    new_trainer: NewTrainer,
    straight: Trainer,
    tmp_path: Path,
    full_disk: Callable[[int], AbstractContextManager[None]],
) -> None:
    new_trainer(tmp_path, interrupt_at(6)).train()
    going_on = new_trainer(tmp_path)
    going_on.resume(tmp_path)
    with full_disk(10_000), pytest.raises(OSError, match="too large"):
        going_on.train()
    assert {path.name for path in tmp_path.iterdir()} == FILES
    resumed = new_trainer(tmp_path)
    resumed.resume(tmp_path)
    assert resumed.step == 6
    resumed.train()
    assert_same_weights(resumed, straight)


def test_averaged_run_resumes_to_the_bit(new_trainer: NewTrainer, tmp_path: Path) -> None:
    settings = {"average": 0.8, "patience": 3}
    whole = new_trainer(**settings)
    whole.train()
    stopped = new_trainer(tmp_path, interrupt_at(6), **settings)
    stopped.train()
    loaded = Translator.load(tmp_path)
    assert torch.equal(loaded.model.output.weight, stopped.model.output.weight)
    resumed = new_trainer(tmp_path, **settings)
    resumed.resume(tmp_path)
    resumed.train()
    assert_same_weights(resumed, whole)
    stopped.train()  # in the same process, too
    assert_same_weights(stopped, whole)
    assert without_seconds(resumed.history) == without_seconds(whole.history)


@pytest.mark.parametrize(
    "change",
    [{"steps": 13}, {"learning_rate": 1e-3}, {"seed": 1}],
    ids=lambda change: next(iter(change)),
)
def test_other_settings_do_not_resume(
    new_trainer: NewTrainer, tmp_path: Path, change: dict[str, Any]
) -> None:
    new_trainer(tmp_path, steps=3).train()
    with pytest.raises(CheckpointError, match="a run with other settings or sizes"):
        new_trainer(**({"steps": 3} | change)).resume(tmp_path)


def test_other_sizes_do_not_resume_even_if_the_shapes_agree(
    new_trainer: NewTrainer,
    new_translator: Callable[..., Translator],
    pairs: list[SentencePair],
    tmp_path: Path,
) -> None:
    new_trainer(tmp_path, steps=3).train()
    other = Trainer(new_translator(heads=4), pairs, pairs, replace(SETTINGS, steps=3))
    with pytest.raises(CheckpointError, match="a run with other settings or sizes"):
        other.resume(tmp_path)


def test_another_text_does_not_resume(
    new_trainer: NewTrainer, new_translator: Callable[..., Translator], tmp_path: Path
) -> None:
    trainer = new_trainer(tmp_path, steps=3)
    trainer.train()
    pairs = [SentencePair(pair.source, pair.target) for pair in trainer.dev.pairs]
    other = [replace(pairs[0], target=pairs[1].target), *pairs[1:]]
    for train, dev in ((other, pairs), (pairs, other)):
        changed = Trainer(new_translator(), train, dev, replace(SETTINGS, steps=3))
        with pytest.raises(CheckpointError, match="run on another text; put back the text"):
            changed.resume(tmp_path)


def test_run_killed_before_its_first_look_is_resumed(
    new_trainer: NewTrainer,
    straight: Trainer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def kill(_trainer: Trainer, _batch: Batch) -> None:
        raise SystemExit

    with monkeypatch.context() as patch, pytest.raises(SystemExit):
        patch.setattr(Trainer, "update", kill)
        new_trainer(tmp_path).train()
    assert {path.name for path in tmp_path.iterdir()} == FILES - {METRICS_FILE}
    Translator.load(tmp_path)
    resumed = new_trainer(tmp_path)
    resumed.resume(tmp_path)
    assert without_seconds(resumed.train()) == without_seconds(straight.history)
    assert_same_weights(resumed, straight)


def test_weights_that_are_not_finite_do_not_resume(
    new_trainer: NewTrainer, trained: Path, tmp_path: Path
) -> None:
    tensors, progress = read_tensors(trained / TRAINING_FILE)
    tensors["model.target_embeddings.table.weight"][5, 3] = float("nan")
    write_tensors(tmp_path / TRAINING_FILE, tensors, progress)
    with pytest.raises(
        CheckpointError, match=rf"{TRAINING_FILE} holds numbers that are not finite"
    ):
        new_trainer(steps=3).resume(tmp_path)


@pytest.mark.parametrize("name", ["model.safetensors", TRAINING_FILE, None])
def test_state_is_there_as_soon_as_something_may_be_lost(
    trained: Path, tmp_path: Path, name: str | None
) -> None:
    if name:
        shutil.copy(trained / name, tmp_path)
    assert state.is_there(tmp_path) == bool(name)


def test_missing_training_state_is_named(new_trainer: NewTrainer, tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match=f"no {TRAINING_FILE} in"):
        new_trainer().resume(tmp_path)


@pytest.fixture(scope="module")
def trained(new_trainer: NewTrainer, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("trained")
    new_trainer(folder, steps=3).train()
    return folder


@pytest.mark.parametrize("share", [0.0, 0.01, 0.5, 0.999])
def test_training_state_cut_short_is_refused(
    new_trainer: NewTrainer, trained: Path, tmp_path: Path, share: float
) -> None:
    whole = (trained / TRAINING_FILE).read_bytes()
    (tmp_path / TRAINING_FILE).write_bytes(whole[: int(share * len(whole))])
    with pytest.raises(CheckpointError, match="damaged"):
        new_trainer(steps=3).resume(tmp_path)


@pytest.mark.parametrize("missing", ["step", "history", "run", "model.output", "optimizer"])
def test_training_state_without_a_part_is_refused(
    new_trainer: NewTrainer, trained: Path, tmp_path: Path, missing: str
) -> None:
    tensors, progress = read_tensors(trained / TRAINING_FILE)
    if missing == "optimizer":
        tensors = {f"{name}.x" if missing in name else name: t for name, t in tensors.items()}
    elif missing == "model.output":
        del tensors["model.target_embeddings.table.weight"]
    else:
        del progress[missing]
    write_tensors(tmp_path / TRAINING_FILE, tensors, progress)
    with pytest.raises(CheckpointError):
        new_trainer(steps=3).resume(tmp_path)


def test_weights_alone_are_no_training_state(
    new_trainer: NewTrainer, trained: Path, tmp_path: Path
) -> None:
    shutil.copy(trained / "model.safetensors", tmp_path / TRAINING_FILE)
    with pytest.raises(CheckpointError, match="other settings"):
        new_trainer(steps=3).resume(tmp_path)
