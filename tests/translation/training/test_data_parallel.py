"""Processes that train together: forked here, started by torchrun in tests/cli/test_torchrun.py."""

import multiprocessing
import os
import signal
import socket
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import torch

from benchmarks.data_parallel import DistributedDataParallelTrainer
from tests.translation.training.conftest import SETTINGS, NewTrainer, without_seconds
from transformer_course.translation.corpora.corpus import SentencePair
from transformer_course.translation.corpora.vocabulary import BOS, EOS
from transformer_course.translation.training import data_parallel
from transformer_course.translation.training.data_parallel import World, join_world
from transformer_course.translation.training.trainer import Trainer
from transformer_course.translation.translator import Translator

forked = pytest.mark.skipif(
    not hasattr(os, "fork") or not torch.distributed.is_available(),
    reason="no fork on Windows, or a torch without torch.distributed",
)
# pytest has other threads, whose locks a fork may not meet: it computes in its own thread only.
pytestmark = pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")


def together(work: Callable[[World], Any], size: int = 2, per_machine: int = 2) -> list[Any]:
    """Let forked processes join a world and do the work; return the answer of each, or its error.

    A process that ends without an answer leaves None.
    """
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    world = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "WORLD_SIZE": str(size)}

    def run(rank: int, pipe: Any) -> None:
        os.environ |= world | {"RANK": str(rank), "LOCAL_RANK": str(rank % per_machine)}
        try:
            with join_world() as joined:
                pipe.send(work(joined))
        except Exception as error:
            pipe.send(error)

    fork = multiprocessing.get_context("fork")
    pipes, processes = [], []
    for rank in range(size):
        ours, theirs = fork.Pipe()
        processes.append(fork.Process(target=run, args=(rank, theirs), daemon=True))
        processes[-1].start()
        theirs.close()
        pipes.append(ours)
    answers = [_answer(pipe) for pipe in pipes]
    for process in processes:
        process.join(timeout=60)
    return answers


def _answer(pipe: Any) -> Any:
    try:
        return pipe.recv() if pipe.poll(timeout=120) else None
    except EOFError:
        return None


@pytest.fixture
def trainer_in(new_translator: Callable[..., Translator], pairs: list[SentencePair]) -> NewTrainer:
    """Return a function that builds the trainer of one process."""

    def build(
        world: World,
        kind: type[Trainer] = Trainer,
        output: Path | None = None,
        dropout: float = 0.0,
        **changes: Any,
    ) -> Trainer:
        settings = replace(SETTINGS, **changes)
        return kind(new_translator(dropout=dropout), pairs, pairs, settings, output, world=world)

    return build


def logits(trainer: Trainer) -> list[float]:
    """Return what the model says: a bias of the keys changes nothing, so weights may differ."""
    source, target = torch.tensor([[4, 5, 6, EOS]]), torch.tensor([[BOS, 6, 5, 4]])
    with torch.no_grad():
        return trainer.model(source, target).flatten().tolist()


def gradients(trainer: Trainer, sentences: int) -> list[float]:
    """Return the gradients of all parameters on a batch."""
    trainer._add_gradients(trainer._batch(list(range(sentences))))
    return torch.cat([weight.grad.flatten() for weight in trainer.model.parameters()]).tolist()


# What they compute


@forked
def test_two_processes_do_what_one_does_with_double_batches(trainer_in: NewTrainer) -> None:
    def train(world: World, batch_tokens: int = 32) -> tuple[list[float], list[dict[str, float]]]:
        trainer = trainer_in(world, batch_tokens=batch_tokens, average=0.9)
        history = trainer.train()
        return logits(trainer), without_seconds(history)

    (expected, alone), (first, history), second = train(World(), 64), *together(train)
    assert second == (first, history)
    assert first == pytest.approx(expected, rel=1e-3, abs=1e-3)
    for row, of_one in zip(history, alone, strict=True):
        assert row == pytest.approx(of_one, rel=1e-3)


@forked
@pytest.mark.parametrize("accumulate", [1, 2])
def test_gradients_are_those_of_torch(trainer_in: NewTrainer, accumulate: int) -> None:
    """DistributedDataParallel takes the mean over processes, ours the sum over all tokens."""

    def both(world: World) -> list[list[float]]:
        kinds = Trainer, DistributedDataParallelTrainer
        return [gradients(trainer_in(world, kind, accumulate=accumulate), 13) for kind in kinds]

    for ours, torchs in together(both):
        assert max(map(abs, ours)) > 0.01
        assert ours == pytest.approx(torchs, rel=1e-4, abs=1e-7)


@forked
def test_fewer_sentences_than_processes(trainer_in: NewTrainer) -> None:
    alone = gradients(trainer_in(World()), 1)
    for each in together(lambda world: gradients(trainer_in(world), 1)):
        assert each == pytest.approx(alone, rel=1e-4, abs=1e-7)


@forked
def test_interrupt_of_one_stops_all_and_they_go_on_to_the_bit(
    trainer_in: NewTrainer, tmp_path: Path
) -> None:
    """Dropout is on, with a mask of its own in each process."""

    def train(world: World, stop: bool = False, resume: bool = False) -> tuple[int, list[float]]:
        trainer = trainer_in(world, output=tmp_path, dropout=0.1)
        if resume:
            trainer.resume(tmp_path)
        if stop and not world.is_first:
            trainer.watch = lambda rows: signal.raise_signal(signal.SIGINT)
        trainer.train()
        return trainer.step, logits(trainer)

    straight = together(train)
    stopped = together(lambda world: train(world, stop=True))
    assert [step for step, _ in stopped] == [3, 3]
    assert together(lambda world: train(world, resume=True)) == straight


def test_each_process_draws_its_own_dropout_in_each_step(trainer_in: NewTrainer) -> None:
    drawn = []
    with torch.random.fork_rng(devices=[]):
        for trainer in (trainer_in(World(2, rank)) for rank in range(2)):
            for trainer.step in range(3):
                trainer._seed_dropout()
                drawn.append(torch.rand(()).item())
    assert len({*drawn}) == 6


@forked
def test_seconds_of_a_step_are_the_mean_over_processes(trainer_in: NewTrainer) -> None:
    def count(world: World) -> float:
        trainer = trainer_in(world)
        trainer._count_seconds(1.0 + world.rank)
        return trainer.seconds

    assert together(count) == [1.5, 1.5]


@forked
def test_first_process_decides_when_patience_is_lost(trainer_in: NewTrainer) -> None:
    """Where processors round differently, the others may see another dev loss."""

    def train(world: World) -> list[int]:
        trainer = trainer_in(world, patience=1)
        losses = iter([3.0, 2.0, 2.0 + 1e-6, 1.0] if world.is_first else [3.0, 2.0, 1.0, 0.5])
        trainer.dev.loss = lambda: next(losses)
        return [row["step"] for row in trainer.train()]

    assert together(train) == [[3, 6, 9], [3, 6, 9]]


# How they meet and part


@forked
@pytest.mark.parametrize(
    ("step", "text", "complaint"),
    [(3, "", "stand at the steps 0, 3: the output folder is"), (0, "x", "have different texts")],
)
def test_processes_that_disagree_do_not_begin(
    trainer_in: NewTrainer, step: int, text: str, complaint: str
) -> None:
    def train(world: World) -> None:
        trainer = trainer_in(world)
        trainer.step += world.rank * step
        trainer.text += world.rank * text
        trainer.train()

    for error in together(train):
        assert isinstance(error, ValueError)
        assert complaint in str(error)


@forked
@pytest.mark.parametrize("fate", ["killed", "silent"])
def test_lost_process_is_named(monkeypatch: pytest.MonkeyPatch, fate: str) -> None:
    """One that ends is noticed at once, a silent one after a while."""
    silence = 60 if fate == "killed" else 2
    monkeypatch.setattr(data_parallel, "SILENCE", timedelta(seconds=silence))

    def work(world: World) -> float:
        start = time.monotonic()
        if world.rank == 1:
            os.kill(os.getpid(), signal.SIGKILL) if fate == "killed" else time.sleep(silence + 1)
        try:
            world.add_up([torch.ones(3)])
        except ConnectionError as error:
            assert "another process of this training ended" in str(error)
        else:
            raise AssertionError("nobody was missed")
        return time.monotonic() - start

    waited = together(work)[0]
    assert waited < 30 if fate == "killed" else waited >= silence


@forked
def test_first_of_each_machine_is_alone(tmp_path: Path) -> None:
    """Two machines, two processes on each: what the first one downloads, the others find."""

    def work(world: World) -> set[str]:
        with world.first_alone():
            found = {path.name for path in tmp_path.iterdir()}
            time.sleep(0.1)
            (tmp_path / str(world.rank)).touch()
        return found

    first, second, third, fourth = together(work, size=4)
    assert (first, third) == (set(), {"0"})
    assert second >= {"0", "2"} <= fourth


@forked
def test_what_each_gathers_comes_by_rank() -> None:
    assert together(lambda world: world.gather(f"rank {world.rank}")) == [["rank 0", "rank 1"]] * 2


def test_without_torchrun_a_process_is_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("WORLD_SIZE", raising=False)
    with join_world() as world, world.first_alone():
        assert (world.size, world.rank, world.is_first) == (1, 0, True)
        tensor = torch.ones(2)
        world.add_up([tensor])
        assert tensor.tolist() == [1, 1]
        assert world.gather("alone") == ["alone"]


def test_only_the_process_of_rank_0_is_first() -> None:
    assert [World(2, rank).is_first for rank in (0, 1)] == [True, False]


def test_restarts_that_would_fail_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {
        "WORLD_SIZE": "2",
        "TORCHELASTIC_MAX_RESTARTS": "1",
        "TORCHELASTIC_USE_AGENT_STORE": "True",
    }.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(ValueError, match="TORCH_DISABLE_SHARE_RDZV_TCP_STORE=1"), join_world():
        pass


def test_each_process_needs_a_card_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORLD_SIZE", "2")
    monkeypatch.setenv("LOCAL_RANK", "1")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    with pytest.raises(ValueError, match="there are 1: start at most 1 with"), join_world():
        pass
